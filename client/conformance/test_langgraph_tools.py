"""Guarded tools inside LangChain's own machinery: events, retries, errors, event loops."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any
from uuid import uuid4

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ToolRetryMiddleware, hook_config
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import InjectedState
from langgraph.types import Command

from conformance.driver import Call
from conformance.drivers.scripted import ScriptedModel, order
from conformance.site import Site
from placet import Failed, Interrupt, Run
from placet.langgraph import PlacetMiddleware, guard, permission, run_of_thread, wake
from placet.langgraph.waking import Graph

MODES: Any = ["updates", "tools"]
A, OTHER = Call("call-1", "V-2291"), Call("call-2", "V-4410", 90_000)


@dataclass
class Told(BaseCallbackHandler):
    """What LangChain's callbacks hear of tools."""

    heard: list[str] = field(default_factory=list)

    def on_tool_start(self, *_: Any, **__: Any) -> None:
        self.heard.append("start")

    def on_tool_end(self, *_: Any, **__: Any) -> None:
        self.heard.append("end")

    def on_tool_error(self, *_: Any, **__: Any) -> None:
        self.heard.append("error")


class Case:
    """An agent of one thread, with the tools and hooks of a test."""

    def __init__(
        self,
        site: Site,
        pay: Callable[[str, int], Any],
        *hooks: AgentMiddleware[Any, Any, Any],
        **options: Any,
    ) -> None:
        @tool
        def pay_vendor(
            vendor_id: str, amount_paise: int, state: Annotated[dict[str, Any], InjectedState]
        ) -> Any:
            """Pay a vendor."""
            assert state["messages"]
            return pay(vendor_id, amount_paise)

        self.site = site
        self.tool: BaseTool = pay_vendor
        self.told = Told()
        self.thread = uuid4().hex
        self.config: RunnableConfig = {
            "configurable": {"thread_id": self.thread},
            "callbacks": [self.told],
        }
        run = run_of_thread(site.client, owner=lambda config: "alice", title=lambda config: "Pay")
        ours = PlacetMiddleware(run, [pay_vendor], mode="per_call", **options)
        self.graph: Graph = create_agent(
            ScriptedModel(), [pay_vendor], middleware=[*hooks, ours], checkpointer=InMemorySaver()
        )

    @property
    def run(self) -> Run:
        (run,) = self.site.client.find_runs(external_id=self.thread)
        return run

    def begin(self, *calls: Call) -> list[Interrupt]:
        """Let the model make the calls; the questions."""
        self.graph.invoke({"messages": [("user", order(calls))]}, self.config)
        return list(self.run.view.interrupts)

    def answers(self) -> list[tuple[str, str]]:
        """What the model was told of its calls."""
        messages = self.graph.get_state(self.config).values["messages"]
        return [(each.text, each.status) for each in messages if isinstance(each, ToolMessage)]


def test_a_pause_is_no_tool_error_and_no_retry(site: Site) -> None:
    retries = ToolRetryMiddleware(max_retries=3, initial_delay=0.0, jitter=False)
    case = Case(site, lambda vendor, amount: "Paid.", retries)

    (asked,) = case.begin(A)
    wake(case.graph, case.config)

    assert case.told.heard == []
    (waiting,) = case.graph.get_state(case.config).interrupts
    assert waiting.value["placet"] == {
        "run_id": asked.run_id,
        "interrupt_id": asked.id,
        "url": asked.url,
    }
    assert (case.run.state, len(case.run.refresh(is_all=True).interrupts)) == ("WAIT_USER", 1)
    site.rae.approve(asked.id)
    wake(case.graph, case.config)
    assert case.told.heard == ["start", "end"]
    assert case.answers() == [("Paid.", "success")]


def test_what_a_stream_tells_of_a_pause_is_the_interrupt_alone(site: Site) -> None:
    case = Case(site, lambda vendor, amount: "Paid.")
    said = {"messages": [("user", order([A]))]}

    told = list(case.graph.stream(said, case.config, stream_mode=MODES))

    names = [next(iter(each)) for kind, each in told if kind == "updates"]
    assert "__interrupt__" in names
    assert [each for kind, each in told if kind == "tools"] == []


