"""The process that wakes threads when people answered.

It keeps nothing of its own. What it missed while it was down it finds again: the server knows which
runs go on, the checkpointer which threads wait. Guards "every committed fact is told in the end".
"""

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from itertools import islice

from langchain_core.runnables import RunnableConfig

from placet.client import Client
from placet.errors import Refused
from placet.langgraph.agenda import Agenda
from placet.langgraph.holding import HOLDINGS
from placet.langgraph.waking import Graph, Threads
from placet.protocol.refusals import RefusalCode
from placet.protocol.states import RunState

log = logging.getLogger("placet.langgraph")

GOES_ON = (RunState.READY, RunState.EXPIRED)
WAITS = frozenset({RunState.WAIT_USER, RunState.IN_FLIGHT, RunState.UNKNOWN})
ENDED = frozenset({RefusalCode.NOT_FOUND, RefusalCode.RUN_CLOSED, RefusalCode.CANCELLED})
CANCELLED_WITHIN = timedelta(days=31)
"""Threads of runs that were cancelled while no bridge ran are woken if the run is so young."""

SCAN_S = 300.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 600.0
TICK_S = 0.5


def thread_config(external_id: str) -> RunnableConfig:
    """The thread that `run_of_thread` made a run for."""
    return {"configurable": {"thread_id": external_id}}


class Bridge:
    """Wakes the threads of a graph whose runs people answered; any number may run at once.

    `config_of` gives a thread's config from its run's `external_id`, or None where the run is no
    affair of this graph. The bridge holds the run's lease while a thread goes on, so that one does.
    `on_error` is told of what a graph raised, with the run's id; the log gets its type alone. A
    thread whose process died in the middle of a step waits for nobody: it is taken up once it stood
    still for `stalled_after_s`, or else by you. With `loop` the threads run on that event loop;
    call `run` in another thread then.
    """

    def __init__(
        self,
        client: Client,
        graph: Graph,
        *,
        config_of: Callable[[str], RunnableConfig | None] = thread_config,
        on_error: Callable[[str, Exception], None] | None = None,
        stalled_after_s: float | None = None,
        workers: int = 8,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self._client = client
        self._threads = Threads(graph, loop)
        self._config_of = config_of
        self._on_error = on_error
        self._stalled_after_s = stalled_after_s
        self._workers = workers
        self._agenda = Agenda()
        self._pauses: dict[str, float] = {}
        self._stopped = threading.Event()
        self._failed: list[Exception] = []

    def run(self) -> None:
        """Wake threads until `stop`; raises Refused where the key is no longer good."""
        newest = newest_event(self._client)  # before the scan, which tells all that is older
        for work in (lambda: self._follow(newest), self._scan_often):
            threading.Thread(target=work, name="placet-bridge", daemon=True).start()
        with ThreadPoolExecutor(self._workers) as pool:
            while not self._stopped.is_set():
                run_id = self._agenda.take(within_s=TICK_S)
                if run_id is not None:
                    pool.submit(self._look, run_id)
        if self._failed:
            raise self._failed[0]

    def stop(self) -> None:
        """Let `run` end when what is under way has ended."""
        self._stopped.set()

    def _follow(self, newest: int) -> None:
        """Note every run that changed its state from then on."""
        try:
            for event in self._client.events(after=newest):
                if self._stopped.is_set():
                    return
                if event.type == "run.state_changed" and event.run_id is not None:
                    self._pauses.pop(event.run_id, None)
                    self._agenda.note(event.run_id)
        except Exception as error:
            self._fail(error)

    def _scan_often(self) -> None:
        """Note every run that goes on: at the start, and from time to time in case."""
        states = [*GOES_ON, RunState.CANCELLED]
        try:
            while True:
                for state in states:
                    self._scan(state)
                states = [*GOES_ON]
                if self._stopped.wait(SCAN_S):
                    return
        except Exception as error:
            self._fail(error)

    def _scan(self, state: RunState) -> None:
        since = datetime.now(UTC) - CANCELLED_WITHIN
        for run in self._client.find_runs(state=state):
            if state.is_terminal and run.view.created_at < since:
                return
            self._agenda.note(run.id)

    def _fail(self, error: Exception) -> None:
        self._failed.append(error)
        self._stopped.set()

    def _look(self, run_id: str) -> None:
        """Wake the thread of a run that waits for nobody; look again later where it goes on."""
        try:
            is_settled = self._is_settled(run_id)
        except Exception as error:
            is_settled = isinstance(error, Refused) and error.code in ENDED
            log.warning("The thread of %s did not go on: %s", run_id, type(error).__name__)
            if self._on_error is not None:
                self._on_error(run_id, error)
        finally:
            self._agenda.let_go(run_id)
        if is_settled:
            self._pauses.pop(run_id, None)
            return
        pause_s = self._pauses.get(run_id, FIRST_PAUSE_S)
        self._pauses[run_id] = min(2 * pause_s, LONGEST_PAUSE_S)
        self._agenda.note(run_id, in_s=pause_s)

    def _is_settled(self, run_id: str) -> bool:
        """Whether there is nothing to do before the run changes again."""
        run = self._client.get_run(run_id)
        if run.state in WAITS or run.view.external_id is None:
            return True
        config = self._config_of(run.view.external_id)
        if config is None:
            return True
        with ExitStack() as stack:
            if not run.state.is_terminal:
                try:
                    stack.enter_context(HOLDINGS.lease(run))
                except Refused:
                    return False  # somebody else goes on with it, or it waits again
            is_woken = self._threads.wake(config)
            state = self._threads.state(config)
            if not is_woken and state.next and self._is_stalled(state.created_at):
                self._threads.go_on(None, config)
                state = self._threads.state(config)
        if state.values and not state.next:
            return True
        return run.state.is_terminal or run.refresh().state in WAITS

    def _is_stalled(self, since: str | None) -> bool:
        if self._stalled_after_s is None or since is None:
            return False
        age = datetime.now(UTC) - datetime.fromisoformat(since)
        return age.total_seconds() > self._stalled_after_s


def newest_event(client: Client) -> int:
    """The number of the last event that there is now, found by halving; 0 where there is none."""

    def is_any_behind(number: int) -> bool:
        return any(True for _ in islice(client.events(after=number, wait=False), 1))

    above = 1
    while is_any_behind(above):
        above *= 2
    below = 0
    while below < above:
        middle = (below + above) // 2
        below, above = (middle + 1, above) if is_any_behind(middle) else (below, middle)
    return below
