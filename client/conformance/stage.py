"""One situation's surroundings: a thread, what it paid, and how the server sees it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from uuid import uuid4

from conformance.driver import Agent, Args, Call, Driver
from conformance.person import Person
from conformance.site import Site
from placet import Interrupt, Run


@dataclass
class Stage:
    """A thread of its own for a driver, and the payments that its agents made."""

    site: Site
    driver: Driver
    by_sub_agent: bool = False
    thread: str = field(default_factory=lambda: f"thread-{uuid4().hex}")
    payments: list[Args] = field(default_factory=list)
    _opened: list[Agent] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def rae(self) -> Person:
        """Who answers."""
        return self.site.rae

    @property
    def run(self) -> Run:
        """The thread's run, as the server has it."""
        (run,) = self.site.client.find_runs(external_id=self.thread)
        return run

    def open(self) -> Agent:
        """Another process that holds the thread."""
        agent = self.driver.open(self.site, self.thread, self._pay, by_sub_agent=self.by_sub_agent)
        self._opened.append(agent)
        return agent

    def begin(self, *calls: Call) -> Agent:
        """An agent that waits for these calls; none of them ran, and nothing failed."""
        agent = self.open()
        agent.begin(calls)
        assert {each.call_id for each in self.waiting()} == {call.id for call in calls}
        assert (agent.is_over(), agent.told(), self.payments) == (False, {}, [])
        assert self.run.state == "WAIT_USER"
        return agent

    def waiting(self) -> list[Interrupt]:
        """What people are asked now, in the order of asking."""
        interrupts = self.run.refresh(is_all=True).interrupts
        return sorted(
            (each for each in interrupts if each.is_pending), key=lambda each: each.created_at
        )

    def asked(self, call: Call) -> Interrupt:
        """The question about a call that people are asked now; it shows what would run."""
        (interrupt,) = (each for each in self.waiting() if each.call_id == call.id)
        assert (interrupt.tool, interrupt.args) == ("pay_vendor", call.args)
        return interrupt

    def close(self) -> None:
        """Let go of everything."""
        for agent in self._opened:
            agent.close()

    def _pay(self, args: Args) -> str:
        with self._lock:
            self.payments.append(dict(args))
        return f"Paid {args['vendor_id']}."


@contextmanager
def staged(site: Site, driver: Driver, *, by_sub_agent: bool = False) -> Iterator[Stage]:
    """A stage that is cleared at the end."""
    stage = Stage(site, driver, by_sub_agent)
    try:
        yield stage
    finally:
        stage.close()
