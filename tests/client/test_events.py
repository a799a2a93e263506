"""The feed against the real server: each event once and in order, whoever is stopped meanwhile."""

import asyncio
import json
import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import httpx
import pytest

import placet
from approvals.api.events import EventsReader
from audit.numbering import number_events
from identity.management.reporting import OPERATOR
from identity.models import Agent
from placet import flows
from runs.waiting.notifier import wake_feeds
from runs.waiting.reader import Answer, Wait
from tests.cast import PAYMENT, Cast
from tests.client.site import Aside, People, Site, until
from tests.docs.pages import all_blocks, blocks, text_of

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = text_of("docs/howto/follow-the-events.md")

Follow = Callable[[str, str, int, list[placet.Event]], None]


def number() -> None:
    """Number what is committed, as the worker does."""
    while number_events(tell=wake_feeds):
        pass


@pytest.fixture
def own(transactional_db: None) -> Iterator[Site]:
    """A server that this test may stop."""
    site = Site()
    site.start()
    yield site
    site.stop()


def follow(url: str, key: str, count: int, told: list[placet.Event]) -> None:
    """Follow until so many were told."""
    with placet.Client(url, key) as client:
        for event in client.events():
            told.append(event)
            if len(told) == count:
                return


def follow_on_loop(url: str, key: str, count: int, told: list[placet.Event]) -> None:
    """The same on an event loop."""

    async def following() -> None:
        async with placet.AsyncClient(url, key) as client:
            async for event in client.events():
                told.append(event)
                if len(told) == count:
                    return

    asyncio.run(following())


