"""`placet.openai_agents` beyond the situations: the SDK by itself, and the last moment."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

import pytest
from agents import Agent, FunctionTool, Runner, RunResult, RunState, function_tool
from agents.testing import ScriptedModel, assistant_message, function_call
from agents.tool_context import ToolContext

from conformance.drivers.pauses import pauses
from conformance.site import Site
from placet import AsyncClient, AsyncRun, Failed, NotExecuted, Refused
from placet.openai_agents import Approvals, NotGuarded, Waiting, guard, permission
from placet.openai_agents.guard import Guarded, Target

END = [assistant_message("Done.")]


@dataclass
class Shop:
    """A thread of its own: its run, its approvals, and what was paid."""

    site: Site
    run: AsyncRun
    thread: str
    paid: list[str] = field(default_factory=list)

    @property
    def approvals(self) -> Approvals:
        return Approvals(self.run, pauses(self.thread))

    def tool(
        self,
        pay: Callable[[str], Any] | None = None,
        *,
        target: Target | None = None,
        description: str | None = None,
    ) -> FunctionTool:
        """A guarded tool with this effect."""

        @guard(target=target, description=description)
        def pay_vendor(vendor_id: str, amount: int = 5) -> Any:
            """Pay a vendor."""
            self.paid.append(vendor_id)
            return pay(vendor_id) if pay else f"Paid {vendor_id} {amount}."

        return pay_vendor

    async def start(self, agent: Agent[Any], *calls: tuple[str, Any]) -> None:
        """Let the model make these calls, and wait."""
        wanted = [function_call("pay_vendor", args, call_id=name) for name, args in calls]
        agent.model = ScriptedModel([wanted, END])
        assert isinstance(await self.approvals.start(agent, "Pay."), Waiting)

    async def approve_all(self) -> None:
        """Let Rae approve all that waits."""
        for asked in (await self.run.refresh(is_all=True)).interrupts:
            if asked.is_pending:
                assert await asyncio.to_thread(self.site.rae.approve, asked.id) is None

    async def actions(self) -> list[tuple[str, str, Any]]:
        """What was dispatched: vendor, state, result."""
        view = await self.run.refresh(is_all=True)
        return [(each.args["vendor_id"], each.state.value, each.result) for each in view.actions]


@asynccontextmanager
async def shop(site: Site) -> AsyncIterator[Shop]:
    async with AsyncClient(site.url, site.key) as client:
        thread = f"thread-{uuid4().hex}"
        run = await client.create_run(title="Pay", owner="alice", external_id=thread)
        yield Shop(site, run, thread)


def in_shop(doing: Callable[[Shop], Awaitable[None]]) -> Callable[[Site], None]:
    """A test on an event loop of its own."""

    async def do(site: Site) -> None:
        async with shop(site) as made:
            await doing(made)

    def test(site: Site) -> None:
        asyncio.run(do(site))

    test.__doc__ = doing.__doc__
    return test


def outputs(result: RunResult | Waiting) -> dict[str, str]:
    """What the model was told, by the call's id."""
    assert isinstance(result, RunResult), result
    items: Any = result.to_input_list()
    told = [item for item in items if item.get("type") == "function_call_output"]
    return {str(item["call_id"]): str(item["output"]) for item in told}


def test_the_sdk_by_itself_runs_a_state_as_often_as_it_is_approved() -> None:
    """A fact of this version, which the adapter is there for."""
    paid: list[str] = []

    @function_tool(needs_approval=True)
    def pay_vendor(vendor_id: str) -> str:
        paid.append(vendor_id)
        return "Paid."

    async def run() -> None:
        call = function_call("pay_vendor", {"vendor_id": "V-1"}, call_id="call-1")
        agent = Agent[Any](name="payer", tools=[pay_vendor], model=ScriptedModel([[call]]))
        kept = (await Runner.run(agent, "Pay.")).to_state().to_string()
        for _ in range(2):
            agent.model = ScriptedModel([END])
            state = await RunState.from_string(agent, kept)
            state.approve(state.get_interruptions()[0])
            await Runner.run(agent, state)

    asyncio.run(run())
    assert paid == ["V-1", "V-1"]


@in_shop
async def test_a_state_that_was_used_and_comes_back_runs_nothing_again(shop: Shop) -> None:
    agent = Agent[Any](name="payer", tools=[shop.tool()])
    await shop.start(agent, ("call-1", {"vendor_id": "V-1"}))
    store = pauses(shop.thread)
    kept = await store.load(shop.run.id)
    await shop.approve_all()
    first = outputs(await shop.approvals.resume(agent))

    await store.save(shop.run.id, kept or "")
    agent.model = ScriptedModel([END])
    again = outputs(await shop.approvals.resume(agent))

    assert shop.paid == ["V-1"]
    assert first == again == {"call-1": "Paid V-1 5."}


@in_shop
async def test_arguments_that_change_after_the_answer_are_asked_anew(shop: Shop) -> None:
    """The call beside it, which is as approved, is done and not cut off."""

    @dataclass(frozen=True)
    class Changing(Guarded):
        async def __call__(self, context: ToolContext[Any], arguments: str) -> Any:
            return await super().__call__(context, arguments.replace("V-1", "V-9"))

    plain = shop.tool()
    assert isinstance(plain.on_invoke_tool, Guarded)
    changing = Changing(plain.on_invoke_tool.inner, None, None, None, None)
    agent = Agent[Any](name="payer", tools=[replace(plain, on_invoke_tool=changing)])
    await shop.start(agent, ("call-1", {"vendor_id": "V-1"}), ("call-2", {"vendor_id": "V-2"}))
    await shop.approve_all()

    waiting = await shop.approvals.resume(agent)

    assert isinstance(waiting, Waiting)
    assert [(each.call_id, each.args) for each in waiting.interrupts] == [
        ("call-1", {"vendor_id": "V-9"})
    ]
    assert "V-1" not in shop.paid
    await shop.approve_all()
    agent.model = ScriptedModel([END])
    await shop.approvals.resume(agent)
    assert sorted(shop.paid) == ["V-2", "V-9"]
    assert sorted(await shop.actions()) == [
        ("V-2", "SUCCEEDED", "Paid V-2 5."),
        ("V-9", "SUCCEEDED", "Paid V-9 5."),
    ]


