"""The whole application on a port of its own, which can be stopped and started; and its people."""

import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.db import connections

from approvals.models import Interrupt
from identity.models import User
from placet.protocol.states import DecisionKind
from runs.clock import database_now
from runs.models import Action, Run
from tests.cast import Cast

PATIENCE_S = 20.0


class Site:
    """A server that listens on one port, whenever it is up."""

    def __init__(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Serve as in production, with a hub of its own, as a new process would have."""
        from config import asgi
        from config.bridge import WSGIBridge
        from config.server import Server, server_config
        from runs.waiting.hub import Hub
        from runs.waiting.route import LongPolls

        self.hub = Hub(asgi.READERS)
        bridge = WSGIBridge(asgi.django, threads=4, most_body_bytes=asgi.MOST_BODY_BYTES)
        app = LongPolls(bridge, hub=self.hub, routes=asgi.ROUTES, admit=asgi.admit)
        config = server_config(app, host="127.0.0.1", port=self.port)
        self._server = Server(config, hub=self.hub)
        self._thread = threading.Thread(target=self._server.run)
        self._thread.start()
        until(lambda: self._server.started or not self._thread.is_alive())
        assert self._server.started, "the server did not start"

    def stop(self) -> None:
        """Stop it as SIGTERM does."""
        self._server.should_exit = True
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()


def until(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds, or fail."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it never came about"
        time.sleep(0.005)


@dataclass
class People:
    """What people and the passing of time do, from any thread."""

    cast: Cast

    def answer(
        self, interrupt_id: str, kind: str = "approve", user: User | None = None, **members: Any
    ) -> None:
        """Let Rae answer, or somebody else."""
        row = Interrupt.objects.get(pk=interrupt_id)
        outcome = self.cast.decide(
            row, user or self.cast.rae, decision=DecisionKind(kind), **members
        )
        assert isinstance(outcome, Interrupt), outcome

    def cancel(self, run_id: str) -> None:
        """Let Alice cancel her run."""
        outcome = Run.objects.get(pk=run_id).cancel(by=self.cast.alice)
        assert isinstance(outcome, Run), outcome

    def lapse(self, run_id: str) -> None:
        """Let the run's lease be over, if it has one."""
        held = Run.objects.filter(pk=run_id, lease_expires_at__isnull=False)
        held.update(lease_expires_at=database_now())

    def settle(self, run_id: str) -> None:
        """Let what is due be settled, as every command and the sweeper do first."""
        assert Run.objects.get(pk=run_id).settle()

    def action(self, run_id: str) -> Action:
        """The run's only action."""
        return Action.objects.get(run_id=run_id)

    def state(self, run_id: str) -> str:
        """The run's state."""
        return str(Run.objects.get(pk=run_id).state)


@dataclass
class Aside:
    """Something done in a thread of its own, with database connections of its own."""

    do: Callable[[], Any]
    outcome: Any = None
    error: BaseException | None = None
    thread: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        try:
            self.outcome = self.do()
        except BaseException as error:
            self.error = error
        finally:
            connections.close_all()

    def join(self) -> Any:
        """What it gave; raises what it raised."""
        self.thread.join(PATIENCE_S)
        assert not self.thread.is_alive(), "it never ended"
        if self.error is not None:
            raise self.error
        return self.outcome
