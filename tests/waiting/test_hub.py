"""The hub when the database, a reader or a waiter does not behave."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

import pytest
from django.db import OperationalError

from runs.waiting.hub import Hub
from runs.waiting.reader import FAILED, UNAVAILABLE, Answer, Wait
from tests.waiting.site import JSON, Things, until

PENDING = Answer(200, b'{"state":"PENDING"}', JSON, is_final=False)
DECIDED = Answer(200, b'{"state":"DECIDED"}', JSON, is_final=True)


class Scripted:
    """Answers what the test says, or raises it."""

    def __init__(self) -> None:
        self.says: Callable[[Wait], Answer] = lambda _: PENDING
        self.asked: list[list[str]] = []
        self.looked: list[list[str]] = []

    def answer(self, waits: Sequence[Wait]) -> Sequence[Answer]:
        self.asked.append([wait.object_id for wait in waits])
        return [self.says(wait) for wait in waits]

    def ripe(self, waits: Sequence[Wait]) -> Sequence[bool]:
        self.looked.append([wait.object_id for wait in waits])
        return [self.says(wait).is_final for wait in waits]


class Watched(Hub):
    """A hub that says when it has begun to listen and told everybody so."""

    is_listening = False

    def wake_all(self) -> None:
        super().wake_all()
        self.is_listening = True


def wait_for(object_id: str) -> Wait:
    return Wait("good", "interrupt", object_id)


@pytest.fixture
def scripted() -> Scripted:
    return Scripted()


Play = Callable[[Callable[[Hub], Awaitable[None]]], None]


@pytest.fixture
def play(things: Things, scripted: Scripted) -> Play:
    """Give a function that runs a scene with a started hub."""

    def play(scene: Callable[[Hub], Awaitable[None]]) -> None:
        async def whole() -> None:
            hub = Watched({"interrupt": scripted}, look_every_s=60.0, batch=10)
            await hub.start()
            await until(lambda: hub.is_listening)
            try:
                await scene(hub)
            finally:
                await hub.stop()

        asyncio.run(whole())

    return play


def test_an_outage_keeps_the_waiting_and_answers_503_when_time_is_up(
    scripted: Scripted, play: Play
) -> None:
    def unreachable(_: Wait) -> Answer:
        raise OperationalError("no database")

    async def scene(hub: Hub) -> None:
        scripted.says = unreachable
        short = hub.register(wait_for("int_1"), wait_s=0.1)
        long = hub.register(wait_for("int_2"), wait_s=30)
        assert await asyncio.wait_for(short.answer, 3) == UNAVAILABLE
        scripted.says = lambda _: DECIDED
        assert await asyncio.wait_for(long.answer, 3) == DECIDED

    play(scene)


def test_a_waiter_is_answered_in_time_even_when_the_database_hangs(
    scripted: Scripted, play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runs.waiting.hub.GRACE_S", 0.2)

    async def scene(hub: Hub) -> None:
        loop = asyncio.get_running_loop()
        released = asyncio.Event()

        def hang(_: Wait) -> Answer:
            asyncio.run_coroutine_threadsafe(released.wait(), loop).result(10)
            return PENDING

        scripted.says = hang
        waiter = hub.register(wait_for("int_1"), wait_s=0.1)
        assert await asyncio.wait_for(waiter.answer, 2) == UNAVAILABLE
        assert hub.waiting == 0
        released.set()

    play(scene)


def test_one_that_cannot_be_read_does_not_take_the_others_with_it(
    scripted: Scripted, play: Play
) -> None:
    def fault(wait: Wait) -> Answer:
        if wait.object_id == "int_2":
            raise KeyError("a fault of ours")
        return DECIDED

    async def scene(hub: Hub) -> None:
        scripted.says = fault
        waiters = [hub.register(wait_for(f"int_{n}"), wait_s=30) for n in range(5)]
        answers = await asyncio.gather(*(waiter.answer for waiter in waiters))
        assert answers == [DECIDED, DECIDED, FAILED, DECIDED, DECIDED]

    play(scene)


def test_newcomers_are_read_together(scripted: Scripted, play: Play) -> None:
    async def scene(hub: Hub) -> None:
        for number in range(10):
            hub.register(wait_for(f"int_{number}"), wait_s=30)
        await until(lambda: bool(scripted.asked))
        assert scripted.asked == [[f"int_{number}" for number in range(10)]]

    play(scene)


def test_a_wake_up_reads_only_for_its_own_ids(scripted: Scripted, play: Play) -> None:
    async def scene(hub: Hub) -> None:
        for number in range(5):
            hub.register(wait_for(f"int_{number}"), wait_s=30)
        await until(lambda: bool(scripted.asked))
        hub.wake({"int_3", "run_9"})
        await until(lambda: len(scripted.asked) == 2)
        assert scripted.asked[1] == ["int_3"]

    play(scene)


def test_what_is_left_to_wait_for_can_have_another_id(scripted: Scripted, play: Play) -> None:
    """It is looked at once it has moved, since nobody could wake it there before."""
    first, left = wait_for("events"), wait_for("events_7")

    async def scene(hub: Hub) -> None:
        scripted.says = lambda wait: replace(PENDING, onward=left)
        waiter = hub.register(first, wait_s=30)
        await until(lambda: scripted.looked == [["events_7"]])
        hub.wake({"events"})
        hub.wake({"events_7"})
        await until(lambda: len(scripted.asked) == 2)
        assert scripted.asked == [["events"], ["events_7"]]

        scripted.says = lambda wait: DECIDED
        hub.wake({"events_7"})
        assert await asyncio.wait_for(waiter.answer, 3) == DECIDED
        assert hub.waiting == 0

    play(scene)


def test_an_id_that_many_wait_for_is_looked_at_cheaply_first(
    scripted: Scripted, play: Play
) -> None:
    async def scene(hub: Hub) -> None:
        for _ in range(11):
            hub.register(wait_for("events"), wait_s=30)
        await until(lambda: sum(map(len, scripted.asked)) == 11)
        hub.wake({"events"})
        await until(lambda: sum(map(len, scripted.looked)) == 11)
        assert sum(map(len, scripted.asked)) == 11

    play(scene)


def test_a_cancelled_or_forgotten_waiter_leaves_nothing_behind(
    scripted: Scripted, play: Play
) -> None:
    async def scene(hub: Hub) -> None:
        cancelled = hub.register(wait_for("int_1"), wait_s=30)
        forgotten = hub.register(wait_for("int_1"), wait_s=30)
        cancelled.answer.cancel()
        hub.forget(cancelled)
        hub.forget(forgotten)
        hub.forget(forgotten)
        assert hub.waiting == 0
        assert await forgotten.answer is None

    play(scene)


def test_nobody_begins_to_wait_while_the_hub_drains(scripted: Scripted, play: Play) -> None:
    async def scene(hub: Hub) -> None:
        before = hub.register(wait_for("int_1"), wait_s=50)
        hub.drain()
        after = hub.register(wait_for("int_2"), wait_s=50)
        assert await asyncio.wait_for(before.answer, 1) == PENDING
        assert await asyncio.wait_for(after.answer, 1) == PENDING
        assert hub.is_draining

    play(scene)
