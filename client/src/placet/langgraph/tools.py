"""A tool that asks people before it runs, at the last point before its own code."""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import new_class
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.types import Command
from pydantic import BaseModel, ValidationError

from placet.errors import Failed, NotExecuted, Refused
from placet.langgraph import guarding
from placet.langgraph.asking import pause
from placet.langgraph.guarding import Rejected, Unanswered, Waiting
from placet.langgraph.runs import RunSource, run_of
from placet.protocol.refusals import RefusalCode
from placet.question import Question
from placet.turns import not_done

CARRIED = ("approve", "edit", "reject", "respond")
"""The decisions that a LangChain tool can carry; a response stands in for its result."""

NORMALLY = ("approve", "edit", "reject")
FORBIDDEN = frozenset({RefusalCode.TOOL_NOT_ALLOWED, RefusalCode.NOT_PERMITTED})


class _ToolError(Exception):
    """The tool told the model of an error; whether anything was done nobody knows."""


@dataclass(frozen=True, slots=True)
class Guard:
    """How questions about a tool's calls are put; `more` are members of `Question`."""

    run: RunSource
    more: Mapping[str, Any]

    def __post_init__(self) -> None:
        unknown = set(self.more.get("allowed_decisions", ())) - set(CARRIED)
        if unknown:
            raise ValueError(f"a tool cannot carry these decisions: {', '.join(sorted(unknown))}")

    def question(self, tool: BaseTool, args: Mapping[str, Any], call_id: str) -> Question:
        """The question about a call."""
        allowed = tuple(self.more.get("allowed_decisions", NORMALLY))
        given = {"args_schema": schema_of(tool)} if "edit" in allowed else {}
        members = {**given, **self.more, "allowed_decisions": allowed}
        return Question(tool=tool.name, args=args, call_id=call_id, **members)

    def call(
        self,
        tool: BaseTool,
        given: dict[str, Any] | str,
        call_id: str | None,
        execute: Callable[[dict[str, Any]], Any],
    ) -> Any:
        """What the tool gives, once approved; pauses the graph until then."""
        if not isinstance(given, dict) or not call_id:
            raise ValueError("A guarded tool is invoked with a tool call that has an id.")
        args = tool._filter_injected_args(given)
        if (error := fault(tool, args)) is not None:
            raise error  # what cannot run is not asked
        question = self.question(tool, args, call_id)
        work = _Work(tool, given, args, call_id, execute)
        try:
            result = guarding.guarded_call(run_of(self.run), question, work)
        except Waiting as waiting:
            pause(waiting, told_of(question))
        except _ToolError:
            return work.output
        except (Rejected, Unanswered) as why:
            return message(tool, call_id, str(why), status="error")
        except (Failed, NotExecuted) as why:
            return message(tool, call_id, not_done(why), status="error")
        except Refused as refused:
            if work.is_begun or refused.code not in FORBIDDEN:
                raise
            return message(tool, call_id, str(refused), status="error")
        return work.output if work.is_begun else message(tool, call_id, result)


@dataclass
class _Work:
    """The tool's own code, and what it gave; injected arguments are added to the approved ones."""

    tool: BaseTool
    given: dict[str, Any]
    asked: dict[str, Any]
    call_id: str
    execute: Callable[[dict[str, Any]], Any]
    is_begun: bool = False
    output: Any = None

    def __call__(self, args: dict[str, Any]) -> Any:
        injected = {name: each for name, each in self.given.items() if name not in self.asked}
        if (error := fault(self.tool, args)) is not None:
            raise NotExecuted("The tool does not take the arguments as edited.") from error
        self.is_begun = True
        self.output = self.execute({**injected, **args})
        if isinstance(self.output, ToolMessage):
            if self.output.status == "error":
                raise _ToolError
            if args != self.asked and isinstance(self.output.content, str):
                note = f"People changed the arguments of this call to {json.dumps(args)}."
                text = f"{note} Do not repeat it.\n\n{self.output.content}"
                self.output = self.output.model_copy(update={"content": text})
        return reported(self.output)


def guard(tool: BaseTool, run: RunSource, **more: Any) -> BaseTool:
    """The same tool, which asks people before its own code runs; nothing else of it changes.

    It takes the arguments as they are when it is called, whatever changed them before. `more` are
    members of `Question`; without `allowed_decisions` people may approve, edit and reject. The tool
    says `placet.Failed` or `placet.NotExecuted` where it is sure that nothing was done; any other
    exception leaves the outcome unknown.
    """
    held, kind = Guard(run, more), type(tool)

    def run_(
        self: BaseTool, tool_input: Any, *rest: Any, tool_call_id: str | None = None, **named: Any
    ) -> Any:
        def execute(given: dict[str, Any]) -> Any:
            return kind.run(self, given, *rest, tool_call_id=tool_call_id, **named)

        return held.call(self, tool_input, tool_call_id, execute)

    async def arun(
        self: BaseTool, tool_input: Any, *rest: Any, tool_call_id: str | None = None, **named: Any
    ) -> Any:
        loop = asyncio.get_running_loop()

        def execute(given: dict[str, Any]) -> Any:
            work = kind.arun(self, given, *rest, tool_call_id=tool_call_id, **named)
            return asyncio.run_coroutine_threadsafe(work, loop).result()

        return await asyncio.to_thread(held.call, self, tool_input, tool_call_id, execute)

    members = {"run": run_, "arun": arun, "__module__": __name__, "__doc__": kind.__doc__}
    guarded = tool.model_copy()
    object.__setattr__(
        guarded,
        "__class__",
        new_class(
            f"Guarded{kind.__name__}", (kind,), exec_body=lambda names: names.update(members)
        ),
    )
    return guarded


def fault(tool: BaseTool, args: Mapping[str, Any]) -> ValidationError | None:
    """Why the tool does not take these arguments of the model, if it does not."""
    schema = tool.tool_call_schema
    if isinstance(schema, dict) or not issubclass(schema, BaseModel):
        return None
    try:
        schema.model_validate(args)
    except ValidationError as error:
        return error
    return None


def is_guarded(tool: BaseTool) -> bool:
    """Whether `guard` made it."""
    return type(tool).__module__ == __name__


def schema_of(tool: BaseTool) -> dict[str, Any]:
    """The JSON Schema of what the model gives to the tool; an edit adds no members to it."""
    schema = tool.tool_call_schema
    if isinstance(schema, dict):
        return {"additionalProperties": False, **schema}
    assert issubclass(schema, BaseModel)
    return {"additionalProperties": False, **schema.model_json_schema()}


def told_of(question: Question) -> dict[str, Any]:
    """A pause as HumanInTheLoopMiddleware tells one call, for what shows interrupts."""
    return {
        "type": "tool_approval",
        "tool_call_id": question.call_id,
        "name": question.tool,
        "args": dict(question.args),
        "description": question.description or "Answer in Placet.",
    }


def message(tool: BaseTool, call_id: str, result: Any, *, status: str = "success") -> ToolMessage:
    """What the model is told instead of the tool's own words."""
    text = result if isinstance(result, str) else json.dumps(result)
    return ToolMessage(text, name=tool.name, tool_call_id=call_id, status=status)


def reported(output: Any) -> Any:
    """The result as it is recorded: what the model is told, where that is JSON."""
    if isinstance(output, Command):
        update = output.update if isinstance(output.update, dict) else {}
        messages = [each for each in update.get("messages", ()) if isinstance(each, ToolMessage)]
        output = messages[-1] if messages else None
    return output.content if isinstance(output, ToolMessage) else output
