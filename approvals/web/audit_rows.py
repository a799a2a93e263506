"""Events of the record with what was asked, shown and answered, loaded in bulk and masked."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from approvals.models import Interrupt
from approvals.rules.display import Hint, hint_for
from approvals.rules.glance import Glance
from approvals.rules.presentation import masked_value
from approvals.web.glance import glance_at, glances, hints_of, masked_args, with_glance
from approvals.web.words import Line, line
from audit.reading import RecordedEvent, showings
from placet.protocol.reading import JSONValue

OF_ACTIONS = frozenset({"action.dispatched", "action.known", "action.unknown", "action.reconciled"})
EXPLAINED = OF_ACTIONS | {
    "interrupt.asked",
    "interrupt.decided",
    "interrupt.partly_approved",
    "command.refused",
}

NOT_OF_PEOPLE = OF_ACTIONS | {"interrupt.asked"}
TOLD = frozenset({"interrupt.asked", "interrupt.decided"})


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One event in words, and where it is about a question: its content and who saw it when."""

    line: Line
    interrupt: Interrupt | None
    glance: Glance | None
    approved: Glance | None
    shown: Sequence[RecordedEvent]

    @property
    def tells_showings(self) -> bool:
        """Whether it matters to the event who had seen the question before."""
        return self.line.event.type not in NOT_OF_PEOPLE


def audit_rows(tenant_id: int, events: Sequence[RecordedEvent]) -> list[AuditRow]:
    """These events as rows, in a few queries however many they are."""
    about = {event.interrupt_id for event in events if event.type in EXPLAINED}
    ids = sorted(found for found in about if found)
    found = with_glance(Interrupt.objects.filter(tenant_id=tenant_id, pk__in=ids))
    interrupts = {interrupt.pk: interrupt for interrupt in found.select_related("decision")}
    hints = hints_of(tenant_id) if ids else ()
    asked = glances(interrupts.values(), hints, are_short_whole=True)
    seen: dict[str | None, list[RecordedEvent]] = defaultdict(list)
    for event in showings(tenant_id=tenant_id, interrupt_ids=ids) if ids else ():
        seen[event.interrupt_id].append(event)
    rows = []
    for event in events:
        is_about = event.type in EXPLAINED
        interrupt = interrupts.get(event.interrupt_id or "") if is_about else None
        before = [one for one in seen[event.interrupt_id] if one.id < event.id]
        rows.append(
            AuditRow(
                line(event),
                interrupt,
                asked[interrupt.pk] if interrupt else None,
                _approved(event, interrupt, hints) if interrupt else None,
                before if interrupt else (),
            )
        )
    return rows


def _approved(event: RecordedEvent, interrupt: Interrupt, hints: Sequence[Hint]) -> Glance | None:
    """The other arguments that an edit approved."""
    decision = getattr(interrupt, "decision", None)
    is_told = event.type == "interrupt.decided" or event.type in OF_ACTIONS
    if not is_told or decision is None or decision.kind != "edit":
        return None
    hint = hint_for(hints, interrupt.tool)
    return glance_at(decision.approved_asked, interrupt.sensitive, hint, is_short_whole=True)


def contents(events: Sequence[RecordedEvent], /) -> dict[int, JSONValue]:
    """What events of one tenant speak of, masked, by event id: what was asked, what answered."""
    told = [event for event in events if event.type in TOLD]
    ids = {event.interrupt_id for event in told if event.interrupt_id}
    found = Interrupt.objects.select_related("decision").in_bulk(ids)
    return {
        event.id: _content(event, found[event.interrupt_id])
        for event in told
        if event.interrupt_id in found
    }


def _content(event: RecordedEvent, interrupt: Interrupt) -> JSONValue:
    if event.type == "interrupt.asked":
        return {
            "call_id": interrupt.call_id,
            "attempt": interrupt.attempt,
            "tool": interrupt.tool,
            "args": masked_args(interrupt.asked, interrupt.sensitive),
            "target": interrupt.content["target"],
            "description": interrupt.description,
            "masked": [*interrupt.sensitive],
        }
    decision = interrupt.decision
    return {
        "decision": decision.kind,
        "approvals": decision.approvals_value,
        "reason": decision.reason,
        "args": masked_value(decision.args, interrupt.sensitive),
        "response": decision.response_value,
    }
