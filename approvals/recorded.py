"""What the record says of questions, decisions and saved files, digested anew for the verifier."""

from collections.abc import Sequence

from approvals.models import Decision, DisplayVersion, Interrupt, PolicyVersion
from audit.subjects import Told
from placet.protocol.reading import read_json
from runs.models import Action


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
    dispatched = {
        event.id: event.action_id for event in events if event.type == "action.dispatched"
    }
    actions = Action.objects.in_bulk(set(dispatched.values()))
    found |= {
        event_id: actions[action_id].content_digest()
        for event_id, action_id in dispatched.items()
        if action_id in actions
    }
    return (
        found
        | _saved_digests(events, "policy.saved", PolicyVersion)
        | _saved_digests(events, "display.saved", DisplayVersion)
    )


def _saved_digests(
    events: Sequence[Told], type_: str, model: type[PolicyVersion] | type[DisplayVersion]
) -> dict[int, str]:
    saved = [event for event in events if event.type == type_]
    named = {event.id: (event.tenant_id, _version(event)) for event in saved}
    versions = model.objects.filter(
        tenant_id__in={tenant_id for tenant_id, _ in named.values()},
        version__in={version for _, version in named.values()},
    )
    digests = {(row.tenant_id, row.version): row.content_digest() for row in versions}
    return {event_id: digests[key] for event_id, key in named.items() if key in digests}


def _version(event: Told) -> int:
    detail = read_json(event.detail.encode())
    assert isinstance(detail, dict) and isinstance(detail["version"], int)
    return detail["version"]
