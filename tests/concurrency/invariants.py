"""What contract §3 promises to hold at every commit, looked up in rows and record by hand.

Nothing here asks the product's rules. The history is replayed from the record: the events of one
command share their instant, so how a run stood after each commit can be told afterwards.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise

from approvals.models import Decision, Interrupt
from audit.models import Event
from runs.models import Run

OPEN = frozenset({"PENDING", "HANDED_BACK"})
ENDINGS = {
    "DECIDED": "interrupt.decided",
    "SUPERSEDED": "interrupt.superseded",
    "EXPIRED": "interrupt.expired",
    "CANCELLED": "interrupt.cancelled",
}
WITHOUT_ACTIONS = frozenset({"READY", "WAIT_USER", "EXPIRED", "DONE", "CANCELLED"})


def broken(run_ids: Iterable[str] | None = None) -> list[str]:
    """Every promise that does not hold, in words, for these runs or for all; [] is good."""
    runs = Run.objects.all() if run_ids is None else Run.objects.filter(pk__in=list(run_ids))
    by_id = {run.pk: run for run in runs.order_by("pk")}
    interrupts = _by_run(Interrupt.objects.filter(run_id__in=by_id).order_by("pk"))
    events = _by_run(Event.objects.filter(run_id__in=by_id).order_by("run_id", "run_seq"))
    decided = Counter(
        Decision.objects.filter(interrupt__run_id__in=by_id).values_list("interrupt_id", flat=True)
    )
    return [
        f"{run.pk}: {fault}"
        for run in by_id.values()
        for fault in (
            *_run_faults(run, interrupts[run.pk]),
            *_family_faults(run, by_id),
            *_attempt_faults(interrupts[run.pk]),
            *_ending_faults(interrupts[run.pk], events[run.pk], decided),
            *_history_faults(run, events[run.pk]),
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
    if run.state not in WITHOUT_ACTIONS:
        yield f"{run.state} without any action"
    for row in is_open:
        if row.round != run.revision:
            yield f"{row.pk} is open, of round {row.round} at revision {run.revision}"
    if (run.state == "DONE") != (run.outcome is not None):
        yield f"{run.state} with the outcome {run.outcome}"


def _family_faults(run: Run, by_id: dict[str, Run]) -> Iterator[str]:
    parent = by_id.get(run.parent_id) if run.parent_id else None
    if parent and parent.state == "CANCELLED" and run.state not in ("DONE", "CANCELLED"):
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
            elif event.interrupt_id and event.to_state:
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
