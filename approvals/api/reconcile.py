"""Reconciling over HTTP, for keys of those who can ask the target what happened."""

from django.http import HttpRequest, HttpResponse
from ninja import Router

from approvals.api.bodies import ReconcileBody
from approvals.models.reconciling import Found, settle_outcome
from identity.roles import Scope
from runs.access import agent_action
from runs.api.http import Reply, effect, key_of, not_found, require
from runs.api.problem import PROBLEMS
from runs.api.shapes import ActionOut, action_shape
from runs.rules.evidence import Evidence, EvidenceKind, Finding
from runs.rules.refusal import Refusal

router = Router(tags=["actions"])


@router.post("/actions/{action_id}/reconcile", response={200: ActionOut, **PROBLEMS})
def reconcile_action(request: HttpRequest, action_id: str, body: ReconcileBody) -> HttpResponse:
    """Say what was found out about an unknown outcome, and what shows it."""
    evidence = body.evidence
    found = Found(
        Finding(body.outcome),
        Evidence(EvidenceKind(evidence.kind), evidence.reference, evidence.note)
        if evidence
        else None,
    )

    def command() -> Reply:
        agent = key_of(request).agent
        action = agent_action(agent, action_id)
        if action is None:
            raise not_found()
        require(request, Scope.RECONCILE)
        outcome = settle_outcome(action, found, by=agent)
        if isinstance(outcome, Refusal):
            return Reply.no(outcome)
        return Reply(200, action_shape(outcome))

    return effect(request, command)
