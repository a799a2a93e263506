"""Waking a thread: every interrupt of ours that waits, by its id, in strict mode."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from langchain_core.runnables import RunnableConfig
from langgraph.errors import UnknownInterruptError
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, Interrupt, StateSnapshot

Graph: TypeAlias = CompiledStateGraph[Any, Any, Any, Any]

STRICT = {"__pregel_strict_resume": True}
"""How LangGraph 1.2 is told to refuse an id that does not wait; it has no public name there."""


def wake(graph: Graph, config: RunnableConfig) -> bool:
    """Let a thread go on from all that wait for Placet; whether any did.

    It may be done at any time and by several at once: what may not run yet pauses again. What the
    graph raises is raised.
    """
    return Threads(graph).wake(config)


def is_ours(interrupt: Interrupt) -> bool:
    """Whether an interrupt waits for Placet."""
    return isinstance(interrupt.value, dict) and "placet" in interrupt.value


@dataclass(frozen=True, slots=True)
class Threads:
    """A graph's threads; with `loop` they run on that event loop, which another thread runs."""

    graph: Graph
    loop: asyncio.AbstractEventLoop | None = None

    def state(self, config: RunnableConfig) -> StateSnapshot:
        """How a thread stands."""
        if self.loop is None:
            return self.graph.get_state(config)
        return asyncio.run_coroutine_threadsafe(self.graph.aget_state(config), self.loop).result()

    def go_on(self, given: Command[Any] | None, config: RunnableConfig) -> None:
        """Let a thread run until it pauses or ends."""
        if self.loop is None:
            self.graph.invoke(given, config)
        else:
            work = self.graph.ainvoke(given, config)
            asyncio.run_coroutine_threadsafe(work, self.loop).result()

    def wake(self, config: RunnableConfig) -> bool:
        """See the function; interrupts of sub-graphs are among those of their thread."""
        ids = [each.id for each in self.state(config).interrupts if is_ours(each)]
        return bool(ids) and self.resume(ids, config)

    def resume(self, ids: Sequence[str], config: RunnableConfig) -> bool:
        """Resume these interrupts with nothing but the wake-up; False where one waits no longer."""
        strict: RunnableConfig = {**config, "configurable": {**config["configurable"], **STRICT}}
        try:
            self.go_on(Command(resume=dict.fromkeys(ids, "woken")), strict)
        except UnknownInterruptError:
            return False
        return True
