"""`placet.pydantic_ai` beyond the situations: the framework by itself, and the last moment."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, AgentRunResult, DeferredToolRequests, RunContext
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.toolsets import AbstractToolset, FunctionToolset, ToolsetTool, WrapperToolset

from conformance.drivers.pauses import pauses
from conformance.site import Site
from placet import AsyncClient, AsyncRun, Failed, Interrupt, NotExecuted, Refused
from placet.pydantic_ai import Approvals, Guarded, NotGuarded, Waiting, permission


class Vendor(BaseModel):
    """Whom to pay."""

    id: str
    country: str = "IN"


@dataclass
class Shop:
    """A thread of its own: its run, its approvals, and what was paid."""

    site: Site
    run: AsyncRun
    thread: str
    paid: list[tuple[str, str, int]] = field(default_factory=list)
    effect: Callable[[], Any] = lambda: "Paid."
    fails_at_the_end: bool = False

    @property
    def approvals(self) -> Approvals:
        return Approvals(self.run, pauses(self.thread))

    @property
    def tools(self) -> FunctionToolset[None]:
        tools = FunctionToolset[None]()

        @tools.tool_plain
        def pay(vendor: Vendor, cents: int = 5) -> Any:
            """Pay a vendor."""
            self.paid.append((vendor.id, vendor.country, cents))
            return self.effect()

        return tools

    def agent(
        self, *calls: tuple[str, Any], toolset: AbstractToolset[None] | None = None
    ) -> Agent[None, Any]:
        """An agent whose model makes these calls and ends when it was told of them."""

        def model(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
            if not told(messages):
                parts = [ToolCallPart("pay", args, tool_call_id=name) for name, args in calls]
                return ModelResponse(parts=parts)
            if self.fails_at_the_end:
                raise ConnectionError("the model is away")
            return ModelResponse(parts=[TextPart("Done.")])

        return Agent(
            FunctionModel(model),
            toolsets=[toolset or Guarded(self.tools)],
            output_type=[str, DeferredToolRequests],
        )

    async def waiting(self) -> list[Interrupt]:
        """What people are asked."""
        interrupts = (await self.run.refresh(is_all=True)).interrupts
        return [each for each in interrupts if each.is_pending]

    async def approve_all(self) -> None:
        """Let Rae approve all that waits."""
        for asked in await self.waiting():
            assert await asyncio.to_thread(self.site.rae.approve, asked.id) is None

    async def states(self) -> list[str]:
        """The states of what was dispatched."""
        return [each.state.value for each in (await self.run.refresh(is_all=True)).actions]


def in_shop(doing: Callable[[Shop], Awaitable[None]]) -> Callable[[Site], None]:
    """A test on an event loop of its own."""

    async def do(site: Site) -> None:
        async with AsyncClient(site.url, site.key) as client:
            thread = f"thread-{uuid4().hex}"
            run = await client.create_run(title="Pay", owner="alice", external_id=thread)
            await doing(Shop(site, run, thread))

    def test(site: Site) -> None:
        asyncio.run(do(site))

    return test


def told(messages: list[ModelMessage]) -> dict[str, tuple[str, str]]:
    """What a model was told of its calls: the framework's word for the outcome, and the text."""
    parts = [part for message in messages for part in message.parts]
    return {
        part.tool_call_id: (part.outcome, str(part.content))
        for part in parts
        if isinstance(part, ToolReturnPart)
    }


def heard(outcome: AgentRunResult[Any] | Waiting) -> dict[str, tuple[str, str]]:
    """What the model of a run that ended was told."""
    assert isinstance(outcome, AgentRunResult), outcome
    return told(outcome.all_messages())


CALL = ("call-1", {"vendor": {"id": "V-1"}})


