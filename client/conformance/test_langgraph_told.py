"""What the documents say of LangGraph, done: the lines as they stand there, and the versions."""

import re
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any, TypedDict
from uuid import uuid4

import pytest
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph

import placet.langgraph
from conformance.driver import Args, Call
from conformance.drivers.langchain_agents import paying
from conformance.drivers.scripted import ScriptedModel, order
from conformance.site import ROOT, Site
from placet import Run
from placet.langgraph import run_of_thread, wake
from placet.langgraph.tools import is_guarded
from placet.langgraph.waking import Graph

README = (ROOT / "README.md").read_text()
A = Call("call-1", "V-2291")
HOWTO = (ROOT / "docs" / "howto" / "langgraph.md").read_text()
WHY = (ROOT / "docs" / "explanation" / "why-bound-answers.md").read_text()


def block(text: str, how: str = "") -> str:
    """The program with this word after its fence."""
    (found,) = re.findall(rf"^```python{how and f' {how}'}\n(.*?)^```$", text, re.M | re.S)[:1]
    return str(found)


@pytest.fixture
def known(site: Site) -> Iterator[dict[str, Any]]:
    """What a reader of the page has before it begins, and then what it made."""

    @tool
    def search(text: str) -> str:
        """Search."""
        return pytest.fail("it was called")

    paid: list[str] = []

    def pay(args: Args) -> str:
        paid.append(args["vendor_id"])
        return "Paid."

    known: dict[str, Any] = {
        "url": site.url,
        "key": site.key,
        "model": ScriptedModel(),
        "saver": InMemorySaver(),
        "create_agent": create_agent,
        "search": search,
        "pay_vendor": paying(pay),
        "paid": paid,
        "thread": uuid4().hex,
    }
    yield known
    if "client" in known:
        known["client"].close()


def test_an_existing_agent_is_connected_in_under_ten_lines(
    site: Site, known: dict[str, Any], capsys: Any
) -> None:
    lines = [line for line in block(HOWTO, "connect").splitlines() if line]
    assert len(lines) == 7
    exec(block(HOWTO, "connect"), known)
    invoke = block(HOWTO, "invoke").replace("invoice-88412", known["thread"])

    exec(invoke.replace('"Pay INV-88412."', repr(order([A]))), known)

    (asked,) = next(site.client.find_runs(external_id=known["thread"])).view.interrupts
    assert capsys.readouterr().out == f"{asked.url}\n"
    site.rae.approve(asked.id)
    wake(known["agent"], known["config"])
    assert known["paid"] == ["V-2291"]


def test_the_other_lines_do_what_they_say(known: dict[str, Any]) -> None:
    known["alert"] = print
    exec(block(HOWTO, "connect"), known)
    known["refund"] = known["search"]
    for how in ("options", "guard", "bridge"):
        exec(block(HOWTO, how), known)

    assert is_guarded(known["pay_vendor"])


def test_a_node_pays_what_was_approved(site: Site) -> None:
    class State(TypedDict, total=False):
        payment: dict[str, Any]
        invoice: str
        outcome: str

    known: dict[str, Any] = {
        "run": run_of_thread(site.client, owner="alice"),
        "bank": lambda args: f"Paid {args['vendor_id']}.",
    }
    exec(block(HOWTO, "node"), known)
    graph = StateGraph(State)
    graph.add_node("pay", known["pay"])
    graph.add_edge(START, "pay")
    app: Graph = graph.compile(checkpointer=InMemorySaver())
    thread = uuid4().hex
    config: Any = {"configurable": {"thread_id": thread}}

    app.invoke({"payment": A.args, "invoice": "INV-88412"}, config)
    run: Run = next(site.client.find_runs(external_id=thread))
    site.rae.approve(run.view.interrupts[0].id)
    wake(app, config)

    assert app.get_state(config).values["outcome"] == "Paid V-2291."


def test_the_program_that_shows_the_fault_shows_it_with_the_version_that_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    exec(block(WHY), {"__name__": "told"})

    assert capsys.readouterr().out == "['B']\n"
    assert f"With LangGraph {version('langgraph')} the following was verified" in WHY
    assert f"verified with LangGraph {version('langgraph')}" in README


def test_every_public_name_is_told() -> None:
    page = (ROOT / "docs" / "reference" / "adapters.md").read_text()
    section = page.partition("\n## placet.langgraph\n")[2].partition("\n## ")[0]

    assert set(placet.langgraph.__all__) - set(re.findall(r"\w+", section)) == set()
