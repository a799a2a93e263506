"""A tool that needs people's approval, and compares once more before it runs."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any, overload

from agents import FunctionTool, function_tool
from agents.tool_context import ToolContext
from pydantic_core import to_jsonable_python

from placet.errors import Failed, NotExecuted
from placet.protocol.reading import read_json
from placet.question import Question
from placet.turns import Turn, not_done

ALLOWED = ("approve", "reject")
"""What the SDK can carry: it knows no other arguments than the model's."""

Target = Mapping[str, Any] | Callable[[Mapping[str, Any]], Mapping[str, Any]]

_BEGUN: ContextVar[list[bool]] = ContextVar("placet_begun")


@dataclass(frozen=True, slots=True)
class Guarded:
    """How a guarded tool is called, and what its questions say beside the call."""

    inner: FunctionTool
    target: Target | None
    description: str | None
    expires_in_s: int | None
    sensitive: Sequence[str] | None

    def question(self, call_id: str, arguments: str) -> Question:
        """The question about a call; raises InvalidJSON where its arguments have no one reading."""
        args = read_json((arguments or "{}").encode())
        if not isinstance(args, dict):
            raise ValueError("The arguments are no JSON object.")
        return Question(
            tool=self.inner.name,
            args=args,
            call_id=call_id,
            target=self.target(args) if callable(self.target) else self.target,
            description=self.description,
            allowed_decisions=ALLOWED,
            expires_in_s=self.expires_in_s,
            sensitive=self.sensitive,
        )

    async def __call__(self, context: ToolContext[Any], arguments: str) -> Any:
        """Do exactly what was approved, once; `arguments` are those about to run."""
        question = self.question(context.tool_call_id, arguments)
        given: list[Any] = []

        async def work(args: dict[str, Any]) -> Any:
            begun = [False]
            before = _BEGUN.set(begun)
            try:
                given.append(await self.inner.on_invoke_tool(context, json.dumps(args)))
            except Exception as error:
                if not begun[0]:  # the arguments do not fit the tool
                    raise NotExecuted(str(error)) from error
                raise
            finally:
                _BEGUN.reset(before)
            return to_jsonable_python(given[0], fallback=str)

        try:
            result = await Turn.current().carry_out(question, work)
        except (NotExecuted, Failed) as error:
            return not_done(error)
        return given[0] if given else result


@overload
def guard(tool: Callable[..., Any]) -> FunctionTool: ...


@overload
def guard(
    *,
    target: Target | None = None,
    description: str | None = None,
    expires_in_s: int | None = None,
    sensitive: Sequence[str] | None = None,
    **options: Any,
) -> Callable[[Callable[..., Any]], FunctionTool]: ...


def guard(
    tool: Callable[..., Any] | None = None,
    *,
    target: Target | None = None,
    description: str | None = None,
    expires_in_s: int | None = None,
    sensitive: Sequence[str] | None = None,
    **options: Any,
) -> FunctionTool | Callable[[Callable[..., Any]], FunctionTool]:
    """Make a function a tool whose every call people approve first, in place of `function_tool`.

    `target` says what the call acts on, also as a function of its arguments; `description`,
    `expires_in_s` and `sensitive` are those of `Question`; `options` are those of `function_tool`.
    A function that raises leaves the outcome unknown, and ends the agent's run with that error.
    To say that nothing was done it raises `placet.NotExecuted` or `placet.Failed`.
    """

    def made(fn: Callable[..., Any]) -> FunctionTool:
        plain = function_tool(
            watched(fn), needs_approval=True, failure_error_function=None, **options
        )
        guarded = Guarded(plain, target, description, expires_in_s, sensitive)
        return replace(plain, on_invoke_tool=guarded)

    return made if tool is None else made(tool)


def guard_of(tools: Sequence[Any], name: str | None) -> Guarded | None:
    """How the tool of this name is guarded, or None."""
    for tool in tools:
        if isinstance(tool, FunctionTool) and tool.name == name:
            how = tool.on_invoke_tool
            return how if isinstance(how, Guarded) else None
    return None


def watched(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which notes that it began: before that nothing can have been done."""
    if iscoroutinefunction(fn):

        @wraps(fn)
        async def later(*args: Any, **named: Any) -> Any:
            _BEGUN.get()[0] = True
            return await fn(*args, **named)

        return later

    @wraps(fn)
    def now(*args: Any, **named: Any) -> Any:
        _BEGUN.get()[0] = True
        return fn(*args, **named)

    return now
