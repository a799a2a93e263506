"""What the page of notices shows: each channel with its address and how the last message went."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from urllib.parse import urlsplit

from django.conf import settings

from identity.models import User
from notices.models import Address, Browser, Choice, Notice
from notices.rules.channels import EMAIL, WEBPUSH, Channel


class Said(StrEnum):
    """What the page says after a form did what it should."""

    SAVED = "saved"
    CODE_SENT = "code_sent"
    CONFIRMED = "confirmed"
    REMOVED = "removed"
    TEST_SENT = "test_sent"
    BROWSER_ADDED = "browser_added"


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with what was typed for one channel."""

    channel: str
    field: str
    text: str
    typed: str = ""


@dataclass(frozen=True, slots=True)
class Way:
    """One channel, this person's address in it, and the last message there."""

    channel: Channel
    address: Address | None
    last: Notice | None
    fault: Fault | None

    @property
    def name(self) -> str:
        """The channel's name, which is also the part of the page."""
        return self.channel.name

    @property
    def is_email(self) -> bool:
        """Whether a browser can help with the address."""
        return self.channel.name == EMAIL


@dataclass(frozen=True, slots=True)
class Device:
    """One browser that is woken: by whose push service, since when."""

    channel: str
    service: str
    since: datetime
    last: Notice | None


@dataclass(frozen=True, slots=True)
class Overview:
    """Everything on the page, in four queries."""

    ways: tuple[Way, ...]
    devices: tuple[Device, ...]
    choice: Choice
    webpush_public: str | None
    said: Said | None = None
    faults: tuple[Fault, ...] = field(default=())

    @classmethod
    def of(
        cls,
        user: User,
        *,
        said: str = "",
        faults: Iterable[Fault] = (),
        choice: Choice | None = None,
    ) -> "Overview":
        """Read it for one person; `choice` shows what was typed instead of what is stored."""
        mine = {"tenant_id": user.tenant_id, "user": user}
        addresses = {row.channel: row for row in Address.objects.filter(**mine)}
        last = {
            row.channel: row
            for row in Notice.objects.filter(**mine).order_by("channel", "-pk").distinct("channel")
        }
        found = {fault.channel: fault for fault in faults}
        key = settings.PLACET_WEBPUSH_KEY
        return cls(
            ways=tuple(
                Way(channel, addresses.get(name), last.get(name), found.get(name))
                for name, channel in settings.PLACET_NOTICE_CHANNELS.items()
            ),
            devices=tuple(
                Device(
                    channel=channel,
                    service=urlsplit(row.endpoint).hostname or "",
                    since=row.created_at,
                    last=last.get(channel),
                )
                for row in Browser.objects.filter(**mine).order_by("pk")
                if (channel := f"{WEBPUSH}:{row.pk}")
            ),
            choice=choice or Choice.of(user),
            webpush_public=key.public if key else None,
            said=Said(said) if said in list(Said) else None,
            faults=tuple(found.values()),
        )

    @property
    def fault_at(self) -> dict[str, str]:
        """The faults that belong to no channel, by field."""
        return {fault.field: fault.text for fault in self.faults if not fault.channel}

    @property
    def has_address(self) -> bool:
        """Whether anything is set up already, so that the wishes mean something."""
        confirmed = any(way.address and way.address.confirmed_at for way in self.ways)
        return confirmed or bool(self.devices)
