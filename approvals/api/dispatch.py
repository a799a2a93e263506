"""Dispatch over HTTP: only a 201 that is no replay permits the side effect."""

from django.http import HttpRequest, HttpResponse
from ninja import Router

from approvals.access import has_asked
from approvals.api.bodies import DispatchBody
from approvals.models.dispatching import Wanted, dispatch
from identity.roles import Scope
from placet.protocol import limits
from placet.protocol.canonical import NotCanonical
from placet.protocol.digest import canonical_asked
from placet.protocol.refusals import RefusalCode
from runs.api.actions import check_size
from runs.api.http import Refused, Reply, effect, key_of, not_found, require
from runs.api.problem import PROBLEMS
from runs.api.shapes import ActionOut, action_shape
from runs.rules.lease import NewLease
from runs.rules.refusal import Refusal, invalid

router = Router(tags=["actions"])


@router.post("/runs/{run_id}/dispatch", response={200: ActionOut, 201: ActionOut, **PROBLEMS})
def dispatch_action(request: HttpRequest, run_id: str, body: DispatchBody) -> HttpResponse:
    """Use up an approval for exactly what was approved; 201 permits doing it, once."""
    _check(body)
    lease = body.lease
    wanted = Wanted(
        interrupt_id=body.interrupt_id,
        args=body.args,
        fencing_token=body.fencing_token,
        lease=NewLease(lease.holder, lease.ttl_s) if lease else None,
        observation_id=body.observation_id,
        refs=body.refs,
    )

    def command() -> Reply:
        agent = key_of(request).agent
        if not has_asked(agent, run_id, body.interrupt_id):
            raise not_found()
        require(request, Scope.EXECUTE)
        outcome = dispatch(run_id, wanted, agent=agent)
        if isinstance(outcome, Refusal):
            return Reply.no(outcome)
        return Reply(201, action_shape(outcome))

    return effect(request, command)


def _check(body: DispatchBody) -> None:
    check_size(body.refs)
    if (body.fencing_token is None) == (body.lease is None):
        raise Refused(
            invalid("/fencing_token", "Give the fencing_token that you hold, or a lease to take.")
        )
    try:
        text = canonical_asked(tool="", args=body.args, target=None)
    except NotCanonical as error:
        raise Refused(invalid("/args", str(error))) from None
    if len(text.encode()) > limits.ASKED_BYTES:
        raise Refused(Refusal(code=RefusalCode.TOO_LARGE))
