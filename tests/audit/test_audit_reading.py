"""Pages, feed and timelines read the record of one tenant only, each event once."""

from dataclasses import asdict
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit import feed
from audit.feed import FeedAsk, read_feeds
from audit.models import Event
from audit.numbering import number_events
from audit.reading import (
    EventFilter,
    EventPage,
    Feed,
    event_shape,
    events_after,
    events_page,
    newest_n,
    run_events,
)
from audit.record import Actor, Refused, record_for_tenant

if TYPE_CHECKING:
    from tests.audit.conftest import History

pytestmark = pytest.mark.django_db

EVERYTHING = EventFilter()


def _page(
    history: "History",
    filters: EventFilter = EVERYTHING,
    *,
    before_id: int | None = None,
    after_id: int | None = None,
) -> tuple[list[int | None], bool, bool]:
    page = events_page(
        tenant_id=history.tenant_id,
        filters=filters,
        before_id=before_id,
        after_id=after_id,
        limit=2,
    )
    return [event.n for event in page.events], page.has_newer, page.has_older


@pytest.fixture
def five(history: "History") -> "History":
    history.tell("run_x", tenant_id=history.other_tenant_id)
    history.tell("run_a", *[history.draft()] * 5)
    number_events()
    return history


def test_pages_go_from_the_newest_back_and_forth(five: "History") -> None:
    ids = list(Event.objects.filter(run_id="run_a").order_by("id").values_list("id", flat=True))

    assert _page(five) == ([5, 4], False, True)
    assert _page(five, before_id=ids[3]) == ([3, 2], True, True)
    assert _page(five, before_id=ids[1]) == ([1], True, False)
    assert _page(five, after_id=ids[0]) == ([3, 2], True, True)
    assert _page(five, after_id=ids[2]) == ([5, 4], False, True)


def test_a_page_is_one_query_and_an_empty_one_says_so(five: "History") -> None:
    with CaptureQueriesContext(connection) as queries:
        _page(five)
    nobody = events_page(tenant_id=404, filters=EVERYTHING)

    assert len(queries) == 1
    assert nobody == EventPage((), has_newer=False, has_older=False)


def test_the_page_waits_for_the_number(five: "History") -> None:
    five.tell("run_a")
    assert _page(five)[0] == [5, 4]

    number_events()
    assert _page(five)[0] == [6, 5]


def test_every_filter_restricts(history: "History", rae: Actor, noon: datetime) -> None:
    history.tell("run_a")
    history.tell(
        "run_b",
        history.draft(
            "command.refused",
            rae,
            interrupt_id="int_b",
            action_id="act_b",
            agent_id=9,
            tool="pay",
            digest="d",
            refused=Refused("expired"),
        ),
    )
    number_events()

    for matching, other in [
        (EventFilter(run_id="run_b"), EventFilter(run_id="run_c")),
        (EventFilter(interrupt_id="int_b"), EventFilter(interrupt_id="int_c")),
        (EventFilter(action_id="act_b"), EventFilter(action_id="act_c")),
        (EventFilter(agent_id=9), EventFilter(agent_id=8)),
        (
            EventFilter(actor_kind="user", actor_id=rae.id),
            EventFilter(actor_kind="agent", actor_id=rae.id),
        ),
        (EventFilter(type="command.refused"), EventFilter(type="interrupt.asked")),
        (EventFilter(tool="pay"), EventFilter(tool="pa")),
        (EventFilter(digest="d"), EventFilter(digest="e")),
        (EventFilter(code="expired"), EventFilter(code="cancelled")),
        (
            EventFilter(code="expired", since_at=noon, until_at=noon + timedelta(seconds=1)),
            EventFilter(until_at=noon),
        ),
    ]:
        assert _page(history, matching) == ([2], False, False), matching
        assert _page(history, other) == ([], False, False), other


def test_a_filter_never_reaches_into_another_tenant(five: "History") -> None:
    assert _page(five, EventFilter(run_id="run_x")) == ([], False, False)


