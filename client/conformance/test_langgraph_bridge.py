"""The bridge: it wakes the right threads, once, and finds what it missed."""

import asyncio
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias
from uuid import uuid4

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from conformance.driver import Args, Call
from conformance.drivers.checkpoints import Store, postgres, sqlite
from conformance.drivers.langchain_agents import paying
from conformance.drivers.scripted import ScriptedModel, order
from conformance.site import Site
from placet import Client, Interrupt, Refused
from placet.langgraph import Bridge, PlacetMiddleware, run_of_thread
from placet.langgraph.agenda import Agenda
from placet.langgraph.waking import Graph, Threads

A = Call("call-1", "V-2291")
PATIENCE_S = 20.0
MARK = f"bridged-{os.getpid()}-"
"""By which these threads are told from those of other tests, whose graphs are others."""


class Payer:
    """An agent as one process has it, and what all processes paid."""

    def __init__(self, site: Site, store: Store, paid: list[str]) -> None:
        self.site = site
        self.connection, saver = store(site)
        self.paid = paid
        pay_vendor = paying(self.pay)
        run = run_of_thread(site.client, owner="alice", title="Pay")
        self.graph: Graph = create_agent(
            ScriptedModel(),
            [pay_vendor],
            middleware=[PlacetMiddleware(run, [pay_vendor])],
            checkpointer=saver,
        )

    def begin(self, vendor: str = "V-2291") -> Interrupt:
        """Start a thread that waits; its question."""
        thread = f"{MARK}{uuid4().hex}"
        said = {"messages": [("user", order([Call("call-1", vendor)]))]}
        self.graph.invoke(said, config_of(thread))
        (run,) = self.site.client.find_runs(external_id=thread)
        (asked,) = run.view.interrupts
        return asked

    def is_over(self, asked: Interrupt) -> bool:
        """Whether the question's thread has come to its end."""
        thread = self.site.client.get_run(asked.run_id).view.external_id
        assert thread is not None
        said = self.graph.get_state(config_of(thread)).values["messages"][-1]
        return bool(said.text.startswith("Finished."))

    def pay(self, args: Args) -> str:
        """Pay; a receipt."""
        self.paid.append(args["vendor_id"])
        return "Paid."


Open: TypeAlias = Callable[[Store], Payer]


@pytest.fixture
def opened(site: Site) -> Iterator[Open]:
    """Gives the agent as another process has it, each time."""
    paid: list[str] = []
    payers: list[Payer] = []

    def open_(store: Store) -> Payer:
        payers.append(Payer(site, store, paid))
        return payers[-1]

    yield open_
    for payer in payers:
        payer.connection.close()


def config_of(thread: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread}}


def bridging(site: Site, graph: Graph, **more: Any) -> Bridge:
    def config(external_id: str) -> RunnableConfig | None:
        return config_of(external_id) if external_id.startswith(MARK) else None

    return Bridge(site.client, graph, config_of=config, **more)


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it never came about"
        time.sleep(0.02)


@contextmanager
def running(bridge: Bridge) -> Iterator[None]:
    """A bridge that runs meanwhile; raises what it ended with."""
    ended: list[BaseException] = []

    def run() -> None:
        try:
            bridge.run()
        except BaseException as error:
            ended.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        bridge.stop()
        thread.join(PATIENCE_S)
    assert not thread.is_alive()
    assert ended == []


@pytest.mark.parametrize("store", [postgres, sqlite])
def test_an_answer_wakes_its_thread_and_no_other(site: Site, opened: Open, store: Store) -> None:
    here, there = opened(store), opened(store)

    with running(bridging(site, there.graph)):
        asked, other = here.begin("V-1"), here.begin("V-2")
        site.rae.approve(asked.id)
        until(lambda: here.is_over(asked))

        assert (here.paid, here.is_over(other)) == (["V-1"], False)
        site.rae.reject(other.id, "No.")
        until(lambda: here.is_over(other))

    assert here.paid == ["V-1"]


def test_what_happened_while_no_bridge_ran_is_found(site: Site, opened: Open) -> None:
    """Answered, and cancelled."""
    payer = opened(postgres)
    answered, cancelled = payer.begin(), payer.begin()
    site.rae.approve(answered.id)
    site.client.get_run(cancelled.run_id).cancel(reason="Not wanted.")

    with running(bridging(site, payer.graph)):
        until(lambda: payer.is_over(answered) and payer.is_over(cancelled))

    assert payer.paid == ["V-2291"]


def test_two_bridges_at_once_harm_nothing(site: Site, opened: Open) -> None:
    first, second = opened(postgres), opened(postgres)
    vendors = [f"V-{number}" for number in range(4)]
    asked = [first.begin(vendor) for vendor in vendors]

    with running(bridging(site, first.graph)), running(bridging(site, second.graph)):
        for each in asked:
            site.rae.approve(each.id)
        until(lambda: all(map(first.is_over, asked)))

    assert sorted(first.paid) == vendors


