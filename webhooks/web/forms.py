"""What an admin typed of a webhook, read strictly, with what is wrong with it at its field."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from django.http import QueryDict
from django.utils.translation import gettext as _

from outward.destinations import Flaw
from webhooks.models import Endpoint
from webhooks.rules.kinds import CHOICES, WebhookType
from webhooks.sending import flaw_of, may_be_reached

DESCRIPTION_MAX: Final = 200
SPANS_H: Final = (1, 6, 24, 72, 168)
"""What failed in so many hours can be sent again at once."""


@dataclass(frozen=True, slots=True)
class Typed:
    """Where it leads, what it is told of (nothing chosen is everything), and the faults."""

    url: str = ""
    types: tuple[WebhookType, ...] = ()
    description: str = ""
    faults: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, endpoint: Endpoint) -> "Typed":
        """What is stored."""
        types = tuple(kind for kind in CHOICES if kind.value in endpoint.types)
        return cls(endpoint.url, types, endpoint.description)

    @classmethod
    def read(cls, post: QueryDict, *, before: str = "") -> "Typed":
        """Read the form; a URL that is another than `before` is looked up, which takes its time."""
        url, description = (post.get(name, "").strip() for name in ("url", "description"))
        chosen = frozenset(post.getlist("type"))
        types = tuple(kind for kind in CHOICES if kind.value in chosen)
        faults = {}
        if url != before and (fault := _fault(url)):
            faults["url"] = fault
        if len(description) > DESCRIPTION_MAX:
            faults["description"] = _("This is too long.")
        is_some = post.get("which") == "some"
        if is_some and not types:
            faults["types"] = _("Choose at least one.")
        return cls(url, types if is_some else (), description, faults)


def since(post: QueryDict) -> datetime | None:
    """The begin of the span chosen, None where none of them was."""
    text = post.get("hours", "")
    if text not in {str(hours) for hours in SPANS_H}:
        return None
    return datetime.now(UTC) - timedelta(hours=int(text))


def _fault(url: str) -> str:
    """What is wrong with a URL, "" where it can be used."""
    match flaw_of(url):
        case None if not may_be_reached(url):
            return _("This URL does not lead to a public address, or not now.")
        case None:
            return ""
        case Flaw.SCHEME:
            return _("The URL has to begin with https://.")
        case Flaw.USERINFO:
            return _("The URL must not hold a user name or a password.")
        case Flaw.FRAGMENT:
            return _("The URL must not have a part after #.")
        case _other:
            return _("This is no URL. An example: https://example.com/placet")
