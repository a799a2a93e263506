"""What contract §3 promises to hold at every commit, looked up in rows and record by hand.

Nothing here asks the product's rules. The history is replayed from the record: the events of one
command share their instant, so how a run stood after each commit can be told afterwards.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise

from approvals.models import Decision, Interrupt
from audit.models import Event
from runs.models import Action, Run

OPEN = frozenset({"PENDING", "HANDED_BACK"})
ENDINGS = {
    "DECIDED": "interrupt.decided",
    "SUPERSEDED": "interrupt.superseded",
    "EXPIRED": "interrupt.expired",
    "CANCELLED": "interrupt.cancelled",
}
FREE = frozenset({"UNKNOWN", "DONE", "CANCELLED"})
STOPPING = frozenset({"IN_FLIGHT", "UNKNOWN", "CANCELLED"})


def broken(run_ids: Iterable[str] | None = None) -> list[str]:
    """Every promise that does not hold, in words, for these runs or for all; [] is good."""
    runs = Run.objects.all() if run_ids is None else Run.objects.filter(pk__in=list(run_ids))
    by_id = {run.pk: run for run in runs.order_by("pk")}
    interrupts = _by_run(Interrupt.objects.filter(run_id__in=by_id).order_by("pk"))
    events = _by_run(Event.objects.filter(run_id__in=by_id).order_by("run_id", "run_seq"))
    actions = _by_run(Action.objects.filter(run_id__in=by_id).order_by("pk"))
    decisions = Decision.objects.filter(interrupt__run_id__in=by_id)
    by_interrupt = {decision.interrupt_id: decision for decision in decisions}
    decided = Counter(decision.interrupt_id for decision in decisions)
    return [
        f"{run.pk}: {fault}"
        for run in by_id.values()
        for fault in (
            *_run_faults(run, interrupts[run.pk]),
            *_acting_faults(run, actions[run.pk]),
            *_use_faults(actions[run.pk], by_interrupt),
            *_family_faults(run, by_id),
            *_attempt_faults(interrupts[run.pk]),
            *_ending_faults(interrupts[run.pk], events[run.pk], decided),
            *_history_faults(run, events[run.pk]),
            *_action_history_faults(actions[run.pk], events[run.pk]),
        )
    ]


def _by_run(rows: Iterable[object]) -> defaultdict[str, list]:  # type: ignore[type-arg]
    found: defaultdict[str, list] = defaultdict(list)  # type: ignore[type-arg]
    for row in rows:
        found[row.run_id].append(row)  # type: ignore[attr-defined]
    return found


def _run_faults(run: Run, interrupts: Sequence[Interrupt]) -> Iterator[str]:
    is_open = [row for row in interrupts if row.state in OPEN]
    if (run.state == "WAIT_USER") != bool(is_open):
        yield f"{run.state} with {len(is_open)} open questions"
    for row in is_open:
        if row.round != run.revision:
            yield f"{row.pk} is open, of round {row.round} at revision {run.revision}"
    if (run.state == "DONE") != (run.outcome is not None):
        yield f"{run.state} with the outcome {run.outcome}"


def _acting_faults(run: Run, actions: Sequence[Action]) -> Iterator[str]:
    states = Counter(row.state for row in actions)
    if (run.state == "IN_FLIGHT") != bool(states["IN_FLIGHT"]):
        yield f"{run.state} with actions {dict(states)}"
    if (run.state == "UNKNOWN") != bool(states["UNKNOWN"] and not states["IN_FLIGHT"]):
        yield f"{run.state} with actions {dict(states)}"
    if run.cancel_requested and run.state not in STOPPING:
        yield f"{run.state} although it is asked to stop"
    is_held = run.lease_holder is not None
    if (run.state == "IN_FLIGHT" and not is_held) or (run.state in FREE and is_held):
        yield f"{run.state} with the holder {run.lease_holder}"
    for row in actions:
        living = row.state == "IN_FLIGHT"
        if row.fencing_token > run.fencing_token or (
            living and row.fencing_token != run.fencing_token
        ):
            yield f"{row.pk} is {row.state} under {row.fencing_token} at {run.fencing_token}"


def _use_faults(actions: Sequence[Action], decisions: dict[str, Decision]) -> Iterator[str]:
    """An action is the one use of an approval of exactly its content, under its key."""
    used = Counter(row.interrupt_id for row in actions)
    by_key: defaultdict[str, list[Action]] = defaultdict(list)
    for row in actions:
        by_key[row.idempotency_key].append(row)
        decision = decisions.get(row.interrupt_id)
        approved = decision and (
            decision.approved_asked,
            decision.approved_sha256,
            decision.idempotency_key,
        )
        if used[row.interrupt_id] != 1 or approved != (
            row.asked,
            row.approved_sha256,
            row.idempotency_key,
        ):
            yield f"{row.pk} is no use of the approval of {row.interrupt_id}"
    for key, rows in by_key.items():
        if any(row.state not in ("FAILED", "NOT_EXECUTED", "RESENT") for row in rows[:-1]):
            yield f"{key} was sent again after {[row.state for row in rows]}"


def _family_faults(run: Run, by_id: dict[str, Run]) -> Iterator[str]:
    parent = by_id.get(run.parent_id) if run.parent_id else None
    is_stopped = run.state in ("DONE", "CANCELLED") or run.cancel_requested
    if parent and parent.state == "CANCELLED" and not is_stopped:
        yield f"{run.state} under a cancelled parent"


def _attempt_faults(interrupts: Sequence[Interrupt]) -> Iterator[str]:
    by_call = defaultdict(list)
    for row in interrupts:
        by_call[row.call_id].append(row)
    for call_id, rows in by_call.items():
        rows.sort(key=lambda row: row.attempt)
        if [row.attempt for row in rows] != list(range(1, len(rows) + 1)):
            yield f"{call_id} has the attempts {[row.attempt for row in rows]}"
        if [row.is_latest for row in rows] != [False] * (len(rows) - 1) + [True]:
            yield f"{call_id} has latest attempts {[row.is_latest for row in rows]}"
        if rows[-1].state == "SUPERSEDED":
            yield f"the last attempt of {call_id} is SUPERSEDED"
        for row, following in pairwise(rows):
            if row.state in OPEN:
                yield f"{row.pk} is open and has a later attempt"
            if row.superseded_by_id not in (None, following.pk):
                yield f"{row.pk} is superseded by another question"
        if rows[-1].superseded_by_id is not None:
            yield f"{rows[-1].pk} is the last attempt and superseded"


def _ending_faults(
    interrupts: Sequence[Interrupt], events: Sequence[Event], decided: Counter[str]
) -> Iterator[str]:
    told = Counter((event.interrupt_id, event.type) for event in events)
    for row in interrupts:
        if decided[row.pk] != (row.state == "DECIDED"):
            yield f"{row.pk} is {row.state} with {decided[row.pk]} decisions"
        expected = Counter({"interrupt.asked": 1})
        if row.state in ENDINGS:
            expected[ENDINGS[row.state]] += 1
        if row.state == "DECIDED" and row.superseded_by_id is not None:
            expected["interrupt.superseded"] += 1
        found = Counter(
            {
                name: told[row.pk, name]
                for name in ("interrupt.asked", *ENDINGS.values())
                if told[row.pk, name]
            }
        )
        if found != expected:
            yield f"{row.pk} is {row.state}, told as {dict(found)}"


def _history_faults(run: Run, events: Sequence[Event]) -> Iterator[str]:
    """Replay the record; after each command the run waits if and only if a question is open."""
    state, revision, standing = None, -1, dict[str, str]()
    for at, group in groupby(events, key=lambda event: event.at):
        for event in group:
            if event.type == "run.state_changed":
                if event.from_state != state or event.revision != revision + 1:
                    yield f"event {event.run_seq} goes from {event.from_state}, it was {state}"
                state, revision = event.to_state, event.revision
            elif event.interrupt_id and event.to_state and not event.action_id:
                before = standing.get(event.interrupt_id)
                if event.from_state != before:
                    yield f"event {event.run_seq} finds {event.from_state}, it was {before}"
                if before and before not in OPEN and event.to_state != before:
                    yield f"event {event.run_seq} changes an end from {before}"
                standing[event.interrupt_id] = event.to_state
        is_open = OPEN & set(standing.values())
        if (state == "WAIT_USER") != bool(is_open):
            yield f"at {at} the run was {state} and questions were {sorted(standing.values())}"
    if (run.state, run.revision) != (state, revision):
        yield f"{run.state} at {run.revision}, told as {state} at {revision}"
    told = [event.run_seq for event in events if event.type != "interrupt.shown"]
    if (run.seq, run.event_seq) != (told[-1], events[-1].run_seq):
        yield f"seq {run.seq} and {run.event_seq}, told {told[-1]} and {events[-1].run_seq}"


def _action_history_faults(actions: Sequence[Action], events: Sequence[Event]) -> Iterator[str]:
    """Replay what became of actions; after each command the run acts if and only if one does."""
    state, token, standing = None, 0, dict[str, str]()
    for at, group in groupby(events, key=lambda event: event.at):
        for event in group:
            if event.type == "run.state_changed":
                state = event.to_state
            elif event.action_id and event.to_state:
                before = standing.get(event.action_id)
                if event.from_state != before or before not in (None, "IN_FLIGHT", "UNKNOWN"):
                    yield f"event {event.run_seq} finds {event.from_state}, it was {before}"
                standing[event.action_id] = event.to_state
            if event.type == "action.dispatched":
                given = json.loads(event.detail)["fencing_token"]
                if given < token:
                    yield f"event {event.run_seq} has the token {given} after {token}"
                token = given
        is_acting = "IN_FLIGHT" in standing.values()
        if (state == "IN_FLIGHT") != is_acting:
            yield f"at {at} the run was {state} and actions were {sorted(standing.values())}"
        if (state == "UNKNOWN") != ("UNKNOWN" in standing.values() and not is_acting):
            yield f"at {at} the run was {state} and actions were {sorted(standing.values())}"
    if standing != {row.pk: row.state for row in actions}:
        yield f"actions are {[row.state for row in actions]}, told as {standing}"
