"""What agents see of runs and interrupts: the shapes of contract §6, made in bulk.

Every list loads its parts in a number of queries that does not depend on its length.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from django.conf import settings
from django.db.models import Max, OuterRef, Q, QuerySet, Subquery

from approvals.models import Decision, Interrupt
from approvals.rules.asking import APPROVING
from audit.chain import instant
from placet.protocol.reading import JSONValue, read_json
from placet.protocol.states import InterruptState, RunState
from runs.models import Run
from runs.rules import transitions

Shape = dict[str, JSONValue]


def with_parts(interrupts: "QuerySet[Interrupt]") -> "QuerySet[Interrupt]":
    """Interrupts with all that their shape needs."""
    return interrupts.select_related("decision", "run")


def run_shapes(runs: Sequence[Run], *, is_all: bool = False) -> list[Shape]:
    """Runs with their interrupts; `runs` were loaded with their owner."""
    wanted = Interrupt.objects.filter(run_id__in=[run.pk for run in runs])
    if not is_all:
        last = (
            Interrupt.objects.filter(run_id=OuterRef("run_id"))
            .order_by()
            .values("run_id")
            .annotate(last=Max("round"))
        )
        wanted = wanted.filter(
            Q(round=Subquery(last.values("last"))) | Q(decision__kind__in=list(APPROVING))
        )
    by_run: dict[str, list[Interrupt]] = defaultdict(list)
    for interrupt in with_parts(wanted).order_by("created_at", "pk"):
        by_run[interrupt.run_id].append(interrupt)
    return [run_shape(run, by_run[run.pk]) for run in runs]


def run_shape(run: Run, interrupts: Iterable[Interrupt]) -> Shape:
    """One run with these interrupts."""
    return {
        "id": run.pk,
        "external_id": run.external_id,
        "parent": run.parent_id,
        "title": run.title,
        "context": read_json(run.context.encode()),
        "labels": read_json(run.labels.encode()),
        "allowed_tools": None if run.allowed_tools is None else [*run.allowed_tools],
        "owner": run.owner.username,
        "state": str(run.state),
        "revision": run.revision,
        "seq": run.seq,
        "outcome": None if run.outcome is None else str(run.outcome),
        "cancel_requested": run.cancel_requested,
        "lease": None,
        "created_at": instant(run.created_at),
        "updated_at": instant(run.updated_at),
        "url": f"{settings.PLACET_BASE_URL}/runs/{run.pk}/",
        "can": run_commands(run),
        "interrupts": [interrupt_shape(interrupt, run=run) for interrupt in interrupts],
        "actions": [],
    }


def run_commands(run: Run) -> list[JSONValue]:
    """What the run's agent may ask for now."""
    facts = run.facts()
    can: list[JSONValue] = []
    if transitions.may_ask(facts, expected_revision=None) is None:
        can.append("ask")
    if facts.state in (RunState.READY, RunState.WAIT_USER, RunState.EXPIRED):
        can.append("cancel")
    if facts.state in transitions.RESTING:
        can.append("finish")
    return can


def interrupt_shape(
    interrupt: Interrupt, *, run: Run | None = None, is_created: bool = False
) -> Shape:
    """One question, how it stands, and its decision."""
    content = interrupt.content
    decision: Decision | None = getattr(interrupt, "decision", None)
    facts = (run or interrupt.run).facts()
    is_open = InterruptState(interrupt.state).is_open and facts.state not in transitions.TERMINAL
    return {
        "id": interrupt.pk,
        "run_id": interrupt.run_id,
        "call_id": interrupt.call_id,
        "attempt": interrupt.attempt,
        "kind": interrupt.kind,
        "state": str(interrupt.state),
        "round": interrupt.round,
        "tool": interrupt.tool,
        "args": content["args"],
        "target": content["target"],
        "asked_sha256": interrupt.asked_sha256,
        "requested_sha256": interrupt.requested_sha256,
        "description": interrupt.description,
        "allowed_decisions": list(interrupt.allowed_decisions),
        "required": interrupt.required,
        "approvals_so_far": interrupt.approvals_so_far,
        "expires_at": instant(interrupt.expires_at),
        "created_at": instant(interrupt.created_at),
        "created": is_created,
        "superseded_by": interrupt.superseded_by_id,
        "action_id": None,
        "handback": interrupt.handback,
        "warnings": list(interrupt.warnings),
        "policy": {"rule": interrupt.policy_rule, "version": interrupt.policy_version},
        "can": ["cancel"] if is_open else [],
        "url": f"{settings.PLACET_BASE_URL}/interrupts/{interrupt.pk}/",
        "decision": None if decision is None else decision_shape(decision),
    }


def decision_shape(decision: Decision) -> Shape:
    """The outcome of a question."""
    until = decision.valid_until
    return {
        "id": decision.pk,
        "kind": decision.kind,
        "decided_by": {
            "kind": decision.by_kind,
            "id": decision.by_id,
            "name": decision.by_name,
        },
        "decided_at": instant(decision.decided_at),
        "approvals": decision.approvals_value,
        "reason": decision.reason,
        "args": decision.args,
        "approved_sha256": decision.approved_sha256,
        "response": decision.response_value,
        "valid_until": None if until is None else instant(until),
        "idempotency_key": decision.idempotency_key,
    }
