"""Every part that pages are made of, on one page, with samples that stand in no database."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from approvals.rules.glance import Glance, whole
from approvals.rules.presentation import changes, tree
from approvals.rules.visible import Segment, visible
from approvals.sentences import sentence
from approvals.web.keyset import Cut
from approvals.web.pages import page
from approvals.web.panel import Panel, Way
from approvals.web.spans import span
from approvals.web.words import DECIDED, PLAIN
from placet.protocol.reading import JSONValue
from placet.protocol.refusals import Fault, RefusalCode
from placet.protocol.states import DecisionKind, InterruptState, RunState

NOON: Final = datetime(2026, 3, 14, 12, 0, tzinfo=UTC)
ARGS: Final[dict[str, JSONValue]] = {
    "account": {"iban": "DE02120300000000202051", "holder": "Sharma & Sons"},
    "amount": "249.90",
    "cmd": "echo ok" + " " * 12 + "; rm -rf /tmp/\u202egpj.exe",
    "confirmed": True,
    "lines": ["R-101", "R-102"],
    "memo": None,
    "pin": "8461",
    "tags": [],
}
OTHER_ARGS: Final[dict[str, JSONValue]] = ARGS | {"amount": "2499.00", "memo": "late delivery"}
SENSITIVE: Final = ("/pin",)
COLORS: Final = (
    "paper",
    "surface",
    "sunken",
    "line",
    "line-strong",
    "ink",
    "quiet",
    "accent",
    "accent-wash",
    "danger",
    "danger-wash",
    "warn",
    "warn-wash",
    "band",
)
"""Names of tokens, each the class of a swatch."""


@dataclass(frozen=True, slots=True)
class SampleLine:
    """One line of a timeline."""

    at: datetime
    who: str
    words: str
    reason: tuple[Segment, ...] = ()
    repeated: int = 0


@require_safe
def components(request: HttpRequest) -> HttpResponse:
    """All parts in all their states."""
    return page(request, "components.html", _samples())


def _samples() -> dict[str, Any]:
    shown = tree(ARGS, sensitive=SENSITIVE)
    differing = changes(ARGS, OTHER_ARGS, sensitive=SENSITIVE)
    inbox = Way(reverse("inbox"), _("Back to the inbox"))
    stale = RefusalCode.STALE_REVISION
    return {
        "colors": COLORS,
        "interrupt_states": [one for one in InterruptState if one != InterruptState.DECIDED],
        "decisions": list(DecisionKind),
        "run_states": list(RunState),
        "tree": shown,
        "empty": tree({}),
        "changes": differing,
        "glances": _glances(),
        "cut": Cut(rows=[], previous="sample", next="sample"),
        "sent_at": NOON,
        "soon": span(12 * 60),
        "later": span(23 * 3600),
        "panel": Panel(
            code=stale,
            title=sentence(stale.sentence),
            at=NOON,
            by="tom",
            changes=differing,
            faults=(Fault("/amount", 'the value is not of type "number"'),),
            way=inbox,
        ),
        "lines": [
            SampleLine(NOON, "clerk", str(PLAIN["interrupt.asked"])),
            SampleLine(NOON + timedelta(minutes=1), "tom", str(PLAIN["interrupt.shown"])),
            SampleLine(
                NOON + timedelta(minutes=2), "tom", str(DECIDED["reject"]), visible("Not today")
            ),
        ],
    }


def _glances() -> list[tuple[str, Glance]]:
    return [
        ("wire_transfer", whole({"amount": "249.90", "vendor": "K-7", "pin": 1}, SENSITIVE)),
        ("shell.run", whole({"cmd": ARGS["cmd"]}, ())),
        ("report.send", Glance()),
        ("archive.write", Glance(chars=48_213)),
    ]
