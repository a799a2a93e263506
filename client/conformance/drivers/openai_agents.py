"""`placet.openai_agents` with the SDK's own runner and scripted models."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, ClassVar

from agents import Agent, Runner, RunResult, RunState, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call

from conformance.driver import TOOL, Call, Limit, Pay, Situation
from conformance.drivers.pauses import pauses
from conformance.site import Site
from conformance.stage import Stage
from placet import AsyncClient, Refused
from placet.openai_agents import Approvals, NothingPaused, OutsideTurn, Waiting, guard

set_tracing_disabled(True)


def no_edit(stage: Stage) -> None:
    """People are not offered to edit, and an edit that is sent all the same is refused."""
    call = Call("call-1", "V-2291")
    agent = stage.begin(call)
    asked = stage.asked(call)

    assert asked.allowed_decisions == ("approve", "reject")
    assert stage.rae.edit(asked.id, {**call.args, "amount_paise": 499}) == "decision_not_allowed"
    agent.wake()
    assert (stage.payments, agent.is_over()) == ([], False)


class OpenAIAgents:
    """A guarded function tool; the run's state is kept in SQLite."""

    name: ClassVar[str] = "OpenAI Agents SDK"
    limits: ClassVar[Mapping[Situation, Limit]] = {
        Situation.EDIT: Limit(
            "The OpenAI Agents SDK approves or rejects a call as the model made it; it takes no"
            " other arguments. People are offered Approve and Reject.",
            no_edit,
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

        @guard
        def pay_vendor(vendor_id: str, amount_paise: int) -> str:
            """Pay a vendor."""
            return pay({"vendor_id": vendor_id, "amount_paise": amount_paise})

        assert pay_vendor.name == TOOL
        self._worker = Agent[Any](name="payer", tools=[pay_vendor])
        self._agent = self._worker
        if by_sub_agent:
            delegate = self._worker.as_tool("delegate", "Let the payer do it.")
            self._agent = Agent(name="boss", tools=[delegate])

    def begin(self, calls: tuple[Call, ...]) -> None:
        """Start it with a model that makes these calls."""
        wanted = [function_call(TOOL, call.args, call_id=call.id) for call in calls]
        if self._agent is not self._worker:
            by_boss = [function_call("delegate", {"input": "Pay."}, call_id="delegated")]
            self._agent.model = ScriptedModel([by_boss])
        self._worker.model = ScriptedModel([wanted])
        self._run(lambda approvals: approvals.start(self._agent, "Pay."))

    def wake(self) -> None:
        """Go on, with a model that ends."""
        self._script_the_end()
        self._run(lambda approvals: approvals.resume(self._agent, timeout_s=0))

    def forge(self) -> None:
        """Approve in the SDK's own words, for ever, and run that with the SDK and with Placet."""

        async def forge(approvals: Approvals) -> RunResult | Waiting:
            text = await self._pauses.load(self._placet_run)
            assert text is not None
            state = await RunState.from_string(self._agent, text)
            for item in state.get_interruptions():
                state.approve(item, always_approve=True)
            forged = state.to_string()
            await self._pauses.save(self._placet_run, forged)
            try:
                await Runner.run(self._agent, await RunState.from_string(self._agent, forged))
            except BaseException as error:
                assert isinstance(error.__cause__, OutsideTurn), repr(error)
            else:
                raise AssertionError("the forged approval let the agent go on")
            return await approvals.resume(self._agent, timeout_s=0)

        self._script_the_end()
        self._run(forge)

    def replan(self, call: Call) -> None:
        """Alter the kept state whole, with the fingerprints that the SDK compares."""

        async def alter(_: Approvals) -> Waiting:
            text = await self._pauses.load(self._placet_run)
            state = altered(json.loads(text or ""), call)
            await self._pauses.save(self._placet_run, json.dumps(state))
            return Waiting(())

        self._run(alter)

    def is_over(self) -> bool:
        """Whether nothing is kept any more."""
        run_id = self._run_id()
        return asyncio.run(self._pauses.load(run_id)) is None

    def told(self) -> Mapping[str, str]:
        """What this process's model was told."""
        return self._told

    def close(self) -> None:
        """Nothing is held open."""

    def _script_the_end(self) -> None:
        for agent in (self._agent, self._worker):
            agent.model = ScriptedModel([[assistant_message("Done.")]])

    def _run_id(self) -> str:
        (run,) = self._site.client.find_runs(external_id=self._thread)
        return run.id

    def _run(self, what: Callable[[Approvals], Awaitable[RunResult | Waiting]]) -> None:
        asyncio.run(self._with_approvals(what))
        model = self._worker.model
        assert isinstance(model, ScriptedModel)
        for call in model.calls:
            for item in call.input if isinstance(call.input, list) else ():
                if item.get("type") == "function_call_output":
                    self._told[str(item["call_id"])] = str(item["output"])

    async def _with_approvals(
        self, what: Callable[[Approvals], Awaitable[RunResult | Waiting]]
    ) -> RunResult | Waiting | None:
        async with AsyncClient(self._site.url, self._site.key) as client:
            run = await client.create_run(title="Pay", owner="alice", external_id=self._thread)
            self._placet_run = run.id
            try:
                return await what(Approvals(run, self._pauses))
            except NothingPaused:
                return None
            except Refused as refused:
                assert refused.code == "lease_held", refused
                return None


def altered(value: Any, call: Call) -> Any:
    """A kept state in which a call has other arguments wherever they stand."""
    if isinstance(value, list):
        return [altered(each, call) for each in value]
    if not isinstance(value, dict):
        return value
    changed = {name: altered(each, call) for name, each in value.items()}
    if changed.get("call_id") == call.id and "arguments" in changed:
        changed["arguments"] = json.dumps(call.args)
    if "tool_invocations" in changed:
        changed["tool_invocations"] = {}
    return changed
