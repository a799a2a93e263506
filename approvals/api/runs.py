"""Runs over HTTP: begin, look, list, ask, cancel, finish."""

from collections.abc import Sequence
from dataclasses import replace

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from ninja import Router

from approvals.api.answers import AskedOut, RunOut, RunsOut
from approvals.api.bodies import AskBody, CancelRunBody, FinishBody, Question, RunBody
from approvals.api.parameters import AfterId, AfterSeq, Filter, Flag, Limit, WaitS
from approvals.api.readers import agent_runs
from approvals.api.shapes import interrupt_shape, run_shapes
from approvals.models.asking import Asked, ask
from approvals.models.content import NewQuestion
from approvals.rules.questions import questions_refusal
from identity.access import user_by_name
from identity.models import Agent
from identity.roles import Scope
from placet.protocol.reading import JSONValue
from placet.protocol.refusals import RefusalCode
from placet.protocol.states import DecisionKind, InterruptKind, RunOutcome, RunState
from runs.access import agent_run
from runs.api.actions import check_size
from runs.api.http import Refused, Reply, answer, effect, key_of, not_found, require
from runs.api.problem import PROBLEMS
from runs.models import Action, NewRun, Run
from runs.rules.refusal import Refusal

router = Router(tags=["runs"])


@router.post("/runs", response={200: RunOut, 201: RunOut, **PROBLEMS})
def begin_run(request: HttpRequest, body: RunBody) -> HttpResponse:
    """Begin a run, or get the one that this `external_id` names; ask its first questions."""
    _check_run(body)
    return effect(request, lambda: _begin(request, body))


def _check_run(body: RunBody) -> None:
    check_size(body.context)
    check_size(body.labels)
    if refusal := questions_refusal(_dumped(body.interrupts or [])):
        raise Refused(refusal)


def _begin(request: HttpRequest, body: RunBody) -> Reply:
    agent = key_of(request).agent
    if refusal := _reused(agent, body):
        return Reply.no(refusal)
    if body.parent is not None and agent_run(agent, body.parent) is None:
        raise not_found()
    require(request, Scope.ASK)
    owner = user_by_name(agent.tenant_id, body.owner)
    if owner is None or not owner.is_active or not agent.may_act_for(owner):
        return Reply.no(
            Refusal(
                code=RefusalCode.NOT_PERMITTED,
                detail="This agent may not act for a person of that name.",
            )
        )
    new = NewRun(
        title=body.title,
        owner=owner,
        external_id=body.external_id,
        parent_id=body.parent,
        context=body.context,
        allowed_tools=body.allowed_tools,
        labels=body.labels,
    )
    with transaction.atomic():
        begun = Run.begin(new, agent=agent)
        if isinstance(begun, Refusal):
            return Reply.no(begun)
        run, is_new = begun
        if body.interrupts:
            asked = ask(run.pk, _questions(body.interrupts), agent=agent)
            if isinstance(asked, Refusal):
                return _undone(asked) if is_new else Reply.no(asked)
            run = asked.run
    return Reply(201 if is_new else 200, run_shapes([_with_owner(run)])[0])


def _reused(agent: Agent, body: RunBody) -> Refusal | None:
    """The refusal of an external_id that names a run with another owner or parent."""
    if body.external_id is None:
        return None
    run = Run.objects.filter(agent=agent, external_id=body.external_id).select_related("owner")
    known = run.first()
    if known is None or (known.owner.username, known.parent_id) == (body.owner, body.parent):
        return None
    return Refusal(code=RefusalCode.IDEMPOTENCY_KEY_REUSED, current={"run": known.pk})


def _undone(refusal: Refusal) -> Reply:
    """All or nothing: the run goes with its questions, and its record with it."""
    transaction.set_rollback(True)
    return Reply.no(replace(refusal, is_recorded=False))


def _with_owner(run: Run) -> Run:
    return Run.objects.select_related("owner").get(pk=run.pk)


def _dumped(questions: Sequence[Question]) -> list[dict[str, JSONValue]]:
    return [question.model_dump() for question in questions]


def _questions(questions: Sequence[Question]) -> list[NewQuestion]:
    return [
        NewQuestion(
            call_id=question.call_id,
            kind=InterruptKind(question.kind),
            tool=question.tool,
            args=question.args,
            target=question.target,
            description=question.description,
            args_schema=question.args_schema,
            response_schema=question.response_schema,
            allowed_decisions=None
            if question.allowed_decisions is None
            else frozenset(DecisionKind(name) for name in question.allowed_decisions),
            expires_in_s=question.expires_in_s,
            observation_max_age_s=question.observation_max_age_s,
            sensitive=tuple(question.sensitive),
            handoff_url=question.handoff_url,
            retry_of=question.retry_of,
        )
        for question in questions
    ]


