"""Waking a thread: every interrupt of ours that waits, by its id, in strict mode."""

from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.errors import UnknownInterruptError
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, Interrupt

Graph = CompiledStateGraph[Any, Any, Any, Any]

STRICT = {"__pregel_strict_resume": True}
"""How LangGraph 1.2 is told to refuse an id that does not wait; it has no public name there."""


def waiting_interrupts(graph: Graph, config: RunnableConfig) -> list[Interrupt]:
    """The interrupts of a thread that wait for Placet, those of sub-graphs among them."""
    return [each for each in graph.get_state(config).interrupts if is_ours(each)]


def is_ours(interrupt: Interrupt) -> bool:
    """Whether an interrupt was made by `pause`."""
    return isinstance(interrupt.value, dict) and "placet" in interrupt.value


def wake(graph: Graph, config: RunnableConfig) -> bool:
    """Let a thread go on from all that wait for Placet; whether any did.

    One that somebody else woke meanwhile is let be. What the graph raises is raised.
    """
    ids = [each.id for each in waiting_interrupts(graph, config)]
    if not ids:
        return False
    return resume(graph, config, ids)


def resume(graph: Graph, config: RunnableConfig, ids: list[str]) -> bool:
    """Resume these interrupts with nothing but the wake-up; whether they still waited."""
    strict: RunnableConfig = {**config, "configurable": {**config["configurable"], **STRICT}}
    try:
        graph.invoke(Command(resume=dict.fromkeys(ids, "woken")), strict)
    except UnknownInterruptError:
        return False
    return True