def test_an_id_that_waits_no_longer_is_let_be(site: Site, opened: Open) -> None:
    payer = opened(postgres)
    asked = payer.begin()
    config = config_of(site.client.get_run(asked.run_id).view.external_id or "")
    threads = Threads(payer.graph)
    ids = [each.id for each in payer.graph.get_state(config).interrupts]
    site.rae.approve(asked.id)

    assert [threads.resume(ids, config), threads.resume(ids, config)] == [True, False]
    assert (threads.wake(config), payer.paid) == (False, ["V-2291"])


def test_a_graph_that_fails_is_told_without_its_words_and_goes_on_later(
    site: Site, opened: Open, caplog: pytest.LogCaptureFixture
) -> None:
    fails = [True]
    told: list[tuple[str, str]] = []

    class Failing(ScriptedModel):
        """A model that cannot be reached the first time that it is to sum up."""

        def _generate(self, messages: Any, *rest: Any, **more: Any) -> Any:
            if len(messages) > 2 and fails:
                raise ConnectionError(f"secret {fails.pop()}")
            return super()._generate(messages, *rest, **more)

    payer = opened(postgres)
    pay_vendor = paying(payer.pay)
    run = run_of_thread(site.client, owner="alice")
    graph: Graph = create_agent(
        Failing(),
        [pay_vendor],
        middleware=[PlacetMiddleware(run, [pay_vendor])],
        checkpointer=InMemorySaver(),
    )
    payer.graph = graph
    asked = payer.begin()
    site.rae.approve(asked.id)

    def note(run_id: str, error: Exception) -> None:
        told.append((run_id, str(error)))

    bridge = bridging(site, graph, on_error=note, stalled_after_s=0.0)
    with caplog.at_level(logging.WARNING, "placet.langgraph"), running(bridge):
        until(lambda: payer.is_over(asked))

    assert told == [(asked.run_id, "secret True")]
    assert caplog.messages == [f"The thread of {asked.run_id} did not go on: ConnectionError"]
    assert payer.paid == ["V-2291"]


def test_a_bridge_serves_an_agent_that_lives_on_an_event_loop(site: Site) -> None:
    @tool
    async def pay_vendor(vendor_id: str, amount_paise: int) -> str:
        """Pay a vendor."""
        paid.append(vendor_id)
        return "Paid."

    paid: list[str] = []
    run = run_of_thread(site.client, owner="alice")
    agent: Graph = create_agent(
        ScriptedModel(),
        [pay_vendor],
        middleware=[PlacetMiddleware(run, [pay_vendor])],
        checkpointer=InMemorySaver(),
    )
    thread = f"{MARK}{uuid4().hex}"

    async def go() -> None:
        await agent.ainvoke({"messages": [("user", order([A]))]}, config_of(thread))
        (begun,) = site.client.find_runs(external_id=thread)
        bridge = bridging(site, agent, loop=asyncio.get_running_loop())
        running = asyncio.create_task(asyncio.to_thread(bridge.run))
        site.rae.approve(begun.view.interrupts[0].id)
        while (await agent.aget_state(config_of(thread))).next:
            await asyncio.sleep(0.02)
        bridge.stop()
        await running

    asyncio.run(asyncio.wait_for(go(), PATIENCE_S))
    assert paid == ["V-2291"]


def test_a_thread_that_the_bridge_lets_go_on_may_finish_its_run(site: Site) -> None:
    """Under the lease that the bridge holds meanwhile."""
    run = run_of_thread(site.client, owner="alice")
    pay_vendor = paying(lambda args: "Paid.")

    class Finishing(AgentMiddleware[Any, Any, Any]):
        """Ends the run with the agent."""

        def after_agent(self, state: Any, runtime: Any) -> None:
            """Finish it."""
            run().finish("succeeded")

    agent: Graph = create_agent(
        ScriptedModel(),
        [pay_vendor],
        middleware=[PlacetMiddleware(run, [pay_vendor]), Finishing()],
        checkpointer=InMemorySaver(),
    )
    thread = f"{MARK}{uuid4().hex}"
    agent.invoke({"messages": [("user", order([A]))]}, config_of(thread))
    (begun,) = site.client.find_runs(external_id=thread)

    with running(bridging(site, agent)):
        site.rae.approve(begun.view.interrupts[0].id)
        until(lambda: begun.refresh().state == "DONE")

    assert begun.view.outcome == "succeeded"


def test_a_bridge_whose_key_is_no_good_ends_and_says_so(site: Site, opened: Open) -> None:
    with (
        Client(site.url, "plk_wrong") as client,
        pytest.raises(Refused, match="unauthenticated"),
    ):
        Bridge(client, opened(postgres).graph).run()


def test_the_agenda_gives_each_key_once_and_the_sooner_date_counts() -> None:
    agenda = Agenda()
    agenda.note("late", in_s=60)
    agenda.note("soon", in_s=60)
    agenda.note("soon")
    agenda.note("soon", in_s=60)

    assert agenda.take(within_s=0) == "soon"
    agenda.note("soon")
    assert agenda.take(within_s=0) is None
    agenda.let_go("soon")
    assert agenda.take(within_s=0) == "soon"
    assert agenda.take(within_s=0.01) is None
