"""Waking a thread: every interrupt of ours that waits, by its id, in strict mode."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from langchain_core.runnables import RunnableConfig
from langgraph.errors import UnknownInterruptError
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, Interrupt

Graph: TypeAlias = CompiledStateGraph[Any, Any, Any, Any]

STRICT = {"__pregel_strict_resume": True}
"""How LangGraph 1.2 is told to refuse an id that does not wait; it has no public name there."""


def wake(graph: Graph, config: RunnableConfig) -> bool:
    """Let a thread go on from all that wait for Placet; whether any did.

    It may be done at any time and by several at once: what may not run yet pauses again. What the
    graph raises is raised.
    """
    ids = [each.id for each in waiting_interrupts(graph, config)]
    return bool(ids) and resume(graph, config, ids)


def waiting_interrupts(graph: Graph, config: RunnableConfig) -> list[Interrupt]:
    """The interrupts of a thread that wait for Placet, those of sub-graphs among them."""
    return [each for each in graph.get_state(config).interrupts if is_ours(each)]


def is_ours(interrupt: Interrupt) -> bool:
    """Whether an interrupt was made by `pause`."""
    return isinstance(interrupt.value, dict) and "placet" in interrupt.value


def resume(graph: Graph, config: RunnableConfig, ids: Sequence[str]) -> bool:
    """Resume these interrupts with nothing but the wake-up; False where one waits no longer."""
    strict: RunnableConfig = {**config, "configurable": {**config["configurable"], **STRICT}}
    try:
        graph.invoke(Command(resume=dict.fromkeys(ids, "woken")), strict)
    except UnknownInterruptError:
        return False
    return True
