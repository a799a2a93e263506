"""Interrupts over HTTP: look, take back."""

from django.http import HttpRequest, HttpResponse
from ninja import Router

from approvals.access import agent_interrupt
from approvals.api.answers import InterruptOut
from approvals.api.bodies import CancelInterruptBody
from approvals.api.parameters import WaitS
from approvals.api.readers import agent_interrupts
from approvals.api.shapes import interrupt_shape
from identity.roles import Scope
from runs.api.http import Reply, answer, effect, key_of, not_found, require
from runs.api.problem import PROBLEMS
from runs.rules.refusal import Refusal

router = Router(tags=["interrupts"])


@router.get("/interrupts/{interrupt_id}", response={200: InterruptOut, **PROBLEMS})
def get_interrupt(request: HttpRequest, interrupt_id: str, wait_s: WaitS = None) -> HttpResponse:
    """One interrupt with its decision; with `wait_s` it is told once it is no longer PENDING.

    The hub in front of this view waits; what arrives here is answered at once.
    """
    agent = require(request, *Scope).agent
    interrupt = agent_interrupts({agent.pk}, {interrupt_id}).get(interrupt_id)
    if interrupt is None:
        raise not_found()
    return answer(Reply(200, interrupt_shape(interrupt)))


@router.post("/interrupts/{interrupt_id}/cancel", response={200: InterruptOut, **PROBLEMS})
def cancel_interrupt(
    request: HttpRequest, interrupt_id: str, body: CancelInterruptBody | None = None
) -> HttpResponse:
    """Take a question back; people can no longer answer it."""
    agent = key_of(request).agent

    def command() -> Reply:
        interrupt = agent_interrupt(agent, interrupt_id)
        if interrupt is None:
            raise not_found()
        require(request, Scope.ASK)
        token = body.fencing_token if body else None
        outcome = interrupt.cancel(agent=agent, fencing_token=token)
        if isinstance(outcome, Refusal):
            return Reply.no(outcome)
        return Reply(200, interrupt_shape(outcome))

    return effect(request, command)
