"""What the record says of questions and decisions, digested anew for the verifier."""

from collections.abc import Sequence

from approvals.models import Decision, Interrupt
from audit.subjects import Told


def content_digests(events: Sequence[Told], /) -> dict[int, str]:
    """The digests that the content of these events has now, by event id."""
    asked = {event.id: event.interrupt_id for event in events if event.type == "interrupt.asked"}
    decided = {
        event.id: event.interrupt_id for event in events if event.type == "interrupt.decided"
    }
    interrupts = Interrupt.objects.in_bulk(set(asked.values()))
    decisions = Decision.objects.filter(interrupt_id__in=set(decided.values()))
    by_interrupt = {decision.interrupt_id: decision for decision in decisions}
    found = {
        event_id: interrupts[interrupt_id].content_digest()
        for event_id, interrupt_id in asked.items()
        if interrupt_id in interrupts
    }
    found |= {
        event_id: by_interrupt[interrupt_id].content_digest()
        for event_id, interrupt_id in decided.items()
        if interrupt_id in by_interrupt
    }
    return found
