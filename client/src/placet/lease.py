"""Control of a run for an executor that works in threads."""

import inspect
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from placet.driving import Threaded
from placet.errors import PlacetError, StopReason
from placet.executing import execute
from placet.flows import Flow, Pause
from placet.models import Interrupt
from placet.tenure import PARTING_S, Tenure


class Lease:
    """Control of a run, from entering its `with` to its end, renewed by a thread of its own."""

    def __init__(
        self, threaded: Threaded, tenure: Tenure, hold: Callable[[int | None], None]
    ) -> None:
        self._threaded = threaded
        self._tenure = tenure
        self._hold = hold
        self._stopped = threading.Event()
        self._ended = threading.Event()
        tenure.on_stop = self._stopped.set

    def __enter__(self) -> Self:
        """Take control; raises Refused, `lease_held` while somebody else has it."""
        self._threaded.run(self._tenure.take())
        self._hold(self._tenure.fencing_token)
        threading.Thread(target=self._keep, name="placet-lease", daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give control back; where that cannot be done it ends by itself."""
        self._ended.set()
        self._hold(None)
        if self._tenure.is_held:
            with suppress(PlacetError):
                self._threaded.run(self._tenure.release(patience_s=PARTING_S))
        self._tenure.stop(StopReason.RELEASED)

    @property
    def fencing_token(self) -> int:
        """The number of this lease, which whatever changes the run carries."""
        return self._tenure.fencing_token

    @property
    def should_stop(self) -> bool:
        """Whether the work has to end: control is lost or not sure, or a stop was asked for."""
        return self._tenure.why is not None

    def check(self) -> None:
        """Raise LeaseLost where the work has to end."""
        self._tenure.check()

    def renew(self) -> None:
        """Renew now; raises LeaseLost where control is lost. The thread renews by itself."""
        self._threaded.run(self._tenure.renew())

    def release(self) -> None:
        """Give control back now; raises Refused, `wrong_state` while an action is open."""
        self._threaded.run(self._tenure.release())
        self._ended.set()
        self._hold(None)

    def execute(
        self,
        asked: Interrupt,
        fn: Callable[..., Any],
        *,
        observation_id: str | None = None,
        refs: Any = None,
    ) -> Any:
        """Do exactly what was approved, once, and report it; gives what `fn` returns.

        `fn(args, idempotency_key=…, grant=…)` gets the approved arguments, edits included. Where it
        has a parameter `stop` it gets a `threading.Event` that is set when it has to end. What it
        returns is JSON, and is reported as the result.
        """
        named = {"stop": self._stopped} if takes_stop(fn) else {}
        flow = execute(
            self._tenure, asked, fn, named=named, observation_id=observation_id, refs=refs
        )
        return self._threaded.run(flow)

    def _keep(self) -> None:
        flow: Flow[None] = self._tenure.keep()
        try:
            step = next(flow)
            while not self._ended.is_set():
                if isinstance(step, Pause):
                    self._ended.wait(step.seconds)
                    step = flow.send(None)
                else:
                    step = flow.send(self._threaded.carry_out(step))
        except StopIteration:
            return
        except BaseException:
            self._tenure.stop(StopReason.UNCONFIRMED)  # nobody renews any more
            raise


def takes_stop(fn: Callable[..., Any]) -> bool:
    """Whether a work has a parameter `stop`."""
    try:
        return "stop" in inspect.signature(fn).parameters
    except (TypeError, ValueError):  # some callables written in C tell nothing
        return False
