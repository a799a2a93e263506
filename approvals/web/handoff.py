"""A handoff on its question's page: where to go, as whom, the secret link, what was seen since."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from django.utils.translation import gettext_lazy as _

from approvals.models import HandoffLink, Interrupt, Observation
from approvals.names import Words
from approvals.rules.observing import MEMBERS
from approvals.rules.visible import Segment, is_plain, visible
from placet.protocol.reading import JSONValue
from placet.protocol.states import InterruptKind, InterruptState

OPENED: Final = frozenset({"https", "http"})
"""Schemes of links that a browser opens; what else an agent sends stands there as text."""

SCOPES: Final[Words] = {
    "thread": _("Only for this run: what you sign in to is used in no other."),
    "user": _("For everything that acts for you: other runs of yours may use the same session."),
}


@dataclass(frozen=True, slots=True)
class Unlike:
    """A member of the target that was not seen as it was named; `seen` None where it was not."""

    member: str
    expected: tuple[Segment, ...]
    seen: tuple[Segment, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Handoff:
    """What a person has to do at a page, and how far that is; `link` only for who hands back."""

    origin: str
    account: str
    page: str
    session: str
    state: InterruptState
    link: str
    unlike: tuple[Unlike, ...]
    refused_at: Observation | None

    @classmethod
    def of(
        cls, interrupt: Interrupt, target: JSONValue, *, state: str, may_hand_back: bool
    ) -> "Handoff | None":
        """The handoff that this question is, None where it is no handoff."""
        if interrupt.kind != InterruptKind.HANDOFF or not isinstance(target, dict):
            return None
        told = {name: str(target.get(name) or "") for name in MEMBERS}
        is_again = state == InterruptState.PENDING and interrupt.handback > 0
        last = _last_refused(interrupt) if is_again else None
        return cls(
            **told,
            state=InterruptState(state),
            link=(HandoffLink.of(interrupt.pk) or "") if may_hand_back else "",
            unlike=_unlike(last, target) if last else (),
            refused_at=last,
        )

    @property
    def scope(self) -> str:
        """How far the session reaches, in words; "" where the agent named it otherwise."""
        return str(SCOPES.get(self.session, ""))

    @property
    def can_be_opened(self) -> bool:
        """Whether the link is one that a browser opens, and looks like what it is.

        A backslash ends the host for browsers alone, which would lead elsewhere than is said.
        """
        try:
            parts = urlsplit(self.link)
        except ValueError:
            return False
        is_exact = is_plain(self.link) and "\\" not in self.link
        return parts.scheme in OPENED and bool(parts.hostname) and is_exact

    @property
    def leads_to(self) -> str:
        """The host that the link leads to."""
        return urlsplit(self.link).netloc.rpartition("@")[2]

    @property
    def is_being_checked(self) -> bool:
        """Whether the person has said that it is done, and the page is looked at."""
        return self.state is InterruptState.HANDED_BACK

    @property
    def is_open(self) -> bool:
        """Whether there is still something to do or to wait for."""
        return self.state.is_open


def _last_refused(interrupt: Interrupt) -> Observation | None:
    looks = Observation.objects.filter(interrupt=interrupt, handback=interrupt.handback)
    return looks.filter(matched=False).order_by("-pk").first()


def _unlike(look: Observation, target: Mapping[str, JSONValue]) -> tuple[Unlike, ...]:
    seen = look.members()
    return tuple(
        Unlike(
            member,
            visible(str(target.get(member))),
            None if seen.get(member) is None else visible(str(seen[member])),
        )
        for member in look.differs
    )
