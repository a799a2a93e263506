"""Two acts: a payment that waits for a person, and one whose plan changes meanwhile.

Every thread is kept in a SQLite file. Stopped at any moment and started again, the agent goes
on where it was, with the same questions; after both acts it begins another round.
"""

import argparse
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command

from pay_vendor.graph import Payer, build, say
from pay_vendor.ledger import Ledger
from pay_vendor.model import ScriptedModel
from pay_vendor.placet import LONGEST_WAIT_S, Placet, Refused

Graph = CompiledStateGraph[Any, Any, Any, Any]


@dataclass(frozen=True, slots=True)
class Act:
    """One thread: the order that begins it, and the news that changes the plan, if any."""

    number: int
    round: int
    order: str
    news: str | None = None

    @property
    def config(self) -> RunnableConfig:
        """Give what names the thread to the graph."""
        return {"configurable": {"thread_id": f"round-{self.round}-act-{self.number}"}}


def acts(number: int) -> tuple[Act, Act]:
    """Give both acts of a round; its number makes the invoices new ones."""
    first, second = f"INV-{88411 + number}", f"INV-{90410 + number}"
    return (
        Act(1, number, f"Pay {first}: 40000000 paise to V-2291."),
        Act(
            2,
            number,
            f"Pay {second}: 12500000 paise to V-2291.",
            news=f"V-2291 has closed. Pay {second}: 12500000 paise to V-3107, its successor.",
        ),
    )


def unfinished(graph: Graph, numbers: set[int]) -> Iterator[Act]:
    """Give the acts still to be played in the first round that is not over."""
    for number in count(1):
        left = [act for act in acts(number) if act.number in numbers and not is_over(graph, act)]
        if left:
            yield from left
            return


def is_over(graph: Graph, act: Act) -> bool:
    """Whether the thread has come to its end."""
    state = graph.get_state(act.config)
    return bool(state.values) and not state.next


def play(graph: Graph, act: Act, placet: Placet, *, replan_after_s: float) -> None:
    """Run a thread to its end, from wherever it stands."""
    before = graph.get_state(act.config)
    for waiting in before.interrupts:
        say(f"I was stopped while waiting, and wait again:\n  {waiting.value['url']}")
    graph.invoke(None if before.values else {"messages": [HumanMessage(act.order)]}, act.config)
    while interrupts := graph.get_state(act.config).interrupts:
        [waiting] = interrupts
        woken = wait(graph, act, placet, waiting.value["asked_id"], replan_after_s)
        graph.invoke(Command(resume={waiting.id: woken}), act.config)


def wait(
    graph: Graph, act: Act, placet: Placet, asked_id: str, replan_after_s: float
) -> dict[str, Any]:
    """Wait until the question is answered, or until it is time for the news."""
    heard = [message.text for message in graph.get_state(act.config).values["messages"]]
    if act.news is None or act.news in heard:
        hint = "Click Approve, Edit or Reject there; I wait."
        say(hint if act.news is None else f"{BACK}\n{hint}")
        while placet.interrupt(asked_id, wait_s=LONGEST_WAIT_S)["state"] == "PENDING":
            pass
        return {}
    say(f"Open that page now, and do not answer yet: in {replan_after_s:g} s my plan changes.")
    asked = placet.interrupt(asked_id, wait_s=replan_after_s)
    if asked["state"] == "PENDING":
        return {"news": act.news}
    if asked["state"] == "DECIDED":
        say(EARLY)
    return {}


EARLY = (
    "You answered before my plan changed, so nothing came too late. To see a late answer,\n"
    "start me again after this round, and leave the question of act 2 open until I say so."
)

BACK = (
    "Now go back to the page that you left open and click Approve: your answer is refused,\n"
    "and the page says why. V-2291 gets nothing. The question above took its place."
)


def main() -> None:
    """Play what is left of the current round."""
    parser = argparse.ArgumentParser(prog="pay_vendor", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of threads and ledger")
    parser.add_argument("--owner", default="alice", help="on whose behalf the agent acts")
    parser.add_argument("--act", type=int, choices=[1, 2], help="play only this act")
    parser.add_argument("--replan-after-s", type=float, default=30, help="default: 30")
    options = parser.parse_args()
    try:
        placet = Placet(os.environ["PLACET_URL"], os.environ["PLACET_KEY"])
    except KeyError as missing:
        sys.exit(f"pay_vendor: set {missing.args[0]}: the server's address, the agent's key.")
    options.data.mkdir(parents=True, exist_ok=True)
    payer = Payer(placet, Ledger(options.data / "ledger.json"), ScriptedModel(), options.owner)
    with SqliteSaver.from_conn_string(str(options.data / "threads.sqlite")) as saver:
        graph = build(payer, saver)
        numbers = {options.act} if options.act else {1, 2}
        for act in unfinished(graph, numbers):
            say(f"Round {act.round}, act {act.number}: {act.order}")
            play(graph, act, placet, replan_after_s=options.replan_after_s)


if __name__ == "__main__":
    try:
        main()
    except Refused as refused:
        sys.exit(f"pay_vendor: {refused}")
    except KeyboardInterrupt:
        sys.exit(130)
