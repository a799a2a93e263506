"""`placet.pydantic_ai` with the framework's own agent and function models."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, ClassVar

from pydantic_ai import Agent, AgentRunResult, DeferredToolRequests
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.toolsets import FunctionToolset

from conformance.driver import TOOL, Call, Limit, Pay, Situation
from conformance.drivers.pauses import pauses
from conformance.site import Site
from conformance.stage import Stage
from placet import AsyncClient, Refused
from placet.pydantic_ai import Approvals, Guarded, NothingPaused, OutsideTurn, Waiting
from placet.pydantic_ai.approvals import _PAUSED

Outcome = AgentRunResult[Any] | Waiting


def no_sub_agent(stage: Stage) -> None:
    """What a sub-agent inside a tool wants to do is given back to that tool, and not done."""
    agent = stage.open()

    agent.begin((Call("call-1", "V-2291"),))

    assert (stage.payments, agent.is_over(), stage.waiting()) == ([], True, [])


class PydanticAI:
    """A guarded toolset; what was said is kept in SQLite."""

    name: ClassVar[str] = "Pydantic AI"
    limits: ClassVar[Mapping[Situation, Limit]] = {
        Situation.SUB_AGENT: Limit(
            "Pydantic AI ends the run of a sub-agent inside a tool with its deferred calls, and"
            " does not give them to the agent outside. Nothing runs. Give the sub-agent a run of"
            " its own (`parent=`) and go on with it by its own `Approvals`.",
            no_sub_agent,
        )
    }

    def open(self, site: Site, thread: str, pay: Pay, *, by_sub_agent: bool) -> "Held":
        """Make the agent anew."""
        return Held(site, thread, pay, by_sub_agent=by_sub_agent)


class Held:
    """The agent of one thread."""

    def __init__(self, site: Site, thread: str, pay: Pay, *, by_sub_agent: bool) -> None:
        self._site = site
        self._thread = thread
        self._pauses = pauses(thread)
        self._told: dict[str, str] = {}
        self._wanted: tuple[Call, ...] = ()
        tools = FunctionToolset[None]()

        @tools.tool_plain
        def pay_vendor(vendor_id: str, amount_paise: int) -> str:
            """Pay a vendor."""
            return pay({"vendor_id": vendor_id, "amount_paise": amount_paise})

        assert list(tools.tools) == [TOOL]
        worker: Agent[None, str | DeferredToolRequests] = Agent(
            FunctionModel(self._answer),
            toolsets=[Guarded(tools)],
            output_type=[str, DeferredToolRequests],
        )
        self._agent = worker
        if by_sub_agent:
            self._agent = Agent(FunctionModel(delegating), output_type=[str, DeferredToolRequests])

            @self._agent.tool_plain
            async def delegate() -> str:
                """Let the payer do it."""
                return str((await worker.run("Pay.")).output)

    def begin(self, calls: tuple[Call, ...]) -> None:
        """Start it with a model that makes these calls."""
        self._wanted = calls
        self._run(lambda approvals: approvals.start(self._agent, "Pay."))

    def wake(self) -> None:
        """Go on."""
        self._run(lambda approvals: approvals.resume(self._agent, timeout_s=0))

    def forge(self) -> None:
        """Approve all in the framework's own words, and run that past Placet."""

        async def forge(approvals: Approvals) -> Outcome:
            paused = _PAUSED.validate_json(await self._pauses.load(self._placet_run) or "")
            results = paused.requests.build_results(approve_all=True)
            try:
                await self._agent.run(
                    message_history=paused.messages, deferred_tool_results=results
                )
            except OutsideTurn:
                return await approvals.resume(self._agent, timeout_s=0)
            raise AssertionError("the forged approval let the agent go on")

        self._run(forge)

    def replan(self, call: Call) -> None:
        """Alter what is kept, the question with it."""

        async def alter(_: Approvals) -> Outcome:
            text = await self._pauses.load(self._placet_run)
            state = altered(json.loads(text or ""), call)
            await self._pauses.save(self._placet_run, json.dumps(state))
            return Waiting(())

        self._run(alter)

    def is_over(self) -> bool:
        """Whether nothing is kept any more."""
        (run,) = self._site.client.find_runs(external_id=self._thread)
        return asyncio.run(self._pauses.load(run.id)) is None

    def told(self) -> Mapping[str, str]:
        """What this process's model was told."""
        return self._told

    def close(self) -> None:
        """Nothing is held open."""

    def _answer(self, messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        """The model: makes its calls, and ends when it was told of them."""
        parts = [part for message in messages for part in message.parts]
        returns = [part for part in parts if isinstance(part, ToolReturnPart)]
        self._told |= {part.tool_call_id: str(part.content) for part in returns}
        if returns:
            return ModelResponse(parts=[TextPart("Done.")])
        calls = [ToolCallPart(TOOL, call.args, tool_call_id=call.id) for call in self._wanted]
        return ModelResponse(parts=calls)

    def _run(self, what: Callable[[Approvals], Awaitable[Outcome]]) -> None:
        asyncio.run(self._with_approvals(what))

    async def _with_approvals(self, what: Callable[[Approvals], Awaitable[Outcome]]) -> None:
        async with AsyncClient(self._site.url, self._site.key) as client:
            run = await client.create_run(title="Pay", owner="alice", external_id=self._thread)
            self._placet_run = run.id
            try:
                await what(Approvals(run, self._pauses))
            except NothingPaused:
                pass
            except Refused as refused:
                assert refused.code == "lease_held", refused


def delegating(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    """A model that lets another agent do the work, once."""
    if len(messages) > 1:
        return ModelResponse(parts=[TextPart("Done.")])
    return ModelResponse(parts=[ToolCallPart("delegate", {}, tool_call_id="delegated")])


def altered(value: Any, call: Call) -> Any:
    """What was kept, with other arguments for a call wherever they stand."""
    if isinstance(value, list):
        return [altered(each, call) for each in value]
    if not isinstance(value, dict):
        return value
    changed = {name: altered(each, call) for name, each in value.items()}
    if call.id in (changed.get("tool_call_id"), changed.get("call_id")) and "args" in changed:
        changed["args"] = call.args
    return changed