@in_shop
async def test_a_tool_that_raises_is_unknown_and_ends_the_run(shop: Shop) -> None:
    def pay(_: str) -> None:
        raise ConnectionError("the line broke")

    agent = Agent[Any](name="payer", tools=[shop.tool(pay)])
    await shop.start(agent, ("call-1", {"vendor_id": "V-1"}))
    await shop.approve_all()

    with pytest.raises(ConnectionError, match="the line broke"):
        await shop.approvals.resume(agent)
    with pytest.raises(Refused, match="outcome_unknown"):
        await shop.approvals.resume(agent)

    assert (shop.paid, await shop.actions()) == (["V-1"], [("V-1", "UNKNOWN", None)])


@pytest.mark.parametrize(
    ("error", "told", "state", "result"),
    [
        (Failed({"code": 51}), 'Not done: {"code":51}', "FAILED", {"code": 51}),
        (NotExecuted("closed"), "Not done: closed", "NOT_EXECUTED", {"reason": "closed"}),
    ],
)
def test_a_tool_that_did_nothing_says_so_and_the_model_hears_it(
    site: Site, *, error: Exception, told: str, state: str, result: Any
) -> None:
    def pay(_: str) -> None:
        raise error

    @in_shop
    async def do(shop: Shop) -> None:
        agent = Agent[Any](name="payer", tools=[shop.tool(pay)])
        await shop.start(agent, ("call-1", {"vendor_id": "V-1"}))
        await shop.approve_all()

        assert outputs(await shop.approvals.resume(agent)) == {"call-1": told}
        assert await shop.actions() == [("V-1", state, result)]

    do(site)


@in_shop
async def test_arguments_that_do_not_fit_the_tool_are_not_executed(shop: Shop) -> None:
    agent = Agent[Any](name="payer", tools=[shop.tool()])
    await shop.start(agent, ("call-1", {"vendor_id": "V-1", "amount": "many"}))
    await shop.approve_all()

    told = outputs(await shop.approvals.resume(agent))["call-1"]

    assert told.startswith("Not done: Invalid JSON input for tool pay_vendor")
    assert (shop.paid, [state for _, state, _ in await shop.actions()]) == ([], ["NOT_EXECUTED"])


@in_shop
async def test_a_call_that_nobody_could_read_one_way_is_not_asked(shop: Shop) -> None:
    agent = Agent[Any](name="payer", tools=[shop.tool()])
    await shop.start(agent, ("call-1", '{"vendor_id": "V-1", "vendor_id": "V-2"}'))

    told = outputs(await shop.approvals.resume(agent))

    assert told["call-1"].startswith("Not done, and nobody was asked: The member")
    assert (shop.paid, (await shop.run.refresh(is_all=True)).interrupts) == ([], ())


@in_shop
async def test_what_was_done_before_a_crash_is_not_done_again(shop: Shop) -> None:
    """The model fails after the tool, so the state that is kept is the one before it."""
    agent = Agent[Any](name="payer", tools=[shop.tool()])
    await shop.start(agent, ("call-1", {"vendor_id": "V-1"}))
    await shop.approve_all()
    agent.model = ScriptedModel([])
    with pytest.raises(Exception, match="model"):
        await shop.approvals.resume(agent)

    agent.model = ScriptedModel([END])
    told = outputs(await shop.approvals.start(agent, "Pay."))

    assert (shop.paid, told) == (["V-1"], {"call-1": "Paid V-1 5."})


@in_shop
async def test_a_tool_that_is_not_guarded_is_not_asked_about(shop: Shop) -> None:
    @function_tool(needs_approval=True)
    def pay_vendor(vendor_id: str) -> str:
        return "Paid."

    agent = Agent[Any](name="payer", tools=[pay_vendor])

    with pytest.raises(NotGuarded, match="pay_vendor of payer"):
        await shop.start(agent, ("call-1", {"vendor_id": "V-1"}))
    assert (await shop.run.refresh(is_all=True)).interrupts == ()


@in_shop
async def test_a_tool_finds_its_permission_and_its_question_says_what_it_acts_on(
    shop: Shop,
) -> None:
    permissions = []

    def pay(_: str) -> str:
        permissions.append(permission())
        return "Paid."

    def target(args: Mapping[str, Any]) -> dict[str, Any]:
        return {"vendor": args["vendor_id"]}

    tool = shop.tool(pay, target=target, description="As ordered.")
    agent = Agent[Any](name="payer", tools=[tool])
    await shop.start(agent, ("call-1", {"vendor_id": "V-1"}))
    (asked,) = (await shop.run.refresh(is_all=True)).interrupts
    assert (asked.target, asked.description) == ({"vendor": "V-1"}, "As ordered.")
    await shop.approve_all()

    await shop.approvals.resume(agent)

    (action,) = (await shop.run.refresh(is_all=True)).actions
    assert [each.idempotency_key for each in permissions] == [action.idempotency_key]
    assert permissions[0].grant.count(".") == 2
