"""E-mail by the operator's server, through Django's backend, which checks certificates."""

import smtplib
from dataclasses import dataclass
from email.utils import parseaddr
from typing import Final

from django.core.mail import EmailMessage
from django.core.mail.backends.smtp import EmailBackend

from notices.rules.smtp import Smtp, Tls
from notices.senders.outcome import Delivered, Failed, Outcome
from notices.wording import Message

TIMEOUT_S: Final = 10


@dataclass(frozen=True, slots=True)
class Mail:
    """One person's mailbox, by the operator's server."""

    smtp: Smtp
    address: str

    def send(self, message: Message, *, name: str) -> Outcome:
        """Send a message; `name` stays the same on every attempt, so that copies can be told."""
        smtp = self.smtp
        backend = EmailBackend(
            host=smtp.host,
            port=smtp.port,
            username=smtp.user,
            password=smtp.password,
            use_tls=smtp.tls is Tls.STARTTLS,
            use_ssl=smtp.tls is Tls.SSL,
            timeout=TIMEOUT_S,
        )
        mail = EmailMessage(
            subject=message.title,
            body=message.body,
            from_email=smtp.sender,
            to=[self.address],
            headers={"Message-ID": self._id(name), "Auto-Submitted": "auto-generated"},
        )
        try:
            backend.send_messages([mail])
        except (OSError, smtplib.SMTPException) as error:
            return Failed(type(error).__name__)
        return Delivered()

    def _id(self, name: str) -> str:
        domain = parseaddr(self.smtp.sender)[1].rpartition("@")[2]
        return f"<{name}@{domain}>"
