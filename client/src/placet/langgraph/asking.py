"""Asking inside a node: the graph pauses, and what resumes it only wakes it."""

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from langgraph.types import interrupt

from placet.langgraph import guarding
from placet.langgraph.guarding import Waiting, standing
from placet.langgraph.runs import RunSource, run_of
from placet.models import Decision
from placet.question import Question


def ask(
    run: RunSource, tool: str, args: Mapping[str, Any], *, call_id: str, **more: Any
) -> Decision:
    """What people decided about exactly this call; pauses the graph until they did.

    The node runs again from its start when it is woken. `more` are the other members of
    `Question`. Raises Unanswered where the question ended without an answer.
    """
    try:
        asked = standing(run_of(run), Question(tool=tool, args=args, call_id=call_id, **more))
        if asked.decision is not None:
            return asked.decision
        raise Waiting(run_of(run), asked)
    except Waiting as waiting:
        pause(waiting)


def guarded_call(
    run: RunSource,
    tool: str,
    args: Mapping[str, Any],
    execute: Callable[[dict[str, Any]], Any],
    *,
    call_id: str,
    **more: Any,
) -> Any:
    """What `execute(args)` gives, once, with the approved arguments; pauses until it may run.

    A call that ran before gives the result that it had, and where people answered instead of the
    tool, their response is the result. Raises Rejected, Unanswered, Failed and NotExecuted as the
    call did, Refused, and whatever `execute` raises, which leaves the outcome unknown.
    """
    question = Question(tool=tool, args=args, call_id=call_id, **more)
    try:
        return guarding.guarded_call(run_of(run), question, execute)
    except Waiting as waiting:
        pause(waiting)


def pause(waiting: Waiting, told: Mapping[str, Any] | None = None) -> NoReturn:
    """Pause the graph. What it is resumed with is thrown away: the server was read after it.

    A node that was woken before is given its earlier values again, one by one.
    """
    asked = waiting.interrupt
    ours = {
        "run_id": waiting.run.id,
        "interrupt_id": asked.id if asked else None,
        "url": asked.url if asked else waiting.run.url,
    }
    while True:
        interrupt({**(told or {}), "placet": ours})
