"""The graph that the LangGraph server serves: one node that asks and goes on."""

from __future__ import annotations

from typing import TypedDict

from langgraph.graph import START, StateGraph
from langgraph.types import interrupt


class State(TypedDict, total=False):
    """What the node leaves behind."""

    answer: str


def pay(state: State) -> State:
    """Ask, wait for the answer, go on."""
    question = {"tool": "pay_vendor", "args": {"vendor_id": "V-2291", "amount_paise": 40_000_000}}
    return {"answer": interrupt(question)}


graph = StateGraph(State).add_node(pay).add_edge(START, "pay").compile()