@router.get("/runs", response={200: RunsOut, **PROBLEMS})
def list_runs(
    request: HttpRequest,
    external_id: Filter = None,
    state: RunState | None = None,
    after: AfterId = None,
    limit: Limit = 50,
) -> HttpResponse:
    """The agent's runs, newest first."""
    agent = require(request, *Scope).agent
    runs = Run.objects.filter(agent=agent)
    if external_id is not None:
        runs = runs.filter(external_id=external_id)
    if state is not None:
        runs = runs.filter(state=state.value)
    if after is not None:
        runs = runs.filter(pk__lt=after)
    ids = list(runs.order_by("-pk").values_list("pk", flat=True)[: limit + 1])
    following = ids[limit - 1] if len(ids) > limit else None
    found = agent_runs({agent.pk}, set(ids[:limit]))
    page = [found[run_id] for run_id in ids[:limit]]
    return answer(Reply(200, {"items": [*run_shapes(page)], "next": following}))


@router.get("/runs/{run_id}", response={200: RunOut, **PROBLEMS})
def get_run(
    request: HttpRequest,
    run_id: str,
    all: Flag = "0",  # noqa: A002 - the contract's name
    wait_s: WaitS = None,
    after_seq: AfterSeq = None,
) -> HttpResponse:
    """One run; with `wait_s` it is told once its `seq` passes `after_seq`.

    The hub in front of this view waits; what arrives here is answered at once.
    """
    agent = require(request, *Scope).agent
    run = agent_runs({agent.pk}, {run_id}).get(run_id)
    if run is None:
        raise not_found()
    return answer(Reply(200, run_shapes([run], is_all=all == "1")[0]))


@router.post("/runs/{run_id}/interrupts", response={200: AskedOut, 201: AskedOut, **PROBLEMS})
def ask_people(request: HttpRequest, run_id: str, body: AskBody) -> HttpResponse:
    """Ask one to fifty questions, all or nothing; what was asked already is given back."""
    agent = key_of(request).agent
    if refusal := questions_refusal(_dumped(body.interrupts)):
        raise Refused(refusal)

    def command() -> Reply:
        run = agent_run(agent, run_id)
        if run is None:
            raise not_found()
        require(request, Scope.ASK)
        asked = ask(
            run.pk,
            _questions(body.interrupts),
            agent=agent,
            expected_revision=body.expected_revision,
            fencing_token=body.fencing_token,
        )
        return Reply.no(asked) if isinstance(asked, Refusal) else _asked_reply(asked)

    return effect(request, command)


def _asked_reply(asked: Asked) -> Reply:
    run = _with_owner(asked.run)
    used = Action.by_interrupt(interrupt.pk for interrupt in asked.interrupts)
    shapes = [
        interrupt_shape(
            interrupt,
            run=run,
            is_created=interrupt.pk in asked.created,
            action=used.get(interrupt.pk),
        )
        for interrupt in asked.interrupts
    ]
    return Reply(
        201 if asked.created else 200,
        {"run": run_shapes([run])[0], "interrupts": list(shapes)},
    )


@router.post("/runs/{run_id}/cancel", response={200: RunOut, **PROBLEMS})
def cancel_run(
    request: HttpRequest, run_id: str, body: CancelRunBody | None = None
) -> HttpResponse:
    """Stop a run, its questions and its open children; what was asked takes no more answers."""
    agent = key_of(request).agent
    reason = body.reason if body else None

    def command() -> Reply:
        run = agent_run(agent, run_id)
        if run is None:
            raise not_found()
        require(request, Scope.ASK, Scope.EXECUTE)
        return _run_reply(run.cancel(by=agent, reason=reason))

    return effect(request, command)


@router.post("/runs/{run_id}/finish", response={200: RunOut, **PROBLEMS})
def finish_run(request: HttpRequest, run_id: str, body: FinishBody) -> HttpResponse:
    """End a run with its outcome."""
    agent = key_of(request).agent

    def command() -> Reply:
        run = agent_run(agent, run_id)
        if run is None:
            raise not_found()
        require(request, Scope.ASK, Scope.EXECUTE)
        return _run_reply(
            run.finish(RunOutcome(body.outcome), agent=agent, fencing_token=body.fencing_token)
        )

    return effect(request, command)


def _run_reply(outcome: Run | Refusal) -> Reply:
    if isinstance(outcome, Refusal):
        return Reply.no(outcome)
    return Reply(200, run_shapes([_with_owner(outcome)])[0])
