"""A middleware for `create_agent` and deepagents: named tools ask people before they run."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import AgentState, ToolCallRequest
from langchain_core.messages import AIMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.runtime import Runtime
from langgraph.types import Command

from placet.errors import Refused
from placet.langgraph.asking import pause
from placet.langgraph.guarding import Waiting, standing_all
from placet.langgraph.runs import RunSource, run_of
from placet.langgraph.tools import FORBIDDEN, Guard, fault, guard, is_guarded, told_of
from placet.models import Interrupt
from placet.question import Question

Mode = Literal["batched", "per_call"]
Output = ToolMessage | Command[Any]


class PlacetMiddleware(AgentMiddleware[Any, Any, Any]):
    """Asks people about every call of these tools, all of a model's turn in one step.

    `batched` pauses once for the turn, before any of its tools; `per_call` pauses each call as it
    starts, beside tools that need no approval. In both, each call is compared with what was
    approved inside the tool itself, after every hook, and runs once. `options` gives members of
    `Question` by tool; `more` gives them for all.
    """

    def __init__(
        self,
        run: RunSource,
        tools: Sequence[BaseTool],
        *,
        mode: Mode = "batched",
        options: Mapping[str, Mapping[str, Any]] | None = None,
        **more: Any,
    ) -> None:
        super().__init__()
        self._run = run
        self._mode = mode
        self._known = {tool.name: tool for tool in tools}
        given = options or {}
        self._more = {name: {**more, **given.get(name, {})} for name in self._known}
        self._guards = {name: Guard(run, self._more[name]) for name in self._known}
        self._guarded: dict[str, tuple[BaseTool, BaseTool]] = {}

    def after_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Ask about the calls of this turn."""
        questions = [self._question(call) for call in self._open_calls(state)]
        if not questions:
            return None
        run = run_of(self._run)
        try:
            asked = standing_all(run, questions)
        except Waiting as waiting:
            pause(waiting, batch(questions, []))
        except Refused as refused:
            if refused.code not in FORBIDDEN:
                raise
            return None  # each call asks by itself, and the model is told which is forbidden
        pending = [each for each in asked if each.decision is None and each.state.is_open]
        if pending and self._mode == "batched":
            pause(Waiting(run, pending[0]), batch(questions, asked))
        return None

    async def aafter_model(
        self, state: AgentState[Any], runtime: Runtime[Any]
    ) -> dict[str, Any] | None:
        """The same on an event loop."""
        return await asyncio.to_thread(self.after_model, state, runtime)

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Output]
    ) -> Output:
        """Let the tool itself ask, so that no hook between here and it goes unseen."""
        return handler(self._watched(request))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Output]]
    ) -> Output:
        """The same on an event loop."""
        return await handler(self._watched(request))

    def _open_calls(self, state: AgentState[Any]) -> Iterator[ToolCall]:
        """The guarded calls of the model's last turn that can run and have no answer yet."""
        messages = state["messages"]
        said = next((each for each in reversed(messages) if isinstance(each, AIMessage)), None)
        answered = {each.tool_call_id for each in messages if isinstance(each, ToolMessage)}
        for call in said.tool_calls if said is not None else ():
            tool = self._known.get(call["name"])
            if tool is None or call["id"] in answered or fault(tool, call["args"]):
                continue
            yield call

    def _question(self, call: ToolCall) -> Question:
        name = call["name"]
        if not call["id"]:
            raise ValueError(f"The call of {name} has no id, so no answer can be bound to it.")
        return self._guards[name].question(self._known[name], call["args"], call["id"])

    def _watched(self, request: ToolCallRequest) -> ToolCallRequest:
        name, tool = request.tool_call["name"], request.tool
        if tool is None or name not in self._known or is_guarded(tool):
            return request
        known = self._guarded.get(name)
        if known is None or known[0] is not tool:
            known = self._guarded[name] = (tool, guard(tool, self._run, **self._more[name]))
        return request.override(tool=known[1])


def batch(questions: Sequence[Question], asked: Sequence[Interrupt]) -> dict[str, Any]:
    """A pause as HumanInTheLoopMiddleware tells a whole turn, for what shows interrupts."""
    members = ("name", "args", "description")
    told = [told_of(question) for question in questions]
    return {
        "action_requests": [{name: each[name] for name in members} for each in told],
        "review_configs": [
            {
                "action_name": each.tool,
                "allowed_decisions": [str(kind) for kind in each.allowed_decisions],
            }
            for each in asked
        ],
        "urls": [each.url for each in asked],
    }
