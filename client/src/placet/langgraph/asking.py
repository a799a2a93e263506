"""Asking inside a node: the graph pauses, and what resumes it only wakes it."""

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from langgraph.types import interrupt

from placet.client import Run
from placet.langgraph import guarding
from placet.langgraph.guarding import Waiting, standing
from placet.models import Decision
from placet.question import Question


def ask(run: Run, tool: str, args: Mapping[str, Any], *, call_id: str, **more: Any) -> Decision:
    """What people decided about exactly this call; pauses the graph until they did.

    The node runs again from its start when it is woken. `more` are the other members of
    `Question`. Raises Unanswered where the question ended without an answer.
    """
    asked = standing(run, Question(tool=tool, args=args, call_id=call_id, **more))
    if asked.decision is None:
        pause(Waiting(run, asked))
    return asked.decision


def guarded_call(
    run: Run,
    tool: str,
    args: Mapping[str, Any],
    execute: Callable[[dict[str, Any]], Any],
    *,
    call_id: str,
    **more: Any,
) -> Any:
    """What `execute(args)` gives, once, with the approved arguments; pauses until it may run.

    Raises what `placet.langgraph.guarding.guarded_call` raises, but Waiting.
    """
    question = Question(tool=tool, args=args, call_id=call_id, **more)
    try:
        return guarding.guarded_call(run, question, execute)
    except Waiting as waiting:
        pause(waiting)


def pause(waiting: Waiting, more: Mapping[str, Any] | None = None) -> NoReturn:
    """Pause the graph. What it is resumed with is thrown away: the server was read after it.

    A node that was woken before is given its earlier values again, one by one.
    """
    told = {
        "type": "placet",
        "run_id": waiting.run.id,
        "interrupt_id": waiting.interrupt.id if waiting.interrupt else None,
        "url": waiting.interrupt.url if waiting.interrupt else waiting.run.url,
    }
    while True:
        interrupt({**(more or {}), "placet": told})
