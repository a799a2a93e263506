"""Control of a run for an executor that works on an event loop."""

import asyncio
import inspect
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from placet.driving import OnLoop, worked
from placet.errors import LeaseLost, PlacetError, StopReason
from placet.executing import execute
from placet.lease import takes_stop
from placet.models import Interrupt
from placet.tenure import PARTING_S, Tenure


class AsyncLease:
    """Control of a run, from entering its `async with` to its end, renewed by a task of its own."""

    def __init__(self, on_loop: OnLoop, tenure: Tenure, hold: Callable[[int | None], None]) -> None:
        self._on_loop = on_loop
        self._tenure = tenure
        self._hold = hold
        self._stopped = asyncio.Event()
        self._stopped_for_threads = threading.Event()
        self._lost = asyncio.Event()
        self._keeper: asyncio.Task[None] | None = None
        tenure.on_stop = self._tell

    async def __aenter__(self) -> Self:
        """Take control; raises Refused, `lease_held` while somebody else has it."""
        await self._on_loop.run(self._tenure.take())
        self._hold(self._tenure.fencing_token)
        self._keeper = asyncio.create_task(self._keep(), name="placet-lease")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give control back; where that cannot be done it ends by itself."""
        await self._end()
        if self._tenure.is_held:
            with suppress(PlacetError):
                await self._on_loop.run(self._tenure.release(patience_s=PARTING_S))
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

    async def renew(self) -> None:
        """Renew now; raises LeaseLost where control is lost. The task renews by itself."""
        await self._on_loop.run(self._tenure.renew())

    async def release(self) -> None:
        """Give control back now; raises Refused, `wrong_state` while an action is open."""
        await self._on_loop.run(self._tenure.release())
        await self._end()

    async def execute(
        self,
        asked: Interrupt,
        fn: Callable[..., Any],
        *,
        observation_id: str | None = None,
        refs: Any = None,
    ) -> Any:
        """Do exactly what was approved, once, and report it; gives what `fn` gives.

        As `Lease.execute`. An asynchronous `fn` is cancelled where control is lost, and its
        parameter `stop`, if it has one, is an `asyncio.Event`; any other runs in a thread, is left
        to end by itself, and gets a `threading.Event`.
        """
        is_async = inspect.iscoroutinefunction(fn)
        stop = self._stopped if is_async else self._stopped_for_threads

        async def watched(args: dict[str, Any], **named: Any) -> Any:
            return await self._watched(fn, args, named, is_async=is_async)

        return await self._on_loop.run(
            execute(
                self._tenure,
                asked,
                watched,
                named={"stop": stop} if takes_stop(fn) else {},
                observation_id=observation_id,
                refs=refs,
            )
        )

    async def _watched(
        self, fn: Callable[..., Any], args: dict[str, Any], named: dict[str, Any], *, is_async: bool
    ) -> Any:
        work = asyncio.ensure_future(worked(fn, args, named))
        lost = asyncio.ensure_future(self._lost.wait())
        try:
            await asyncio.wait({work, lost} if is_async else {work}, return_when="FIRST_COMPLETED")
        finally:  # also where this very task is being cancelled
            lost.cancel()
            if not work.done():
                work.cancel()
                await asyncio.wait({work})
        if work.cancelled() and (why := self._tenure.why) is not None:
            raise LeaseLost(why)
        return await work

    async def _keep(self) -> None:
        try:
            await self._on_loop.run(self._tenure.keep())
        except asyncio.CancelledError:
            raise
        except BaseException:
            self._tenure.stop(StopReason.UNCONFIRMED)  # nobody renews any more
            raise

    async def _end(self) -> None:
        self._hold(None)
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.wait({self._keeper})

    def _tell(self) -> None:
        self._stopped.set()
        self._stopped_for_threads.set()
        if self._tenure.why in (StopReason.LOST, StopReason.UNCONFIRMED):
            self._lost.set()
