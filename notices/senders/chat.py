"""Chat and push services by apprise, along a URL that the operator wrote."""

from dataclasses import dataclass

from notices.rules.channels import Channel
from notices.senders.outcome import Delivered, Failed, Outcome
from notices.wording import Message


@dataclass(frozen=True, slots=True)
class Chat:
    """One person's address in one of the operator's channels."""

    channel: Channel
    address: str

    def send(self, message: Message, *, name: str) -> Outcome:
        """Send a message; apprise bounds each connection by itself and tells only yes or no."""
        from apprise import Apprise, AppriseAsset, NotifyFormat  # loads for a fifth of a second

        asset = AppriseAsset(app_id="Placet", app_desc="Placet", http_redirects=False)
        service = Apprise.instantiate(self.channel.url(self.address), asset=asset)
        if service is None:
            return Failed("NoSuchService")
        taken = service.notify(
            title=message.title, body=message.body, body_format=NotifyFormat.TEXT
        )
        return Delivered() if taken else Failed("NotTaken")
