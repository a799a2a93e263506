"""Leases over HTTP: take, renew, release."""

from django.http import HttpRequest, HttpResponse
from ninja import Router

from identity.roles import Scope
from runs.access import agent_run
from runs.api.bodies import LeaseBody, ReleaseBody, RenewBody
from runs.api.http import Reply, effect, key_of, not_found, require
from runs.api.problem import PROBLEMS
from runs.api.shapes import LeaseOut, lease_shape
from runs.models import Run
from runs.models.lease import release_lease, renew_lease, take_lease
from runs.rules.lease import NewLease
from runs.rules.refusal import Refusal

router = Router(tags=["leases"])


@router.post("/runs/{run_id}/lease", response={200: LeaseOut, **PROBLEMS})
def take(request: HttpRequest, run_id: str, body: LeaseBody) -> HttpResponse:
    """Take control of a run; whoever controls it now keeps it until its lease ends."""
    new = NewLease(body.holder, body.ttl_s)
    return effect(
        request,
        lambda: _reply(take_lease(_run(request, run_id), new, agent=key_of(request).agent)),
    )


@router.post("/runs/{run_id}/lease/renew", response={200: LeaseOut, **PROBLEMS})
def renew(request: HttpRequest, run_id: str, body: RenewBody) -> HttpResponse:
    """Keep control; the answer says whether the run is asked to stop."""
    return effect(
        request,
        lambda: _reply(
            renew_lease(
                _run(request, run_id),
                body.fencing_token,
                ttl_s=body.ttl_s,
                agent=key_of(request).agent,
            )
        ),
    )


@router.post("/runs/{run_id}/lease/release", response={200: LeaseOut, **PROBLEMS})
def release(request: HttpRequest, run_id: str, body: ReleaseBody) -> HttpResponse:
    """Give control back; not while an action is open."""
    return effect(
        request,
        lambda: _reply(
            release_lease(_run(request, run_id), body.fencing_token, agent=key_of(request).agent)
        ),
    )


def _run(request: HttpRequest, run_id: str) -> Run:
    run = agent_run(key_of(request).agent, run_id)
    if run is None:
        raise not_found()
    require(request, Scope.EXECUTE)
    return run


def _reply(outcome: Run | Refusal) -> Reply:
    if isinstance(outcome, Refusal):
        return Reply.no(outcome)
    return Reply(200, lease_shape(outcome))
