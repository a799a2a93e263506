"""What agents see of runs and interrupts: the shapes of contract §6, made in bulk.

Every list loads its parts in a number of queries that does not depend on its length.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from django.conf import settings
from django.db.models import Exists, Max, OuterRef, Q, QuerySet, Subquery

from approvals.models import Decision, Interrupt
from approvals.rules.asking import APPROVING
from audit.chain import instant
from placet.protocol.reading import JSONValue, read_json
from placet.protocol.states import InterruptState
from runs.api.shapes import action_shape
from runs.models import Action, Run
from runs.rules import lease, transitions
from runs.rules.facts import RESTING, TERMINAL
from runs.rules.transitions import Stopping

Shape = dict[str, JSONValue]


def with_parts(interrupts: "QuerySet[Interrupt]") -> "QuerySet[Interrupt]":
    """Interrupts with all that their shape needs."""
    return interrupts.select_related("decision", "run").annotate(
        action_id=Subquery(_used().values("pk")[:1])
    )


def run_shapes(runs: Sequence[Run], *, is_all: bool = False) -> list[Shape]:
    """Runs with their interrupts; `runs` were loaded with their owner."""
    wanted = Interrupt.objects.filter(run_id__in=[run.pk for run in runs])
    actions = _actions(runs)
    if not is_all:
        last = (
            Interrupt.objects.filter(run_id=OuterRef("run_id"))
            .order_by()
            .values("run_id")
            .annotate(last=Max("round"))
        )
        wanted = wanted.filter(
            Q(round=Subquery(last.values("last")))
            | (Q(decision__kind__in=list(APPROVING)) & ~Exists(_used()))
        )
    by_run: dict[str, list[Interrupt]] = defaultdict(list)
    for interrupt in with_parts(wanted).order_by("created_at", "pk"):
        by_run[interrupt.run_id].append(interrupt)
    return [run_shape(run, by_run[run.pk], actions[run.pk]) for run in runs]


def _used() -> "QuerySet[Action]":
    return Action.objects.filter(interrupt_id=OuterRef("pk"))


def _actions(runs: Sequence[Run]) -> dict[str, list[Action]]:
    by_run: dict[str, list[Action]] = defaultdict(list)
    for action in Action.objects.filter(run_id__in=[run.pk for run in runs]).order_by("pk"):
        by_run[action.run_id].append(action)
    return by_run


def run_shape(run: Run, interrupts: Iterable[Interrupt], actions: Iterable[Action]) -> Shape:
    """One run with these interrupts and actions."""
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
        "lease": None
        if run.lease is None
        else {"holder": run.lease.holder, "expires_at": instant(run.lease.expires_at)},
        "created_at": instant(run.created_at),
        "updated_at": instant(run.updated_at),
        "url": f"{settings.PLACET_BASE_URL}/runs/{run.pk}/",
        "can": run_commands(run),
        "interrupts": [interrupt_shape(interrupt, run=run) for interrupt in interrupts],
        "actions": [action_shape(action) for action in actions],
    }


def run_commands(run: Run) -> list[JSONValue]:
    """What the run's agent may ask for now."""
    facts = run.facts()
    can: list[JSONValue] = []
    token = facts.lease.fencing_token if facts.lease else None
    if transitions.may_ask(facts, expected_revision=None, fencing_token=token) is None:
        can.append("ask")
    if isinstance(transitions.cancel(facts), Stopping) and not facts.is_stopping:
        can.append("cancel")
    if facts.state in RESTING:
        can.append("finish")
    if lease.may_take(facts) is None:
        can.append("lease")
    if token is not None and lease.may_hold(facts, token) is None:
        can.append("lease.renew")
    if token is not None and lease.may_release(facts, token) is None:
        can.append("lease.release")
    return can


def interrupt_shape(
    interrupt: Interrupt,
    *,
    run: Run | None = None,
    is_created: bool = False,
    action: Action | None = None,
) -> Shape:
    """One question, how it stands, its decision, and the action that used it up.

    `action` need not be given for rows that `with_parts` loaded.
    """
    content = interrupt.content
    decision: Decision | None = getattr(interrupt, "decision", None)
    facts = (run or interrupt.run).facts()
    is_open = InterruptState(interrupt.state).is_open and facts.state not in TERMINAL
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
        "action_id": action.pk if action else getattr(interrupt, "action_id", None),
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
