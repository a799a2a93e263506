"""The client on an event loop: the same flows, and what only a loop can do: cancel the work."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

import placet
from placet import tenure
from tests.cast import PAYMENT
from tests.client.site import Aside, People, Site

pytestmark = pytest.mark.django_db(transaction=True)

Story = Callable[[placet.AsyncClient, placet.AsyncRun], Coroutine[Any, Any, None]]
Tell = Callable[[Story], None]


@pytest.fixture
def tell(served: Site, key: str) -> Tell:
    """Give a function that runs a story with a client and a run of Alice."""

    def tell(story: Story) -> None:
        async def told() -> None:
            async with placet.AsyncClient(served.url, key) as client:
                await story(client, await client.create_run(title="Pay", owner="alice"))

        asyncio.run(told())

    return tell


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Renew ten times a second."""
    monkeypatch.setattr(tenure, "RENEW_AT", 600)


def aside(do: Callable[[], Any]) -> Awaitable[Any]:
    """Something that people do, away from the loop."""
    return asyncio.to_thread(lambda: Aside(do).join())


async def approved(run: placet.AsyncRun, people: People) -> placet.Interrupt:
    """A payment that Rae approved."""
    asked = await run.ask("pay_vendor", PAYMENT, call_id="call-1")
    await aside(lambda: people.answer(asked.id))
    return await run.wait(asked)


def test_what_is_asked_and_approved_is_done_once_and_told(tell: Tell, people: People) -> None:
    given: list[dict[str, Any]] = []

    async def pay(args: dict[str, Any], *, idempotency_key: str, grant: str) -> dict[str, str]:
        given.append(args)
        return {"receipt": "R-1"}

    async def story(client: placet.AsyncClient, run: placet.AsyncRun) -> None:
        asked = await approved(run, people)
        async with run.lease(holder="worker-1") as lease:
            assert await lease.execute(asked, pay) == {"receipt": "R-1"}
            await lease.renew()
        view = await run.finish("succeeded")
        assert (view.state, view.actions[0].state, view.lease) == ("DONE", "SUCCEEDED", None)
        assert [found.id async for found in client.find_runs()] == [run.id]

    tell(story)
    assert given == [PAYMENT]


def test_a_work_without_async_is_done_beside_the_loop(tell: Tell, people: People) -> None:
    async def story(client: placet.AsyncClient, run: placet.AsyncRun) -> None:
        asked = await approved(run, people)
        async with run.lease(holder="worker-1") as lease:
            place = await lease.execute(asked, lambda args, **_: threading.current_thread().name)
        assert place != threading.current_thread().name

    tell(story)


def test_an_exception_after_the_dispatch_leaves_the_outcome_unknown(
    tell: Tell, people: People
) -> None:
    async def breaks(args: dict[str, Any], **_: str) -> None:
        raise ConnectionResetError

    async def story(client: placet.AsyncClient, run: placet.AsyncRun) -> None:
        asked = await approved(run, people)
        with pytest.raises(ConnectionResetError):
            async with run.lease(holder="worker-1") as lease:
                await lease.execute(asked, breaks)
        assert (await run.refresh()).state == "UNKNOWN"

    tell(story)


def test_a_work_is_cancelled_where_control_is_lost(tell: Tell, people: People, quick: None) -> None:
    async def story(client: placet.AsyncClient, run: placet.AsyncRun) -> None:
        asked = await approved(run, people)
        ended: list[str] = []

        async def works(args: dict[str, Any], **_: str) -> None:
            await aside(lambda: people.lapse(run.id))
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                ended.append("cancelled")
                raise

        with pytest.raises(placet.LeaseLost) as lost:
            async with run.lease(holder="worker-1") as lease:
                await lease.execute(asked, works)
        assert (lost.value.why, ended) == (placet.StopReason.LOST, ["cancelled"])
        assert (await run.refresh()).state == "UNKNOWN"

    tell(story)


def test_a_work_hears_that_a_stop_was_asked_for(tell: Tell, people: People, quick: None) -> None:
    async def story(client: placet.AsyncClient, run: placet.AsyncRun) -> None:
        asked = await approved(run, people)

        async def works(args: dict[str, Any], *, stop: asyncio.Event, **_: str) -> None:
            await aside(lambda: people.cancel(run.id))
            await stop.wait()
            raise placet.NotExecuted("Asked to stop.")

        with pytest.raises(placet.NotExecuted):
            async with run.lease(holder="worker-1") as lease:
                await lease.execute(asked, works)
        assert (await run.refresh()).state == "CANCELLED"

    tell(story)


def test_a_cancelled_task_leaves_the_outcome_unknown_and_ends(tell: Tell, people: People) -> None:
    async def story(client: placet.AsyncClient, run: placet.AsyncRun) -> None:
        asked = await approved(run, people)
        begun = asyncio.Event()

        async def works(args: dict[str, Any], **_: str) -> None:
            begun.set()
            await asyncio.Event().wait()

        async def executes() -> None:
            async with run.lease(holder="worker-1") as lease:
                await lease.execute(asked, works)

        task = asyncio.create_task(executes())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await run.refresh()).state == "UNKNOWN"

    tell(story)
