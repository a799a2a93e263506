"""Observations over HTTP: what the execution layer saw on the page that it controls."""

from datetime import UTC, datetime

from django.http import HttpRequest, HttpResponse
from django.utils.dateparse import parse_datetime
from ninja import Router

from approvals.access import agent_interrupt
from approvals.api.answers import ObservedOut
from approvals.api.bodies import HandbackBody, ObservationBody
from approvals.api.shapes import Shape, interrupt_shape
from approvals.models.observing import Observed, observe_handback, observe_run
from approvals.rules.observing import MEMBERS, Seen
from identity.roles import Scope
from runs.access import agent_run
from runs.api.http import Refused, Reply, effect, key_of, not_found, require
from runs.api.problem import PROBLEMS
from runs.rules.refusal import Refusal, invalid

router = Router(tags=["observations"])


@router.post("/interrupts/{interrupt_id}/observations", response={200: ObservedOut, **PROBLEMS})
def observe_interrupt(request: HttpRequest, interrupt_id: str, body: HandbackBody) -> HttpResponse:
    """Say what was seen after a person handed back: all as named decides, else it is open again."""
    seen = _seen(body)

    def command() -> Reply:
        agent = key_of(request).agent
        interrupt = agent_interrupt(agent, interrupt_id)
        if interrupt is None:
            raise not_found()
        require(request, Scope.OBSERVE)
        return _reply(observe_handback(interrupt, seen, handback=body.handback, agent=agent))

    return effect(request, command)


@router.post("/runs/{run_id}/observations", response={200: ObservedOut, **PROBLEMS})
def observe(request: HttpRequest, run_id: str, body: ObservationBody) -> HttpResponse:
    """Say what was seen, for a dispatch that has to name a recent look at its target."""
    seen = _seen(body)

    def command() -> Reply:
        agent = key_of(request).agent
        run = agent_run(agent, run_id)
        if run is None:
            raise not_found()
        require(request, Scope.OBSERVE)
        return _reply(observe_run(run, seen, agent=agent))

    return effect(request, command)


def _seen(body: ObservationBody) -> Seen:
    return Seen(
        **{name: getattr(body, name) for name in MEMBERS},
        fencing_token=body.fencing_token,
        snapshot_sha256=body.snapshot_sha256,
        observed_at=_instant(body.observed_at),
    )


def _instant(text: str) -> datetime:
    try:
        at = parse_datetime(text)
        if at is not None and at.tzinfo is not None:
            return at.astimezone(UTC)
    except (ValueError, OverflowError):
        pass  # no date, or one that is in no year of UTC
    raise Refused(invalid("/observed_at", "This has to be an RFC 3339 time with its offset."))


def _reply(outcome: Observed | Refusal) -> Reply:
    if isinstance(outcome, Refusal):
        return Reply.no(outcome)
    look = outcome.observation
    shape: Shape = {
        "observation_id": look.pk,
        "matched": look.matched,
        "differs": list(look.differs),
    }
    if outcome.interrupt is not None:
        shape["interrupt"] = interrupt_shape(outcome.interrupt)
    return Reply(200, shape)