def test_a_runs_events_do_not_wait_for_the_number(five: "History") -> None:
    five.tell("run_a", five.draft(interrupt_id="int_a"), five.draft(interrupt_id="int_b"))

    with CaptureQueriesContext(connection) as queries:
        events = run_events(tenant_id=five.tenant_id, run_id="run_a", after_seq=4)
        numbers = [(event.run_seq, event.n) for event in events]
    of_one = run_events(tenant_id=five.tenant_id, run_id="run_a", interrupt_ids=["int_b"])

    assert len(queries) == 1
    assert numbers == [(5, 5), (6, None), (7, None)]
    assert [event.run_seq for event in of_one] == [7]
    assert run_events(tenant_id=five.other_tenant_id, run_id="run_a") == []


def test_the_feed_gives_each_event_once_and_passes_over_those_of_others(
    history: "History",
) -> None:
    history.tell("run_a", history.draft(agent_id=1), history.draft(agent_id=1))
    history.tell("run_b", *[history.draft(agent_id=2)] * 3)
    history.tell("run_a", history.draft(agent_id=1))
    history.tell("run_b", history.draft(agent_id=2))
    history.tell("run_x", tenant_id=history.other_tenant_id)
    number_events()

    def feed(after: int, agent_id: int | None = None, run_id: str | None = None) -> Feed:
        return events_after(
            tenant_id=history.tenant_id, after=after, limit=2, agent_id=agent_id, run_id=run_id
        )

    def told(feed: Feed) -> tuple[list[int | None], int]:
        return [event.n for event in feed.events], feed.next

    assert newest_n(history.tenant_id) == 7
    assert told(feed(0)) == ([1, 2], 2)
    assert told(feed(5)) == ([6, 7], 7)
    assert told(feed(7)) == ([], 7)
    assert told(feed(99)) == ([], 99)
    assert told(feed(0, agent_id=1)) == ([1, 2], 2)
    assert told(feed(2, agent_id=1)) == ([6], 7)
    assert told(feed(3, run_id="run_b")) == ([4, 5], 5)


def test_many_who_ask_at_once_get_what_each_alone_would_get(
    history: "History", monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Any
) -> None:
    """Those who are near the end by one reading, the others by one each."""
    for number in range(6):
        history.tell("run_a", *[history.draft(agent_id=1)] * (number % 3))
        history.tell("run_b", history.draft(agent_id=2))
        history.tell("run_x", history.draft(agent_id=1), tenant_id=history.other_tenant_id)
    record_for_tenant(tenant_id=history.tenant_id, drafts=[history.draft(agent_id=1)])
    number_events()
    newest = newest_n(history.tenant_id)
    asked = {
        FeedAsk(tenant_id=tenant_id, after=after, limit=limit, agent_id=agent_id, run_id=run_id)
        for tenant_id in (history.tenant_id, history.other_tenant_id)
        for after in range(newest + 2)
        for limit in (1, 2, 50)
        for agent_id, run_id in ((None, None), (1, None), (2, None), (None, "run_b"), (1, "run_b"))
    }

    for near in (0, 3, 200):
        monkeypatch.setattr(feed, "NEAR", near)
        for ask, found in read_feeds(asked).items():
            assert found == events_after(**asdict(ask)), ask
    own = events_after(tenant_id=history.tenant_id, after=0, limit=50, agent_id=1)
    assert {event.run_id for event in own.events} == {"run_a"}
    with django_assert_num_queries(3):
        assert read_feeds(asked).keys() == asked


def test_an_event_has_the_shape_of_the_contract(history: "History", rae: Actor) -> None:
    history.tell(
        "run_a",
        history.draft(
            "command.refused",
            rae,
            interrupt_id="int_a",
            action_id="act_a",
            from_state="PENDING",
            to_state="PENDING",
            revision=2,
            digest="d",
            refused=Refused("expired", {"revision": 1}, {"revision": 2}),
            detail={"command": "decide"},
        ),
    )

    assert event_shape(Event.objects.get(run_id="run_a"), 4) == {
        "n": 4,
        "run_seq": 1,
        "type": "command.refused",
        "at": "2031-05-04T12:00:00.000250Z",
        "actor": {"kind": "user", "id": "102", "name": "Rae"},
        "run_id": "run_a",
        "interrupt_id": "int_a",
        "action_id": "act_a",
        "from": "PENDING",
        "to": "PENDING",
        "revision": 2,
        "digest": "d",
        "refused": {"code": "expired", "given": {"revision": 1}, "current": {"revision": 2}},
    }
