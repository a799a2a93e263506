"""Which run a graph asks in: a given one, or that of the thread."""

from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config

from placet.client import Client, Run
from placet.langgraph.holding import HOLDINGS

RunSource: TypeAlias = Run | Callable[[], Run]
"""A run, or what gives it where a graph runs."""

KEPT = 1024


def run_of(source: RunSource) -> Run:
    """The run itself, by the handle that carries this process's lease where it holds one."""
    return HOLDINGS.handle(source if isinstance(source, Run) else source())


def run_of_thread(
    client: Client,
    *,
    owner: str | Callable[[RunnableConfig], str],
    title: str | Callable[[RunnableConfig], str] = "An agent's thread",
) -> Callable[[], Run]:
    """What gives the run of the thread that the graph runs in, begun when it is first asked for.

    The thread's id is the run's `external_id`, by which the bridge finds the thread. Owner and
    title are given, or taken from the config that the graph was invoked with.
    """

    @lru_cache(maxsize=KEPT)
    def begun(thread: str, owner: str, title: str) -> Run:
        return client.create_run(title=title, owner=owner, external_id=thread)

    def run() -> Run:
        config = get_config()
        thread = str(config["configurable"]["thread_id"])
        found = begun(
            thread,
            owner if isinstance(owner, str) else owner(config),
            title if isinstance(title, str) else title(config),
        )
        return HOLDINGS.handle(found)

    return run
