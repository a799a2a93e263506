"""The feed over HTTP: whose events a key is told, from where, and what is refused."""

from dataclasses import dataclass
from typing import Any

import pytest
from django.test import Client

from approvals.api.events import EventsReader, is_plain
from audit.models import Event
from audit.numbering import number_events
from identity.management.reporting import OPERATOR
from identity.models import Agent
from identity.roles import DEFAULT_SCOPES, Scope
from runs.ids import new_id
from runs.models import Run
from runs.waiting.notifier import feed_key
from runs.waiting.reader import Wait
from tests.approvals.api import AgentHTTP, code
from tests.cast import Cast

pytestmark = pytest.mark.django_db


@dataclass(frozen=True)
class Story:
    """Runs of two agents of one tenant and of one of another, asked about in turn."""

    cast: Cast
    mine: Run
    neighbors: Run
    foreign: Run
    neighbor_key: str
    watcher_key: str

    @property
    def newest(self) -> int:
        return Event.objects.filter(tenant_id=self.cast.tenant.pk).count()


@pytest.fixture
def story(cast: Cast) -> Story:
    _, neighbor_key = Agent.create(
        "neighbor", tenant=cast.tenant, any_owner=True, scopes=DEFAULT_SCOPES, by=OPERATOR
    )
    _, watcher_key = Agent.create(
        "watcher", tenant=cast.tenant, any_owner=True, scopes=[Scope.EVENTS], by=OPERATOR
    )
    mine, foreign = cast.run(), cast.other_run()
    http = AgentHTTP(neighbor_key)
    neighbors = Run.objects.get(pk=http.run()["id"])
    interrupt = cast.ask(mine)
    http.post(f"/runs/{neighbors.pk}/cancel")
    cast.ask(foreign)
    cast.decide(interrupt, cast.rae)
    AgentHTTP(cast.key).post("/runs", {"title": "t", "owner": "nobody"})  # refused, without a run
    number_events()
    return Story(cast, mine, neighbors, foreign, neighbor_key, watcher_key)


def feed(key: str, query: str = "") -> Any:
    return AgentHTTP(key).get(f"/events{query}").json()


def seen(page: Any) -> list[tuple[str | None, int]]:
    return [(event["run_id"], event["run_seq"]) for event in page["items"]]


def test_a_key_is_told_the_events_of_its_agents_own_runs(story: Story) -> None:
    mine = feed(story.cast.key)
    neighbors = feed(story.neighbor_key)

    assert seen(mine) == [(story.mine.pk, seq) for seq in range(1, len(mine["items"]) + 1)]
    assert [event["type"] for event in mine["items"] if event["interrupt_id"]] == [
        "interrupt.asked",
        "interrupt.decided",
    ]
    assert {run for run, _ in seen(neighbors)} == {story.neighbors.pk}
    assert (mine["next"], neighbors["next"]) == (story.newest, story.newest)


def test_with_the_scope_events_it_is_the_whole_tenant_and_no_other(story: Story) -> None:
    """H-34."""
    told = feed(story.watcher_key, "?limit=200")

    numbers = [event["n"] for event in told["items"]]
    assert numbers == list(range(1, story.newest + 1))
    assert {run for run, _ in seen(told)} == {None, story.mine.pk, story.neighbors.pk}
    assert told["next"] == story.newest


def test_an_event_is_told_as_the_record_has_it(story: Story) -> None:
    decided = next(e for e in feed(story.cast.key)["items"] if e["type"] == "interrupt.decided")
    row = Event.objects.get(type="interrupt.decided")

    assert decided == {
        "n": row.n,
        "run_seq": row.run_seq,
        "type": "interrupt.decided",
        "at": row.at.isoformat().replace("+00:00", "Z"),
        "actor": {"kind": "user", "id": story.cast.rae.public_id, "name": "rae"},
        "run_id": story.mine.pk,
        "interrupt_id": row.interrupt_id,
        "action_id": None,
        "from": "PENDING",
        "to": "DECIDED",
        "revision": row.revision,
        "digest": row.digest,
        "refused": None,
    }