def test_the_framework_by_itself_runs_a_call_as_often_as_it_is_approved() -> None:
    """A fact of this version, which the adapter is there for."""
    paid: list[str] = []
    tools = FunctionToolset[None]()

    @tools.tool_plain(requires_approval=True)
    def pay(vendor_id: str) -> str:
        paid.append(vendor_id)
        return "Paid."

    def model(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        if told(messages):
            return ModelResponse(parts=[TextPart("Done.")])
        return ModelResponse(parts=[ToolCallPart("pay", {"vendor_id": "V-1"}, tool_call_id="1")])

    async def run() -> None:
        agent = Agent(
            FunctionModel(model), toolsets=[tools], output_type=[str, DeferredToolRequests]
        )
        first = await agent.run("Pay.")
        assert isinstance(first.output, DeferredToolRequests)
        for _ in range(2):
            await agent.run(
                message_history=first.all_messages(),
                deferred_tool_results=first.output.build_results(approve_all=True),
            )

    asyncio.run(run())
    assert paid == ["V-1", "V-1"]


@in_shop
async def test_people_see_what_the_tool_will_get_and_their_edit_runs_once(shop: Shop) -> None:
    """Texts that the framework turns into numbers, and defaults that the model did not name."""
    agent = shop.agent(("call-1", '{"vendor": {"id": "V-1"}, "cents": "7"}'))
    await shop.approvals.start(agent, "Pay.")
    (asked,) = await shop.waiting()
    assert asked.args == {"vendor": {"id": "V-1", "country": "IN"}, "cents": 7}
    kept = await pauses(shop.thread).load(shop.run.id)
    edited = {"vendor": {"id": "V-1", "country": "DE"}, "cents": 8}
    assert await asyncio.to_thread(shop.site.rae.edit, asked.id, edited) is None
    first = heard(await shop.approvals.resume(agent))

    await pauses(shop.thread).save(shop.run.id, kept or "")
    again = heard(await shop.approvals.resume(agent))

    assert shop.paid == [("V-1", "DE", 8)]
    assert first == again == {"call-1": ("success", "Paid.")}


@in_shop
async def test_arguments_that_a_hook_changes_after_the_answer_are_asked_anew(shop: Shop) -> None:
    """The call beside it, which is as approved, is done and not cut off."""

    class Changing(WrapperToolset[None]):
        async def call_tool(
            self,
            name: str,
            tool_args: dict[str, Any],
            ctx: RunContext[None],
            tool: ToolsetTool[None],
        ) -> Any:
            if ctx.tool_call_approved and tool_args["vendor"].id == "V-1":
                tool_args = {**tool_args, "vendor": Vendor(id="V-9")}
            return await super().call_tool(name, tool_args, ctx, tool)

    toolset = Changing(Guarded(shop.tools))
    agent = shop.agent(CALL, ("call-2", {"vendor": {"id": "V-2"}}), toolset=toolset)
    await shop.approvals.start(agent, "Pay.")
    await shop.approve_all()

    waiting = await shop.approvals.resume(agent)

    assert isinstance(waiting, Waiting)
    nine = {"vendor": {"id": "V-9", "country": "IN"}, "cents": 5}
    assert [(each.call_id, each.args) for each in waiting.interrupts] == [("call-1", nine)]
    assert {vendor for vendor, _, _ in shop.paid} <= {"V-2"}
    await shop.approve_all()
    await shop.approvals.resume(agent)
    assert sorted(shop.paid) == [("V-2", "IN", 5), ("V-9", "IN", 5)]
    assert await shop.states() == ["SUCCEEDED", "SUCCEEDED"]


@in_shop
async def test_a_tool_that_raises_is_unknown_and_ends_the_run(shop: Shop) -> None:
    def effect() -> None:
        raise ConnectionError("the line broke")

    shop.effect = effect
    agent = shop.agent(CALL)
    await shop.approvals.start(agent, "Pay.")
    await shop.approve_all()

    with pytest.raises(ConnectionError, match="the line broke"):
        await shop.approvals.resume(agent)
    with pytest.raises(Refused, match="outcome_unknown"):
        await shop.approvals.resume(agent)

    assert (len(shop.paid), await shop.states()) == (1, ["UNKNOWN"])


@pytest.mark.parametrize(
    ("error", "text", "state"),
    [
        (Failed("insufficient funds"), "Not done: insufficient funds", "FAILED"),
        (NotExecuted("closed"), "Not done: closed", "NOT_EXECUTED"),
    ],
)
def test_a_tool_that_did_nothing_says_so_and_the_model_hears_it(
    site: Site, *, error: Exception, text: str, state: str
) -> None:
    def effect() -> None:
        raise error

    @in_shop
    async def do(shop: Shop) -> None:
        shop.effect = effect
        agent = shop.agent(CALL)
        await shop.approvals.start(agent, "Pay.")
        await shop.approve_all()
        kept = await pauses(shop.thread).load(shop.run.id)
        first = heard(await shop.approvals.resume(agent))
        await pauses(shop.thread).save(shop.run.id, kept or "")

        assert heard(await shop.approvals.resume(agent)) == first == {"call-1": ("failed", text)}
        assert (len(shop.paid), await shop.states()) == (1, [state])

    do(site)


@in_shop
async def test_what_was_done_before_a_crash_is_not_done_again(shop: Shop) -> None:
    """The model fails after the tool, so the state that is kept is the one before it."""
    agent = shop.agent(CALL)
    await shop.approvals.start(agent, "Pay.")
    await shop.approve_all()
    shop.fails_at_the_end = True
    with pytest.raises(ConnectionError, match="the model is away"):
        await shop.approvals.resume(agent)

    shop.fails_at_the_end = False
    outcome = heard(await shop.approvals.start(agent, "Pay."))

    assert (len(shop.paid), outcome) == (1, {"call-1": ("success", "Paid.")})


@in_shop
async def test_a_tool_that_is_not_guarded_is_not_asked_about(shop: Shop) -> None:
    tools = FunctionToolset[None]()
    tools.add_function(lambda: "Paid.", name="pay", requires_approval=True)

    with pytest.raises(NotGuarded, match="pay"):
        await shop.approvals.start(shop.agent(("call-1", {}), toolset=tools), "Pay.")

    assert await shop.waiting() == []


@in_shop
async def test_only_the_tools_named_are_guarded(shop: Shop) -> None:
    agent = shop.agent(CALL, toolset=Guarded(shop.tools, names={"refund"}))

    assert heard(await shop.approvals.start(agent, "Pay.")) == {"call-1": ("success", "Paid.")}


@in_shop
async def test_a_tool_finds_its_permission_and_its_question_says_what_it_acts_on(
    shop: Shop,
) -> None:
    keys = []

    def effect() -> str:
        keys.append(permission().idempotency_key)
        return "Paid."

    shop.effect = effect
    guarded = Guarded(
        shop.tools,
        target=lambda _, args: {"vendor": args["vendor"]["id"]},
        description="As ordered.",
        is_editable=False,
    )
    agent = shop.agent(CALL, toolset=guarded)
    await shop.approvals.start(agent, "Pay.")
    (asked,) = await shop.waiting()
    assert (asked.target, asked.description) == ({"vendor": "V-1"}, "As ordered.")
    assert asked.allowed_decisions == ("approve", "reject")
    await shop.approve_all()

    await shop.approvals.resume(agent)

    actions = (await shop.run.refresh(is_all=True)).actions
    assert keys == [each.idempotency_key for each in actions]
