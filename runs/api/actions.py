"""Actions over HTTP: look, and say what became of them."""

from django.http import HttpRequest, HttpResponse
from ninja import Router

from identity.roles import Scope
from placet.protocol import limits
from placet.protocol.canonical import canonical
from placet.protocol.reading import JSONValue
from placet.protocol.refusals import RefusalCode
from placet.protocol.states import ActionState
from runs.access import agent_action
from runs.api.bodies import ResultBody, UnknownBody
from runs.api.http import Refused, Reply, answer, effect, key_of, not_found, require
from runs.api.problem import PROBLEMS
from runs.api.shapes import ActionOut, action_shape
from runs.clock import database_now
from runs.models import Action
from runs.models.reporting import report
from runs.rules.actions import REPORTED, Report
from runs.rules.refusal import Refusal

router = Router(tags=["actions"])


@router.get("/actions/{action_id}", response={200: ActionOut, **PROBLEMS})
def get_action(request: HttpRequest, action_id: str) -> HttpResponse:
    """One action, and what is known of it."""
    require(request, *Scope)
    action = _action(request, action_id)
    if action.is_out_of_control(database_now()) and action.run.settle():
        action = _action(request, action_id)
    return answer(Reply(200, action_shape(action)))


@router.post("/actions/{action_id}/result", response={200: ActionOut, **PROBLEMS})
def give_result(request: HttpRequest, action_id: str, body: ResultBody) -> HttpResponse:
    """Say what became of an action; what comes too late is refused and kept."""
    check_size(body.result)
    told = Report(
        state=REPORTED[body.outcome],
        fencing_token=body.fencing_token,
        result=None if body.result is None else canonical(body.result),
    )

    def command() -> Reply:
        action = _action(request, action_id)
        require(request, Scope.EXECUTE)
        return _reply(report(action, told, agent=key_of(request).agent))

    return effect(request, command)


@router.post("/actions/{action_id}/unknown", response={200: ActionOut, **PROBLEMS})
def give_unknown(request: HttpRequest, action_id: str, body: UnknownBody) -> HttpResponse:
    """Say that nobody knows what became of an action: it stays so until evidence clears it."""
    check_size(body.refs)
    told = Report(
        state=ActionState.UNKNOWN,
        fencing_token=body.fencing_token,
        detail=body.detail,
        refs=None if body.refs is None else canonical(body.refs),
    )

    def command() -> Reply:
        action = _action(request, action_id)
        require(request, Scope.EXECUTE)
        return _reply(report(action, told, agent=key_of(request).agent))

    return effect(request, command)


def check_size(value: JSONValue) -> None:
    """Refuse a result, evidence or `refs` that is too large; raises Refused."""
    if value is not None and len(canonical(value).encode()) > limits.RESULT_BYTES:
        raise Refused(Refusal(code=RefusalCode.TOO_LARGE))


def _action(request: HttpRequest, action_id: str) -> Action:
    action = agent_action(key_of(request).agent, action_id)
    if action is None:
        raise not_found()
    return action


def _reply(outcome: Action | Refusal) -> Reply:
    if isinstance(outcome, Refusal):
        return Reply.no(outcome)
    return Reply(200, action_shape(outcome))
