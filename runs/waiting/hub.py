"""Keeps waiting requests as futures, and reads for them in batches in one thread.

Guards that no waiter is lost and none is told a stale "nothing new":

- A waiter is registered before its first read, so a commit in between wakes it.
- Every wake-up, reconnect and time-out leads to a fresh read, never to a remembered one.
- Once a second everybody is compared with the database, because a wake-up may be lost.
- When its time is up a waiter is answered within `GRACE_S`, whatever the database does.

Only `_answers`, `_ripe` and what `read` is given run in the reading thread, all else in the
event loop's.
"""

import asyncio
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

import structlog
from django.db import InterfaceError, OperationalError, connections

from runs.waiting.listener import Listener
from runs.waiting.reader import FAILED, UNAVAILABLE, Answer, Reader, Wait

GRACE_S = 2.0
FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 1.0
OUTAGES = (OperationalError, InterfaceError)

A = TypeVar("A")
T = TypeVar("T")
log = structlog.get_logger()


class Waiter:
    """One waiting request; `answer` resolves to None when the client went away."""

    __slots__ = ("answer", "is_last", "timer", "wait")

    def __init__(self, wait: Wait, answer: asyncio.Future[Answer | None]) -> None:
        self.wait = wait
        self.answer = answer
        self.is_last = False
        self.timer: asyncio.TimerHandle | None = None