@pytest.mark.parametrize("limit", [1, 2, 3, 200])
def test_pages_give_each_event_once_in_order(story: Story, limit: int) -> None:
    """H-39."""
    for key in (story.cast.key, story.watcher_key):
        whole, found, after = feed(key, "?limit=200")["items"], [], 0
        while (page := feed(key, f"?after={after}&limit={limit}"))["items"]:
            assert len(page["items"]) <= limit
            found += page["items"]
            after = page["next"]

        assert found == whole
        assert page == {"items": [], "next": story.newest}


def test_behind_the_last_number_is_nothing_and_next_stays(story: Story) -> None:
    assert feed(story.cast.key, "?after=999999999999999") == {
        "items": [],
        "next": 999_999_999_999_999,
    }


def test_what_has_no_number_yet_is_not_told(story: Story) -> None:
    newest = story.newest
    story.cast.run()
    assert feed(story.cast.key, f"?after={newest}") == {"items": [], "next": newest}

    number_events()

    assert [event["n"] for event in feed(story.cast.key, f"?after={newest}")["items"]] == [
        newest + 1
    ]


def test_a_run_that_the_key_may_see_restricts_the_feed(story: Story) -> None:
    whole = feed(story.cast.key)
    neighbors = feed(story.neighbor_key)

    assert feed(story.cast.key, f"?run={story.mine.pk}") == whole
    assert feed(story.watcher_key, f"?run={story.mine.pk}") == whole
    assert feed(story.watcher_key, f"?run={story.neighbors.pk}") == neighbors


def test_absent_foreign_and_malformed_runs_look_alike(story: Story) -> None:
    """H-34: to the byte, for the scope `events` too."""
    runs = (new_id("run"), story.foreign.pk, "run_1", "x" * 255, "%F0%9F%98%80")
    answers = {
        AgentHTTP(key).get(f"/events?run={run}").content
        for key in (story.cast.key, story.watcher_key)
        for run in runs
    } | {AgentHTTP(story.cast.key).get(f"/events?run={story.neighbors.pk}").content}

    assert len(answers) == 1
    assert code(AgentHTTP(story.cast.key).get("/events?run=run_1")) == (404, "not_found")


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ("after=-1", "/after"),
        ("after=", "/after"),
        ("after=1.0", "/after"),
        ("after=%D9%A3", "/after"),
        ("after=9999999999999999", "/after"),
        ("limit=0", "/limit"),
        ("limit=201", "/limit"),
        ("limit=x", "/limit"),
        ("run=", "/run"),
        ("run=%00", "/run"),
        (f"run={'x' * 256}", "/run"),
        ("wait_s=-1", "/wait_s"),
        ("wait_s=abc", "/wait_s"),
    ],
)
def test_bad_parameters_are_refused_with_their_place(cast: Cast, query: str, pointer: str) -> None:
    """H-43; also by the hub, which leaves them to the view."""
    response = AgentHTTP(cast.key).get(f"/events?{query}")

    assert code(response) == (422, "invalid_request")
    assert [fault["pointer"] for fault in response.json()["errors"]] == [pointer]
    name, _, text = query.partition("=")
    if name in ("limit", "run") and "%" not in text:
        assert not is_plain([(name, text)])


def test_the_hub_takes_plain_parameters_alone() -> None:
    assert is_plain([])
    assert is_plain([("limit", "1"), ("run", "run_x"), ("unknown", ""), ("unknown", "")])
    assert all(is_plain([("limit", str(limit))]) for limit in range(1, 201))
    assert not is_plain([("limit", "10"), ("limit", "10")])
    assert not is_plain([("run", "a\x00")])
    assert not any(is_plain([("limit", text)]) for text in ("0", "201", "+5", "05", "5.0", "٣"))