class StraightToTools(AgentMiddleware[Any, Any, Any]):
    """A hook that jumps to the tools again, whatever people said."""

    jumps = 0

    @hook_config(can_jump_to=["tools"])
    def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Jump once."""
        if self.jumps or not isinstance(state["messages"][-1], ToolMessage):
            return None
        self.jumps += 1
        return {"jump_to": "tools"}


def test_a_rejected_call_never_runs_also_where_a_hook_jumps_to_the_tools(site: Site) -> None:
    paid: list[str] = []
    hook = StraightToTools()
    case = Case(site, lambda vendor, amount: paid.append(vendor), hook)

    (asked,) = case.begin(A)
    site.rae.reject(asked.id, "Paid in May.")
    wake(case.graph, case.config)

    assert (paid, hook.jumps) == ([], 1)
    assert set(case.answers()) == {("rae rejected this call: Paid in May.", "error")}


def test_people_may_answer_in_place_of_the_tool(site: Site) -> None:
    paid: list[str] = []
    case = Case(
        site,
        lambda vendor, amount: paid.append(vendor),
        allowed_decisions=("respond", "reject"),
    )

    (asked,) = case.begin(A)
    assert asked.allowed_decisions == ("reject", "respond")
    form = site.rae.look(asked.id)
    assert site.rae.press(asked.id, form, "respond", response="Ask Bob.") is None
    wake(case.graph, case.config)

    assert (paid, case.answers()) == ([], [("Ask Bob.", "success")])


def test_decisions_that_a_tool_cannot_carry_are_refused_at_once(site: Site) -> None:
    with pytest.raises(ValueError, match="cannot carry these decisions: done"):
        Case(site, lambda vendor, amount: "Paid.", allowed_decisions=("approve", "done"))


def test_the_model_is_told_that_people_changed_its_call(site: Site) -> None:
    case = Case(site, lambda vendor, amount: f"Paid {amount}.")

    (asked,) = case.begin(A)
    site.rae.edit(asked.id, {**A.args, "amount_paise": 7})
    wake(case.graph, case.config)

    assert case.answers() == [
        (
            'People changed the arguments of this call to {"amount_paise": 7, "vendor_id":'
            ' "V-2291"}. Do not repeat it.\n\nPaid 7.',
            "success",
        )
    ]


def test_a_question_taken_back_is_told_and_never_asked_again(site: Site) -> None:
    case = Case(site, lambda vendor, amount: pytest.fail("it ran"))

    (asked,) = case.begin(A)
    case.run.take_back(asked)
    wake(case.graph, case.config)

    assert case.answers() == [
        ("Nobody answered: the question is CANCELLED. It was not done.", "error")
    ]
    assert len(case.run.refresh(is_all=True).interrupts) == 1


def test_a_target_that_said_no_is_told_to_the_model(site: Site) -> None:
    def pay(vendor: str, amount: int) -> str:
        raise Failed("no funds")

    case = Case(site, pay)
    (asked,) = case.begin(A)
    site.rae.approve(asked.id)
    wake(case.graph, case.config)

    assert case.answers() == [("Not done: no funds", "error")]
    (action,) = case.run.refresh(is_all=True).actions
    assert (action.state, action.result) == ("FAILED", "no funds")


@pytest.mark.parametrize("is_handled", [True, False])
def test_an_unknown_outcome_pauses_the_thread_until_a_person_clears_it(
    site: Site, is_handled: bool
) -> None:
    """Whether LangChain tells the model of the tool's error or lets it end the graph."""
    tries: list[str] = []

    def pay(vendor: str, amount: int) -> str:
        tries.append(vendor)
        raise ToolException("The line went dead.")

    case = Case(site, pay)
    case.tool.handle_tool_error = is_handled
    (asked,) = case.begin(A)
    site.rae.approve(asked.id)
    if is_handled:
        wake(case.graph, case.config)
        assert case.answers() == [("The line went dead.", "error")]
    else:
        with pytest.raises(ToolException):
            wake(case.graph, case.config)
        case.graph.invoke(None, case.config)  # as whatever restarts a thread that ended badly
        (waiting,) = case.graph.get_state(case.config).interrupts
        assert waiting.value["placet"]["interrupt_id"] == asked.id

    (action,) = case.run.refresh(is_all=True).actions
    assert (action.state, case.run.state, tries) == ("UNKNOWN", "UNKNOWN", ["V-2291"])
    site.rae.reconcile(action.id, "executed", reference="R-17")
    if not is_handled:
        wake(case.graph, case.config)
        assert [status for _, status in case.answers()] == ["success"]
    assert (case.run.state, tries) == ("READY", ["V-2291"])


def test_a_call_that_the_tool_cannot_take_is_not_asked(site: Site) -> None:
    case = Case(site, lambda vendor, amount: pytest.fail("it ran"))
    bad = order([A]).replace("500", '"many"')

    case.graph.invoke({"messages": [("user", bad)]}, case.config)

    ((text, status),) = case.answers()
    assert ("amount_paise: Input should be a valid integer" in text, status) == (True, "error")
    assert list(site.client.find_runs(external_id=case.thread)) == []


def test_an_agent_on_an_event_loop_pauses_and_goes_on_the_same(site: Site) -> None:
    ran_on: list[asyncio.AbstractEventLoop] = []
    keys: set[str] = set()

    @tool
    async def pay_vendor(vendor_id: str, amount_paise: int) -> str:
        """Pay a vendor."""
        ran_on.append(asyncio.get_running_loop())
        keys.add(permission().idempotency_key)
        return f"Paid {vendor_id}."

    run = site.client.create_run(title="Pay", owner="alice")
    agent: Graph = create_agent(
        ScriptedModel(),
        [pay_vendor],
        middleware=[PlacetMiddleware(run, [pay_vendor], mode="batched")],
        checkpointer=InMemorySaver(),
    )
    config: RunnableConfig = {"configurable": {"thread_id": run.id}}

    async def go() -> None:
        await agent.ainvoke({"messages": [("user", order([A, OTHER]))]}, config)
        one, other = run.refresh().interrupts
        site.rae.approve(one.id)
        site.rae.approve(other.id)
        (waiting,) = agent.get_state(config).interrupts
        await agent.ainvoke(Command(resume={waiting.id: "woken"}), config)
        assert ran_on == [asyncio.get_running_loop()] * 2

    asyncio.run(go())

    actions = run.refresh(is_all=True).actions
    assert {each.state for each in actions} == {"SUCCEEDED"}
    assert {each.idempotency_key for each in actions} == keys


def test_a_guarded_tool_is_the_tool_but_for_asking(site: Site) -> None:
    @tool
    def pay_vendor(vendor_id: str) -> str:
        """Pay a vendor."""
        return pytest.fail("it ran")

    run = site.client.create_run(title="Pay", owner="alice")
    guarded = guard(pay_vendor, run)

    assert (guarded.name, guarded.description) == (pay_vendor.name, pay_vendor.description)
    assert guarded.args_schema is pay_vendor.args_schema
    with pytest.raises(ValueError, match="invoked with a tool call that has an id"):
        guarded.invoke({"vendor_id": "V-2291"})
    with pytest.raises(ValueError, match="invoked with a tool call that has an id"):
        asyncio.run(guarded.ainvoke({"vendor_id": "V-2291"}))
    assert run.refresh().interrupts == ()
