"""Reads interrupts and runs for agents, many at once: for the API's views and for the hub.

One code answers both, so a long poll says the same as a plain GET and re-checks the key and the
right to see every time.
"""

from collections.abc import Sequence
from datetime import datetime

from django.db.models import Q

from approvals.api.shapes import Shape, interrupt_shape, run_shapes, with_parts
from approvals.models import Interrupt
from approvals.models.interrupt import OPEN_STATES
from identity.keys import key_digest
from identity.models import Agent, AgentKey
from placet.protocol.canonical import canonical
from placet.protocol.refusals import RefusalCode
from placet.protocol.states import InterruptState
from runs.api.problem import MEDIA_TYPE, problem_headers, problem_text
from runs.clock import database_now
from runs.ids import is_id
from runs.models import Run
from runs.rules.refusal import Refusal
from runs.waiting.reader import Answer, Wait

JSON_HEADERS = ((b"content-type", b"application/json"), (b"cache-control", b"no-store"))


def held_keys(tokens: set[str]) -> dict[str, AgentKey]:
    """The rows of these keys of active agents, each with its agent, by key."""
    by_digest = {key_digest(token): token for token in tokens}
    keys = AgentKey.objects.select_related("agent").filter(
        digest__in=list(by_digest), agent__is_active=True
    )
    return {by_digest[key.digest]: key for key in keys}


def holders(tokens: set[str]) -> dict[str, Agent]:
    """The active agents whose keys these are, by key."""
    return {token: key.agent for token, key in held_keys(tokens).items()}


def settle_overdue(run_ids: set[str]) -> None:
    """End what is past its deadline in these runs, as the sweeper would a moment later.

    A run that somebody holds is left as it is: one thread reads for all who wait.
    """
    for run in Run.objects.filter(pk__in=run_ids):
        run.settle()


def agent_interrupts(agents: set[int], ids: set[str]) -> dict[str, Interrupt]:
    """The interrupts of these ids in runs of these agents, settled, by id."""
    rows = with_parts(Interrupt.objects.filter(pk__in=filter(is_id, ids), run__agent__in=agents))
    found = {row.pk: row for row in rows}
    open_rows = [row for row in found.values() if InterruptState(row.state).is_open]
    if open_rows and (late := _late(open_rows, database_now())):
        settle_overdue(late)
        found |= {row.pk: row for row in rows.all()}
    return found


def agent_runs(agents: set[int], ids: set[str]) -> dict[str, Run]:
    """The runs of these ids of these agents, settled, with their owners, by id."""
    rows = Run.objects.select_related("owner").filter(pk__in=filter(is_id, ids), agent__in=agents)
    found = {row.pk: row for row in rows}
    now = database_now()
    due = Interrupt.objects.filter(run_id__in=found, state__in=OPEN_STATES, expires_at__lte=now)
    lost = {row.pk for row in found.values() if is_over(row.lease_expires_at, now)}
    if late := lost | set(due.values_list("run_id", flat=True)):
        settle_overdue(late)
        found |= {row.pk: row for row in rows.all()}
    return found


def is_over(lease_expires_at: datetime | None, now: datetime) -> bool:
    """Whether a lease is past its end; at its end it is."""
    return lease_expires_at is not None and lease_expires_at <= now


def _late(rows: Sequence[Interrupt], now: datetime) -> set[str]:
    return {row.run_id for row in rows if row.expires_at <= now}


def refused(refusal: Refusal) -> Answer:
    """A refusal as the hub sends it."""
    headers = {"Content-Type": MEDIA_TYPE, **problem_headers(refusal)}
    return Answer(
        status=refusal.code.status,
        body=problem_text(refusal).encode(),
        headers=tuple((name.lower().encode(), text.encode()) for name, text in headers.items()),
        is_final=True,
    )


def told(shape: Shape, *, is_final: bool) -> Answer:
    """A value as the hub sends it."""
    return Answer(
        status=200, body=canonical(shape).encode(), headers=JSON_HEADERS, is_final=is_final
    )


UNKNOWN_KEY = Refusal(code=RefusalCode.UNAUTHENTICATED)
NOT_FOUND = Refusal(code=RefusalCode.NOT_FOUND)


class InterruptReader:
    """Answers who waits for an interrupt: ready once it is no longer PENDING."""

    def answer(self, waits: Sequence[Wait]) -> Sequence[Answer]:
        """Each one's interrupt, or why it is not told."""
        agents = holders({wait.token for wait in waits})
        rows = agent_interrupts(
            {agent.pk for agent in agents.values()}, {wait.object_id for wait in waits}
        )
        return [self._answer(agents.get(wait.token), rows.get(wait.object_id)) for wait in waits]

    def _answer(self, agent: Agent | None, row: Interrupt | None) -> Answer:
        if agent is None:
            return refused(UNKNOWN_KEY)
        if row is None or row.run.agent_id != agent.pk:
            return refused(NOT_FOUND)
        is_final = row.state != InterruptState.PENDING
        return told(interrupt_shape(row), is_final=is_final)

    def ripe(self, waits: Sequence[Wait]) -> Sequence[bool]:
        """Which are no longer PENDING, or past their deadline."""
        ids = [wait.object_id for wait in waits]
        still = set(
            Interrupt.objects.filter(
                pk__in=ids, state=InterruptState.PENDING, expires_at__gt=database_now()
            ).values_list("pk", flat=True)
        )
        return [wait.object_id not in still for wait in waits]


class RunReader:
    """Answers who waits for a run: ready once its `seq` passes `after_seq`."""

    def answer(self, waits: Sequence[Wait]) -> Sequence[Answer]:
        """Each one's run, or why it is not told."""
        agents = holders({wait.token for wait in waits})
        rows = agent_runs(
            {agent.pk for agent in agents.values()}, {wait.object_id for wait in waits}
        )
        shapes = {
            is_all: dict(zip(rows, run_shapes(list(rows.values()), is_all=is_all), strict=True))
            for is_all in {_wants_all(wait) for wait in waits}
        }
        answers = []
        for wait in waits:
            agent, row = agents.get(wait.token), rows.get(wait.object_id)
            if agent is None:
                answers.append(refused(UNKNOWN_KEY))
            elif row is None or row.agent_id != agent.pk:
                answers.append(refused(NOT_FOUND))
            else:
                is_final = wait.after_seq is None or row.seq > wait.after_seq
                shape = shapes[_wants_all(wait)][row.pk]
                answers.append(told(shape, is_final=is_final))
        return answers

    def ripe(self, waits: Sequence[Wait]) -> Sequence[bool]:
        """Which have passed their `after_seq`, or have something past its deadline."""
        ids = {wait.object_id for wait in waits}
        now = database_now()
        rows = Run.objects.filter(pk__in=ids).values_list("pk", "seq", "lease_expires_at")
        seqs = {pk: seq for pk, seq, _ in rows}
        late = {pk for pk, _, until in rows if is_over(until, now)}
        late |= set(
            Interrupt.objects.filter(
                Q(run_id__in=ids), state__in=OPEN_STATES, expires_at__lte=now
            ).values_list("run_id", flat=True)
        )
        return [
            wait.after_seq is None
            or seqs.get(wait.object_id, -1) > wait.after_seq
            or wait.object_id in late
            for wait in waits
        ]


def _wants_all(wait: Wait) -> bool:
    return ("all", "1") in wait.query
