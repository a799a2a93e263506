"""Inbox, runs and timeline: order, pages by key, and a number of queries that does not grow."""

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from approvals.models import Interrupt
from approvals.models.asking import ask
from audit.numbering import number_events
from placet.protocol.states import DecisionKind
from runs.models import Run
from tests.cast import Cast, question
from tests.web.browser import browser, words

pytestmark = pytest.mark.django_db


def ids(html: str, kind: str) -> list[str]:
    """The ids of a list's rows, in their order."""
    return re.findall(rf'class="to" href="/(?:interrupts|runs)/({kind}_[0-9a-z]+)/"', html)


def link(html: str, rel: str) -> str | None:
    """Where a page's previous or next link leads."""
    found = re.search(rf'rel="{rel}" href="([^"]*)"', html)
    return found[1].replace("&amp;", "&") if found else None


def pages(client: Client, path: str, rel: str) -> list[str]:
    """Every page from this one on, following one link to the end."""
    found, here = [], path
    while True:
        html = client.get(here).content.decode()
        found.append(html)
        onward = link(html, rel)
        if onward is None:
            return found
        here = path.partition("?")[0] + onward


def queries(client: Client, path: str) -> int:
    """How many queries a page costs."""
    with CaptureQueriesContext(
        connection,
    ) as captured:
        assert client.get(path).status_code == 200
    return len(captured)


def ask_many(cast: Cast, run: Run, count: int) -> None:
    """So many questions of one run in one request, hence with one time."""
    asked = [question(call_id=f"c{number}", args={"n": number}) for number in range(count)]
    ask(run.pk, asked, agent=cast.agent)


def test_the_most_urgent_comes_first(cast: Cast) -> None:
    run = cast.run()
    calls = {"day": None, "hour": 3600, "minute": 60}
    made = {
        name: cast.ask(run, question(call_id=name, args={"call": name}, expires_in_s=seconds)).pk
        for name, seconds in calls.items()
    }

    html = browser(cast.rae).get("/").content.decode()

    assert ids(html, "int") == [made["minute"], made["hour"], made["day"]]
    assert html.count('class="row wait urgent"') == 2


def test_the_inbox_has_every_row_once_in_both_directions(cast: Cast) -> None:
    """H-39: sixty rows with one time, by twenty, forwards and back by the previous link."""
    ask_many(cast, cast.run(), 60)
    assert Interrupt.objects.values("expires_at").distinct().count() == 1
    rae = browser(cast.rae)

    forwards = pages(rae, "/", "next")
    rows = [ids(html, "int") for html in forwards]

    expected = list(Interrupt.objects.order_by("expires_at", "pk").values_list("pk", flat=True))
    assert [len(page) for page in rows] == [20, 20, 20]
    assert [row for page in rows for row in page] == expected
    last = link(forwards[1], "next")
    backwards = pages(rae, f"/{last}", "prev")
    assert [ids(html, "int") for html in backwards] == rows[::-1]


def test_runs_have_every_row_once_in_both_directions(cast: Cast) -> None:
    """H-39: the same for runs, whose ids are made in one go."""
    expected = sorted((cast.run(title=f"Run {number}").pk for number in range(60)), reverse=True)
    alice = browser(cast.alice)

    forwards = pages(alice, "/runs/", "next")
    rows = [ids(html, "run") for html in forwards]

    assert [row for page in rows for row in page] == expected
    last = link(forwards[1], "next")
    backwards = pages(alice, f"/runs/{last}", "prev")
    assert [ids(html, "run") for html in backwards] == rows[::-1]


@pytest.mark.parametrize(
    "key", ["nonsense", "~", "2026-01-01~int_x", "2026-99-99T00:00:00Z~x", "\x00", "run_x"]
)
@pytest.mark.parametrize("path", ["/", "/runs/"])
def test_a_key_that_nobody_gave_out_gives_the_first_page(cast: Cast, path: str, key: str) -> None:
    cast.ask(cast.run())
    client, kind = browser(cast.alice), "int" if path == "/" else "run"

    for name in ("after", "before"):
        page = client.get(path, {name: key})
        assert page.status_code == 200
        assert len(ids(page.content.decode(), kind)) == 1


@pytest.mark.parametrize(
    "key",
    ["0001-01-01T00:00:00+23:59~int_" + "0" * 26, "9999-12-31T23:59:59-23:59~int_" + "0" * 26],
)
@pytest.mark.parametrize("way", ["after", "before"])
def test_a_key_beyond_the_years_of_utc_gives_the_first_page(cast: Cast, way: str, key: str) -> None:
    interrupt = cast.ask(cast.run())

    page = browser(cast.rae).get("/", {way: key})

    assert page.status_code == 200
    assert ids(page.content.decode(), "int") == [interrupt.pk]


def test_runs_are_filtered_by_state_over_pages(cast: Cast) -> None:
    waiting = cast.run()
    cast.ask(waiting)
    for _ in range(22):
        cast.run()
    alice = browser(cast.alice)

    found = pages(alice, "/runs/?state=WAIT_USER", "next")
    ready = pages(alice, "/runs/?state=READY", "next")

    assert [ids(html, "run") for html in found] == [[waiting.pk]]
    assert [len(ids(html, "run")) for html in ready] == [20, 2]
    assert waiting.pk not in "".join(ready)


def test_what_i_answered_waits_for_me_no_longer(cast: Cast) -> None:
    interrupt = cast.ask(cast.run())

    cast.decide(interrupt, cast.rae, decision=DecisionKind.REJECT, reason="no")

    assert "Nothing waits for you." in words(browser(cast.rae).get("/"))


def test_a_list_shows_short_arguments_whole_and_says_how_long_others_are(cast: Cast) -> None:
    """H-30: nothing is cut where it looks whole."""
    run = cast.run()
    cast.ask(run, question(call_id="short", args={"cmd": "rm -rf /srv"}))
    cast.ask(run, question(call_id="long", args={"cmd": "echo " + "x" * 5000 + "; rm -rf /"}))

    said = words(browser(cast.rae).get("/"))

    assert "cmd rm -rf /srv" in said
    assert "5,068 characters: open the question to read them all" in said
    assert "xxxx" not in said


@pytest.mark.parametrize("path", ["/", "/runs/", "/audit/"])
def test_a_list_costs_the_same_queries_whatever_its_length(cast: Cast, path: str) -> None:
    cast.ask(cast.run())
    number_events()
    client = browser(cast.ada if path != "/" else cast.rae)
    client.get(path)
    few = queries(client, path)

    for number in range(8):
        cast.ask(cast.run(), question(call_id=f"x{number}"))
    number_events()

    assert queries(client, path) == few
    assert few <= 10


def test_a_run_costs_the_same_queries_whatever_happened_in_it(cast: Cast) -> None:
    run = cast.run()
    cast.ask(run)
    for user in (cast.alice, cast.rae):
        client = browser(user)
        path = f"/runs/{run.pk}/"
        client.get(path)
        few = queries(client, path)
        ask_many(cast, run, 10)
        assert queries(client, path) == few


def test_a_long_timeline_goes_on_where_it_stopped(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = cast.run()
    ask_many(cast, run, 10)
    monkeypatch.setattr("approvals.web.runs.EVENTS_MAX", 5)
    alice = browser(cast.alice)

    found = pages(alice, f"/runs/{run.pk}/", "next")

    lines = [html[html.index("timeline") :].count("<time") for html in found]
    assert sum(lines) == 12
