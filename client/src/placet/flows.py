"""What takes several steps, written once: as generators that say what to do next.

A flow yields steps (send this, pause so long, do this work) and is given their outcomes. One
driver carries the steps out in a thread, another on an event loop, so that retrying, waiting and
executing have one text and one set of tests.
"""

import math
import random
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from placet import requests
from placet.errors import PlacetError, Refused, UnexpectedAnswer, Unreachable
from placet.models import Asked, Event, Interrupt
from placet.protocol.limits import WAIT_MAX_S
from placet.protocol.states import InterruptState
from placet.question import Question
from placet.requests import Answer, Request
from placet.shapes import read_shape

T = TypeVar("T")

PATIENCE_S = 60.0
"""How long a call is tried before its caller hears that the server does not answer."""

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 10.0
TRY_AGAIN = frozenset({429, 500, 502, 503, 504})
EVENTS_LIMIT = 100


@dataclass(frozen=True, slots=True)
class Send:
    """Send a request once; gives its Answer, or Lost."""

    request: Request


@dataclass(frozen=True, slots=True)
class Lost:
    """No answer came: the request may have taken effect, or not."""

    error: Exception


@dataclass(frozen=True, slots=True)
class Pause:
    """Do nothing for so long."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Work:
    """Do the work of an executor; gives what it returns, or throws what it raises."""

    fn: Callable[..., Any]
    args: dict[str, Any]
    named: Mapping[str, Any]


Step: TypeAlias = Send | Pause | Work
Flow: TypeAlias = Generator[Step, Any, T]


def call(
    request: Request,
    *,
    patience_s: float = PATIENCE_S,
    clock: Callable[[], float] = time.monotonic,
) -> Flow[Answer]:
    """Send a request until it is answered: also through restarts, overload and lost connections.

    Every request is one that may be repeated. Raises Refused, Unreachable, UnexpectedAnswer.
    """
    until, pause_s = clock() + patience_s, FIRST_PAUSE_S
    while True:
        told: Answer | Lost = yield Send(request)
        if isinstance(told, Answer) and told.status not in TRY_AGAIN:
            told.value()
            return told
        wanted_s = told.retry_after_s if isinstance(told, Answer) else None
        if wanted_s is None:
            wanted_s = pause_s * random.uniform(0.5, 1.0)  # so that many do not come back at once
        if clock() + wanted_s > until:
            raise _gave_up(told)
        yield Pause(wanted_s)
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)


def _gave_up(told: Answer | Lost) -> PlacetError:
    if isinstance(told, Lost):
        error = Unreachable(f"The server does not answer: {told.error!r}.")
        error.__cause__ = told.error
        return error
    try:
        told.value()
    except Refused as refused:
        return refused
    except UnexpectedAnswer:
        pass
    return Unreachable(f"The server answers only with status {told.status}.")


def told(shape: type[T], request: Request) -> Flow[T]:
    """The shape that a request is answered with."""
    answer = yield from call(request)
    return read_shape(shape, answer.value())


def ask(request: Request, questions: tuple[Question, ...]) -> Flow[Asked]:
    """Ask, and make sure that the answer is about what was asked."""
    asked = yield from told(Asked, request)
    wanted = [(question.call_id, question.sha256) for question in questions]
    if wanted != [(each.call_id, each.requested_sha256) for each in asked.interrupts]:
        raise UnexpectedAnswer("The answer is about other questions than those that were asked.")
    return asked


def wait(
    asked: Interrupt, *, timeout_s: float | None, clock: Callable[[], float] = time.monotonic
) -> Flow[Interrupt]:
    """The question once it is no longer PENDING, or as it stands when the time is up.

    Where a person's edit became a question of its own, under another rule, that one is waited for:
    it is still the answer to what the agent asked.
    """
    until = math.inf if timeout_s is None else clock() + timeout_s
    while True:
        left_s = until - clock()
        wait_s = max(0, min(WAIT_MAX_S, math.floor(left_s) if left_s < WAIT_MAX_S else WAIT_MAX_S))
        began = clock()
        request = requests.get_interrupt(asked.id, wait_s=wait_s)
        answer = yield from call(request, patience_s=max(left_s, 0.0), clock=clock)
        asked = read_shape(Interrupt, answer.value())
        if asked.state is InterruptState.SUPERSEDED and asked.superseded_by is not None:
            following = yield from told(Interrupt, requests.get_interrupt(asked.superseded_by))
            if not _is_edit_of(following, asked):
                return asked
            asked = following
        if asked.state is not InterruptState.PENDING:
            return asked
        left_s = until - clock()
        if left_s <= 0:
            return asked
        if clock() - began < 1:  # a server that ends answers at once, and so does no wait at all
            yield Pause(min(1.0, left_s))


def _is_edit_of(following: Interrupt, asked: Interrupt) -> bool:
    """Whether a person's edit of this question made the one that took its place."""
    return (
        following.requested_sha256 == asked.requested_sha256
        and following.asked_sha256 != asked.asked_sha256
    )


def events_page(after: int, *, run: str | None, wait: bool) -> Flow[tuple[tuple[Event, ...], int]]:
    """The next events behind a number, and the number with which to go on.

    Waited for where `wait`; none where none came in time.
    """
    wait_s = WAIT_MAX_S if wait else 0
    request = requests.get_events(after=after, run=run, limit=EVENTS_LIMIT, wait_s=wait_s)
    answer = yield from call(request, patience_s=math.inf)
    value = answer.value()
    if not isinstance(value, dict) or not isinstance(value.get("items"), list):
        raise UnexpectedAnswer("The answer has no items.")
    events = tuple(_events(value, after))
    following = value.get("next")
    if type(following) is not int or following < (events[-1].n if events else after):
        raise UnexpectedAnswer("The answer does not say where to go on.")
    return events, following


def _events(value: dict[str, Any], after: int) -> Iterator[Event]:
    for item in value["items"]:
        if not isinstance(item, dict):
            raise UnexpectedAnswer("An event is not an object.")
        event = read_shape(Event, {**item, "data": item})
        if event.n <= after:
            raise UnexpectedAnswer("The events are not in the order of their numbers.")
        after = event.n
        yield event