def test_strangers_are_told_nothing(cast: Cast) -> None:
    """H-03."""
    number_events()
    assert code(Client().get("/api/v1/events")) == (401, "unauthenticated")


def test_a_page_costs_the_same_queries_however_long(
    story: Story, django_assert_num_queries: Any
) -> None:
    """The key, the run where one is named, the last number, the events."""
    for _ in range(5):
        story.cast.ask(story.cast.run())
    number_events()

    with django_assert_num_queries(3):
        feed(story.cast.key, "?limit=200")
    with django_assert_num_queries(3):
        feed(story.watcher_key, "?limit=200")
    with django_assert_num_queries(4):
        feed(story.cast.key, f"?run={story.mine.pk}")


def wait(key: str, after: int = 0, **query: str) -> Wait:
    return Wait(key, "events", "events", after, tuple(query.items()))


def test_who_waits_is_told_what_the_view_tells(story: Story) -> None:
    cases = [
        (key, after, query)
        for key in (story.cast.key, story.watcher_key, story.neighbor_key, "plk_nonsense")
        for after in (0, 2, story.newest - 1)
        for query in ({}, {"limit": "2"}, {"run": story.mine.pk}, {"run": story.foreign.pk})
    ]

    answers = EventsReader().answer([wait(key, after, **query) for key, after, query in cases])

    for (key, after, query), answer in zip(cases, answers, strict=True):
        names = "".join(f"&{name}={text}" for name, text in query.items())
        response = AgentHTTP(key).get(f"/events?after={after}{names}")
        assert (answer.status, answer.body) == (response.status_code, response.content)
        assert answer.is_final == (response.status_code != 200 or bool(response.json()["items"]))


def test_who_waits_goes_on_behind_what_is_not_for_them(
    story: Story, django_assert_num_queries: Any
) -> None:
    newest, reader = story.newest, EventsReader()
    (first,) = reader.answer([wait(story.neighbor_key, newest)])
    onward = first.onward
    assert onward is not None
    assert (first.is_final, onward.object_id) == (False, feed_key(story.cast.tenant.pk))
    assert reader.ripe([wait(story.neighbor_key, newest), onward]) == [True, False]

    story.cast.ask(story.cast.run())
    number_events()
    with django_assert_num_queries(1):
        assert reader.ripe([onward] * 3) == [True] * 3
    (again,) = reader.answer([onward])

    assert (again.is_final, again.body) == (False, b'{"items":[],"next":%d}' % story.newest)
    assert again.onward is not None
    assert again.onward.after_seq == story.newest > newest
    assert reader.ripe([again.onward]) == [False]


def test_many_who_wait_share_one_reading(story: Story, django_assert_num_queries: Any) -> None:
    """Keys, last numbers, and one reading for each tenant."""
    keys = (story.cast.key, story.neighbor_key, story.watcher_key)
    waits = [wait(key, after, limit="200") for key in keys for after in range(story.newest)]

    with django_assert_num_queries(3):
        answers = EventsReader().answer(waits)

    for each, answer in zip(waits, answers, strict=True):
        response = AgentHTTP(each.token).get(f"/events?after={each.after_seq}&limit=200")
        assert answer.body == response.content


def test_a_key_that_lost_its_scope_or_agent_meanwhile_is_told_less(story: Story) -> None:
    newest, reader = story.newest, EventsReader()
    watcher = Agent.objects.get(name="watcher")
    (first,) = reader.answer([wait(story.watcher_key, newest)])
    assert first.onward is not None
    story.cast.run()
    number_events()

    watcher.keys.update(scopes=[Scope.ASK])
    (narrowed,) = reader.answer([first.onward])
    watcher.deactivate(by=OPERATOR)
    (ended,) = reader.answer([first.onward])

    assert (narrowed.is_final, narrowed.body) == (False, b'{"items":[],"next":%d}' % (newest + 1))
    assert (ended.status, ended.is_final) == (401, True)
