"""Which question each waiting call of an agent is bound to, found by call_id and digest.

Guards "bound answers": never by position, and what a framework or a store says about answers is
not looked at. A call that no question covers is asked.
"""

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from placet.async_client import AsyncRun
from placet.models import Interrupt, RunView
from placet.protocol.states import DecisionKind
from placet.question import Question

Bound = Mapping[str, Interrupt]
"""The question of each call, by the call's id."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """An agent that waits for people; nothing of what it asked has run.

    Go on with it, in this process or another, when one of these questions was answered.
    """

    interrupts: tuple[Interrupt, ...]

    @property
    def urls(self) -> tuple[str, ...]:
        """The pages to answer on."""
        return tuple(each.url for each in self.interrupts)


async def bind(
    run: AsyncRun,
    questions: Sequence[Question],
    *,
    timeout_s: float | None,
) -> Bound:
    """The question of each call as it stands; waits until none is open or the time is up.

    All that were not asked before are asked in one step. None as time is as long as people think.
    """
    until = math.inf if timeout_s is None else time.monotonic() + timeout_s
    while True:
        view = await run.refresh(is_all=True)
        found = {question.call_id: find(view, question) for question in questions}
        missing = [question for question in questions if found[question.call_id] is None]
        asked = {each.call_id: each for each in await run.ask_all(missing)} if missing else {}
        bound = {**{call_id: each for call_id, each in found.items() if each}, **asked}
        left_s = until - time.monotonic()
        waiting = still_open(bound.values())
        if not waiting or left_s <= 0:
            return bound
        await run.wait(waiting[0], timeout_s=None if left_s == math.inf else left_s)


def find(view: RunView, question: Question) -> Interrupt | None:
    """The newest question that was asked with this content, or what took its place."""
    by_id = {each.id: each for each in view.interrupts}
    same = [
        each
        for each in view.interrupts
        if (each.call_id, each.requested_sha256) == (question.call_id, question.sha256)
    ]
    if not same:
        return None
    newest = max(same, key=lambda each: each.attempt)
    while newest.superseded_by is not None and newest.superseded_by in by_id:
        newest = by_id[newest.superseded_by]
    return newest


def still_open(interrupts: Iterable[Interrupt]) -> tuple[Interrupt, ...]:
    """Those that wait for people."""
    return tuple(each for each in interrupts if each.state.is_open)


def is_covered(question: Question, asked: Interrupt) -> bool:
    """Whether a question, with its answer, is about exactly this content."""
    decision = asked.decision
    if decision is not None and decision.approved_sha256 is not None:
        return decision.approved_sha256 == question.sha256
    return asked.asked_sha256 == question.sha256


def why_not(asked: Interrupt) -> str:
    """What a model is told of a call that was not approved."""
    decision = asked.decision
    if decision is not None and decision.kind is DecisionKind.REJECT:
        return f"{decision.decided_by.name} rejected this call: {decision.reason}"
    return f"Nobody answered: the question is {asked.state}. It was not done."