class Hub:
    """The waiting requests of one process, each kind read by its reader."""

    def __init__(
        self, readers: Mapping[str, Reader], *, look_every_s: float = 1.0, batch: int = 200
    ) -> None:
        self._readers = readers
        self._look_every_s = look_every_s
        self._batch = batch
        self._by_id: dict[str, set[Waiter]] = {}
        self._bells: dict[str, set[asyncio.Event]] = {}
        self._unread: dict[Waiter, None] = {}
        self._unchecked: dict[Waiter, None] = {}
        self._is_draining = False
        self._pause_s = FIRST_PAUSE_S

    @property
    def waiting(self) -> int:
        """How many wait just now; may be asked from any thread."""
        return sum(map(len, list(self._by_id.values())))

    @property
    def is_draining(self) -> bool:
        """Whether everybody is sent home: nobody waits any more."""
        return self._is_draining

    async def start(self) -> None:
        """Begin to listen and to read; needs the running loop."""
        self._loop = asyncio.get_running_loop()
        self._work = asyncio.Event()
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="placet-hub")
        listener = Listener(on_ids=self.wake, on_gap=self.wake_all)
        self._tasks = [
            asyncio.create_task(body) for body in (self._read(), self._look(), listener.run())
        ]

    async def stop(self) -> None:
        """Answer everybody with the present state, then end every task."""
        self.drain()
        if answers := [waiter.answer for waiter in self._everybody()]:
            await asyncio.wait(answers)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._executor.shutdown(wait=False, cancel_futures=True)

    def register(self, wait: Wait, *, wait_s: float) -> Waiter:
        """Take a request that may wait so long; await its `answer`, then `forget` it."""
        waiter = Waiter(wait, self._loop.create_future())
        self._by_id.setdefault(wait.object_id, set()).add(waiter)
        if self._is_draining:
            self._make_last(waiter)
        else:
            waiter.timer = self._loop.call_later(wait_s, self._make_last, waiter)
            self._want([waiter])
        return waiter

    def forget(self, waiter: Waiter) -> None:
        """Drop a waiter, answered or not; harmless when repeated."""
        self._settle(waiter, None)

    def bell(self, key: str) -> asyncio.Event:
        """An event that is set by each wake-up of this key, by each gap and by the end."""
        bell = asyncio.Event()
        self._bells.setdefault(key, set()).add(bell)
        return bell

    def silence(self, key: str, bell: asyncio.Event) -> None:
        """Let a bell go; harmless when repeated."""
        if bells := self._bells.get(key):
            bells.discard(bell)
            if not bells:
                del self._bells[key]

    async def read(self, read: Callable[[A], T], asked: A) -> T:
        """What `read` gives in the hub's thread; OUTAGES where the database cannot be reached."""
        return await self._loop.run_in_executor(self._executor, _closing(read), asked)

    def wake(self, ids: Iterable[str]) -> None:
        """Read again for everybody who waits for one of these ids."""
        ids = list(ids)
        self._ring(ids)
        woken = [waiter for each in ids for waiter in self._by_id.get(each, ())]
        if len(woken) <= self._batch:
            self._want(woken)
        else:  # one id that many wait for: most of them have nothing new
            self._check(woken)

    def wake_all(self) -> None:
        """Read again for everybody: wake-ups may have been missed."""
        self._want(self._everybody())
        self._ring(list(self._bells))

    def drain(self) -> None:
        """From now on answer everybody at once with the present state."""
        self._is_draining = True
        for waiter in self._everybody():
            self._make_last(waiter)
        self._ring(list(self._bells))

    def _ring(self, keys: Iterable[str]) -> None:
        for key in keys:
            for bell in self._bells.get(key, ()):
                bell.set()

    def _everybody(self) -> list[Waiter]:
        return [waiter for waiters in self._by_id.values() for waiter in waiters]

    def _want(self, waiters: Iterable[Waiter]) -> None:
        self._unread.update(dict.fromkeys(waiters))
        self._work.set()

    def _check(self, waiters: Iterable[Waiter]) -> None:
        self._unchecked.update(dict.fromkeys(waiters))
        self._work.set()

    def _make_last(self, waiter: Waiter) -> None:
        if waiter.is_last or waiter.answer.done():
            return
        waiter.is_last = True
        if waiter.timer is not None:
            waiter.timer.cancel()
        waiter.timer = self._loop.call_later(GRACE_S, self._settle, waiter, UNAVAILABLE)
        self._want([waiter])

    def _settle(self, waiter: Waiter, answer: Answer | None) -> None:
        if not waiter.answer.done():  # a cancelled request has cancelled it
            waiter.answer.set_result(answer)
        if waiter.timer is not None:
            waiter.timer.cancel()
        self._unread.pop(waiter, None)
        self._unchecked.pop(waiter, None)
        self._leave(waiter)

    def _leave(self, waiter: Waiter) -> None:
        if waiters := self._by_id.get(waiter.wait.object_id):
            waiters.discard(waiter)
            if not waiters:
                del self._by_id[waiter.wait.object_id]

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(self._look_every_s)
            self._check(each for each in self._everybody() if each not in self._unread)

    async def _read(self) -> None:
        while True:
            await self._work.wait()
            self._work.clear()
            while self._unread or self._unchecked:
                try:
                    await self._answer_some()
                    await self._check_some()
                except OUTAGES as error:
                    await self._outlast(error)
                except Exception:  # a fault of ours must not end the only reader
                    log.exception("hub.failed")
                    await asyncio.sleep(self._pause_s)

    async def _answer_some(self) -> None:
        batch = _take(self._unread, self._batch)
        if not batch:
            return
        try:
            answers = await self._in_thread(self._answers, batch)
        except OUTAGES:
            for waiter in batch:
                if waiter.is_last:
                    self._settle(waiter, UNAVAILABLE)
            self._want(waiter for waiter in batch if not waiter.answer.done())
            raise
        self._pause_s = FIRST_PAUSE_S
        for waiter, answer in zip(batch, answers, strict=True):
            if answer.is_final or waiter.is_last:
                self._settle(waiter, answer)
            elif answer.onward is not None and not waiter.answer.done():
                self._go_on(waiter, answer.onward)

    def _go_on(self, waiter: Waiter, onward: Wait) -> None:
        """Let it wait for what is left; under another id it may have missed a wake-up."""
        is_moved = onward.object_id != waiter.wait.object_id
        if is_moved:
            self._leave(waiter)
        waiter.wait = onward
        if is_moved:
            self._by_id.setdefault(onward.object_id, set()).add(waiter)
            self._check([waiter])

    async def _check_some(self) -> None:
        batch = _take(self._unchecked, self._batch)
        if not batch:
            return
        ripe = await self._in_thread(self._ripe, batch)
        self._want(
            waiter
            for waiter, is_ripe in zip(batch, ripe, strict=True)
            if is_ripe and not waiter.answer.done()
        )

    async def _outlast(self, error: Exception) -> None:
        """Give the database a moment; whoever waits goes on waiting."""
        log.warning("hub.database_unreachable", error=type(error).__name__, waiting=self.waiting)
        self._unchecked.clear()
        await asyncio.sleep(self._pause_s * random.uniform(0.5, 1.0))
        self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)

    async def _in_thread(
        self, read: Callable[[Sequence[Wait]], list[T]], batch: Sequence[Waiter]
    ) -> list[T]:
        waits = [waiter.wait for waiter in batch]
        return await self._loop.run_in_executor(self._executor, read, waits)

    def _answers(self, waits: Sequence[Wait]) -> list[Answer]:
        try:
            return self._by_kind(waits, lambda reader, some: reader.answer(some))
        except OUTAGES:
            raise
        except Exception:
            if len(waits) > 1:  # one that cannot be read must not take the others with it
                return [answer for wait in waits for answer in self._answers([wait])]
            log.exception("hub.read_failed", kind=waits[0].kind, object_id=waits[0].object_id)
            return [FAILED]
        finally:
            connections.close_all()

    def _ripe(self, waits: Sequence[Wait]) -> list[bool]:
        try:
            return self._by_kind(waits, lambda reader, some: reader.ripe(some))
        except OUTAGES:
            raise
        except Exception:
            log.exception("hub.look_failed")
            return [False] * len(waits)
        finally:
            connections.close_all()

    def _by_kind(
        self, waits: Sequence[Wait], ask: Callable[[Reader, Sequence[Wait]], Sequence[T]]
    ) -> list[T]:
        told: dict[int, T] = {}
        for kind in {wait.kind for wait in waits}:
            places = [place for place, wait in enumerate(waits) if wait.kind == kind]
            told.update(
                zip(
                    places,
                    ask(self._readers[kind], [waits[place] for place in places]),
                    strict=True,
                )
            )
        return [told[place] for place in range(len(waits))]


def _closing(read: Callable[[A], T]) -> Callable[[A], T]:
    """The same reading, after which no connection is held."""

    def closing(asked: A) -> T:
        try:
            return read(asked)
        finally:
            connections.close_all()

    return closing


def _take(queue: dict[Waiter, None], most: int) -> list[Waiter]:
    taken = list(islice(queue, most))
    for waiter in taken:
        del queue[waiter]
    return taken