def test_the_events_there_are_come_once_each_over_pages(
    client: placet.Client, run: placet.Run, people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H-39."""
    monkeypatch.setattr(flows, "EVENTS_LIMIT", 2)
    asked = run.ask("pay_vendor", PAYMENT, call_id="pay")
    other = client.create_run(title="Other", owner="alice")
    people.cast.run()
    people.answer(asked.id)
    number()

    told = list(client.events(wait=False))

    assert [(each.run_id, each.run_seq) for each in told] == [
        (run.id, 1),
        (run.id, 2),
        (run.id, 3),
        (other.id, 1),
        (run.id, 4),
        (run.id, 5),
    ]
    assert [each.n for each in told] == sorted({each.n for each in told})
    assert told[-2].type == "interrupt.decided"
    assert list(client.events(after=told[2].n, wait=False)) == told[3:]
    assert list(client.events(run=other.id, wait=False)) == [told[3]]


@pytest.mark.parametrize("follow", [follow, follow_on_loop])
def test_following_outlives_the_server_and_repeats_nothing(
    own: Site, key: str, cast: Cast, follow: Follow
) -> None:
    told: list[placet.Event] = []
    with placet.Client(own.url, key) as client:
        runs = [client.create_run(title="Pay", owner="alice") for _ in range(2)]
        number()
        following = Aside(lambda: follow(own.url, key, 4, told))
        until(lambda: len(told) == 2 and own.hub.waiting == 1)

        runs.append(client.create_run(title="Pay", owner="alice"))
        own.stop()
        cast.run()
        number()
        own.start()
        until(lambda: len(told) == 3 and own.hub.waiting == 1)
        runs.append(client.create_run(title="Pay", owner="alice"))
        number()

        following.join()
    assert [each.run_id for each in told] == [run.id for run in runs]
    assert [each.n for each in told] == sorted({each.n for each in told})


def test_events_of_others_neither_answer_who_waits_nor_keep_the_server_busy(
    served: Site, client: placet.Client, key: str, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H-34, H-43: of the same tenant they are passed over once, of another nobody is woken."""
    reads: list[int] = []
    answer = EventsReader.answer

    def counted(reader: EventsReader, waits: Sequence[Wait]) -> Sequence[Answer]:
        reads.append(len(waits))
        return answer(reader, waits)

    monkeypatch.setattr(EventsReader, "answer", counted)
    number()
    url, headers = f"{served.url}/api/v1/events", {"Authorization": f"Bearer {key}"}
    waiting = Aside(lambda: httpx.get(f"{url}?wait_s=50", headers=headers, timeout=60))
    until(lambda: bool(reads))
    for _ in range(15):
        cast.run()
        cast.other_run()
        number()
    mine = client.create_run(title="Pay", owner="alice")
    number()

    told = waiting.join().json()

    assert [event["run_id"] for event in told["items"]] == [mine.id]
    assert told["next"] == told["items"][0]["n"] > 15
    assert len(reads) <= 1 + 15 + 1


@pytest.mark.parametrize(
    "query",
    [
        "after=-1",
        "after=9999999999999999",
        "after=1&after=2x",
        "limit=0",
        "limit=201",
        "run=%00",
        "run=",
    ],
)
def test_whoever_waits_with_bad_parameters_is_refused_at_once(
    served: Site, key: str, query: str
) -> None:
    headers = {"Authorization": f"Bearer {key}"}

    response = httpx.get(f"{served.url}/api/v1/events?{query}&wait_s=50", headers=headers)

    assert (response.status_code, response.json()["code"]) == (422, "invalid_request")


def test_when_the_time_is_up_next_has_passed_over_what_others_did(
    served: Site, key: str, cast: Cast
) -> None:
    number()
    headers = {"Authorization": f"Bearer {key}"}
    before = httpx.get(f"{served.url}/api/v1/events", headers=headers).json()["next"]
    url = f"{served.url}/api/v1/events?after={before}&wait_s=1"
    waiting = Aside(lambda: httpx.get(url, headers=headers))
    cast.run()
    number()

    assert waiting.join().json() == {"items": [], "next": before + 1}


def test_a_key_that_ends_while_it_waits_is_told_nothing(
    served: Site, key: str, client: placet.Client
) -> None:
    """H-03: checked again after the wait."""
    number()
    url, headers = f"{served.url}/api/v1/events?wait_s=50", {"Authorization": f"Bearer {key}"}
    waiting = Aside(lambda: httpx.get(url, headers=headers, timeout=60))
    until(lambda: served.hub.waiting == 1)
    client.create_run(title="Pay", owner="alice")

    assert Agent.objects.get(name="executor").deactivate(by=OPERATOR)
    number()

    response = waiting.join()
    assert (response.status_code, response.json()["code"]) == (401, "unauthenticated")


@dataclass
class Ledger:
    """Keeps what it was told, and ends the loop of the page when it has enough."""

    enough: int
    kept: list[tuple[int, str, str | None]] = field(default_factory=list)

    def last_n(self) -> int:
        return self.kept[-1][0] if self.kept else 0

    def add(self, n: int, type: str, run_id: str | None) -> None:  # noqa: A002 - as on the page
        self.kept.append((n, type, run_id))
        if len(self.kept) % self.enough == 0:
            raise InterruptedError


def test_the_example_of_the_page_goes_on_where_it_was(
    served: Site, key: str, client: placet.Client
) -> None:
    (example,) = [block.text for block in all_blocks(PAGE) if block.how == "example"]
    names: dict[str, object] = {"Ledger": Ledger}
    exec(example, names)
    runs = [client.create_run(title="Pay", owner="alice").id for _ in range(4)]
    number()
    ledger = Ledger(enough=2)

    for _ in range(2):
        with pytest.raises(InterruptedError):
            names["follow"](served.url, key, ledger)  # type: ignore[operator]

    assert [run_id for _, _, run_id in ledger.kept] == runs


def test_the_call_of_the_page_waits_for_an_event(
    served: Site, key: str, client: placet.Client
) -> None:
    (call,) = blocks(PAGE, "bash")
    environment = {**os.environ, "KEY": key, "PLACET": served.url, "AFTER": "0"}
    number()
    waiting = Aside(lambda: subprocess.check_output(["bash", "-c", call], env=environment))
    until(lambda: served.hub.waiting == 1)
    run = client.create_run(title="Pay", owner="alice")
    number()

    told = json.loads(waiting.join())

    assert [event["run_id"] for event in told["items"]] == [run.id]
    assert told["next"] == told["items"][0]["n"]
