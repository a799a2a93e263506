"""The inbox: what a row tells, which rows are one, what filters count, and what ended."""

import json
import re
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlencode

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from approvals.models import DisplayVersion, Interrupt, PolicyVersion
from approvals.models.asking import ask
from identity.management.reporting import OPERATOR
from identity.models import Agent
from identity.roles import DEFAULT_SCOPES
from placet.protocol.reading import JSONValue
from placet.protocol.states import DecisionKind
from runs.clock import database_now
from runs.models import Action, NewRun, Run
from tests.approvals.acting import Executor
from tests.cast import PAYMENT, Cast, question
from tests.owner import fall_due
from tests.web.browser import browser, words
from tests.web.test_lists import ids, pages, queries

pytestmark = pytest.mark.django_db

NOTHING = "Nothing waits for you."
FITS_NOT = "Nothing that waits for you fits these filters."


def hints(cast: Cast, *given: JSONValue) -> None:
    saved = DisplayVersion.set(cast.tenant, list(given), by=OPERATOR)
    assert isinstance(saved, DisplayVersion), saved


def policy(cast: Cast, *rules: Any) -> None:
    assert isinstance(PolicyVersion.set(cast.tenant, list(rules), by=OPERATOR), PolicyVersion)


def asked_of(source: dict[str, JSONValue], *tools: str) -> dict[str, JSONValue]:
    name = "-".join(tools).replace("*", "any")
    return {"id": name, "tools": list(tools), "approvals": [{"from": source, "count": 1}]}


def rows(client: Client, path: str = "/") -> list[str]:
    return ids(client.get(path).content.decode(), "int")


def facet(html: str, name: str) -> dict[str, str]:
    """The choices of a filter, each with its count, by the value that its link asks for."""
    found = re.findall(r'<a href="/\?([^"]*)"[^>]*>(.*?)</a>', html, re.DOTALL)
    told = {}
    for query, inside in found:
        value = parse_qs(query.replace("&amp;", "&")).get(name)
        count = re.search(r'class="count">([^<]*)<', inside)
        if value and count:
            told[value[0]] = count[1]
    return told


def changes(client: Client, *shown: str, **asked: str) -> dict[str, Any]:
    answer = client.get("/inbox/changes/", {"shown": ",".join(shown), **asked})
    assert answer.status_code == 200
    assert answer["Cache-Control"] == "no-store"
    told: dict[str, Any] = json.loads(answer.content)
    return told


# ---- What a row tells -----------------------------------------------------------------------


def test_a_row_shows_what_the_hint_names_in_its_order_and_says_what_is_missing(cast: Cast) -> None:
    hints(cast, {"tool": "pay_*", "show": ["/vendor_id", "/lines/0/sum", "/note", "/amount_paise"]})
    args = PAYMENT | {"lines": [{"sum": 7}], "vendor_id": ""}
    cast.ask(cast.run(), question(args=args))

    said = words(browser(cast.rae).get("/"))

    assert (
        "vendor_id empty text /lines/0/sum 7 note absent amount_paise 40000000 "
        "and 2 more arguments" in said
    )
    assert "INV-88412" not in said


def test_without_a_hint_a_row_shows_all_short_arguments_by_name(cast: Cast) -> None:
    cast.ask(cast.run(), question(args={"b": [1, {"c": None}], "a": "x", "z": 1e21 / 1e21}))
    cast.ask(cast.run(), question(call_id="none", args={}))

    said = words(browser(cast.rae).get("/"))

    assert 'a x b [1,{"c":null}] z 1' in said
    assert "no arguments" in said


@pytest.mark.parametrize("filling", ["", "x" * 9000])
def test_a_hint_says_the_same_of_short_and_long_calls(cast: Cast, filling: str) -> None:
    """What lies in a long call is read in the database, and exactly as in a short one."""
    show = ["/text", "/number", "/list/1", "/list/2", "/object", "/nothing", "/a~1b", "/o/0"]
    hints(cast, *({"tool": f"t{at}", "show": show[at : at + 4]} for at in (0, 4)))
    args: dict[str, JSONValue] = {
        "text": 'say "hi"\u202e\n\u0001',
        "number": 1e-7,
        "list": [0, [True, "é"]],
        "object": {"deep": {"er": None}},
        "nothing": None,
        "a/b": "slash",
        "o": {"0": "a name that is a number"},
        "filling": filling,
    }
    for at in (0, 4):
        cast.ask(cast.run(), question(call_id=f"c{at}", tool=f"t{at}", args=args))

    said = words(browser(cast.rae).get("/"))

    assert 'text say "hi"U+202E↵ U+0001 number 1e-7 /list/1 [true,"é"] /list/2 absent' in said
    assert 'object {"deep":{"er":null}} nothing null a/b slash /o/0 a name that is a number' in said


@pytest.mark.parametrize("filling", ["", "x" * 9000])
def test_a_long_value_says_how_long_it_is_and_is_not_cut(cast: Cast, filling: str) -> None:
    """H-30: a value is whole or not there at all."""
    hints(cast, {"tool": "t", "show": ["/text", "/list", "/fits"]})
    args: dict[str, JSONValue] = {
        "text": "y" * 121,
        "list": list(range(100)),
        "fits": "\u0001" * 120,
        "filling": filling,
    }
    cast.ask(cast.run(), question(tool="t", args=args))

    said = words(browser(cast.rae).get("/"))

    assert "text 121 characters list 291 characters fits U+0001×120 and 1 more argument" in said
    assert "yyy" not in said


@pytest.mark.parametrize("filling", ["", "x" * 9000])
def test_what_is_sensitive_stays_masked_in_a_row(cast: Cast, filling: str) -> None:
    """H-36: at every depth, whatever a hint names."""
    hints(cast, {"tool": "t", "show": ["/key", "/login/password", "/login"]})
    login = {"password": "hunter2", "name": "ops"}
    cast.ask(
        cast.run(),
        question(
            tool="t",
            args={"key": {"k": "hunter2"}, "login": login, "filling": filling},
            sensitive=("/key", "/login/password"),
        ),
    )

    said = words(browser(cast.rae).get("/"))

    assert "key masked /login/password masked" in said
    assert 'login {"name":"ops","password":"masked"}' in said
    assert "hunter2" not in said


def test_large_arguments_do_not_leave_the_database(cast: Cast) -> None:
    hints(cast, {"tool": "pay_vendor", "show": ["/amount_paise"]})
    cast.ask(cast.run(), question(args=PAYMENT | {"filling": "x" * 100_000}))
    rae = browser(cast.rae)

    with CaptureQueriesContext(connection) as captured:
        page = rae.get("/")

    assert "amount_paise 40000000" in words(page)
    for query in captured:
        columns = query["sql"].partition(" FROM ")[0]
        assert '"approvals_interrupt"."asked",' not in columns


# ---- Equal calls ----------------------------------------------------------------------------


def test_equal_calls_are_one_row_that_lists_each(cast: Cast) -> None:
    """H-40: a flood is one row, at the place of the most urgent."""
    other = cast.ask(cast.run(), question(args={"other": 1}, expires_in_s=5000))
    late = cast.ask(cast.run(title="Late"), question(expires_in_s=9000))
    soon = cast.ask(cast.run(title="Soon", owner=cast.bob), question(expires_in_s=1000))

    html = browser(cast.rae).get("/").content.decode()

    assert ids(html, "int") == [soon.pk, other.pk]
    assert "2 equal calls" in html
    listed = html[html.index("<ol>") : html.index("</ol>")]
    assert re.findall(r'href="/interrupts/(\w+)/"', listed) == [soon.pk, late.pk]
    assert facet(html, "owner") == {"alice": "2", "bob": "1"}


@pytest.mark.parametrize(
    "other",
    [
        {"args": PAYMENT | {"amount_paise": 1}},
        {"target": {"origin": "https://bank.example"}},
        {"tool": "pay_vendor2"},
        {"sensitive": ("/vendor_id",)},
    ],
)
def test_calls_that_differ_in_anything_are_rows_of_their_own(
    cast: Cast, other: dict[str, Any]
) -> None:
    """H-40: never by a key without the arguments; what is masked differs as well."""
    cast.ask(cast.run(), question())
    cast.ask(cast.run(), question(**other))

    html = browser(cast.rae).get("/").content.decode()

    assert len(ids(html, "int")) == 2
    assert "equal call" not in html


def test_of_equal_calls_only_mine_count(cast: Cast) -> None:
    mine = cast.ask(cast.run())
    cast.decide(mine, cast.rob, decision=DecisionKind.REJECT, reason="no")
    mine = cast.ask(cast.run())
    policy(cast, asked_of({"groups": ["ops"]}, "*"))
    cast.ask(cast.run())
    cast.ask(cast.other_run())

    html = browser(cast.rae).get("/").content.decode()

    assert ids(html, "int") == [mine.pk]
    assert "equal call" not in html


def test_a_flood_lists_some_and_leads_to_all_one_by_one(cast: Cast) -> None:
    run = cast.run()
    ask(run.pk, [question(call_id=f"c{number}") for number in range(45)], agent=cast.agent)
    rae = browser(cast.rae)

    html = rae.get("/").content.decode()
    (link,) = set(re.findall(r'href="/(\?same=[0-9a-f]{64})"', html))
    one_by_one = pages(rae, f"/{link}", "next")

    assert "45 equal calls" in html and "and 33 more: show all one by one" in html
    assert [len(ids(page, "int")) for page in one_by_one] == [20, 20, 5]


def test_pages_of_groups_skip_none_and_repeat_none(cast: Cast) -> None:
    run = cast.run()
    for number in range(50):
        args = {"n": number // 2}
        cast.ask(run, question(call_id=f"c{number}", args=args, expires_in_s=1000 + number))

    found = [ids(page, "int") for page in pages(browser(cast.rae), "/", "next")]

    assert [len(page) for page in found] == [20, 5]
    assert len({pk for page in found for pk in page}) == 25


# ---- Filters --------------------------------------------------------------------------------


@pytest.fixture
def filled(cast: Cast) -> Cast:
    """Questions that differ in everything by which one can filter."""
    policy(
        cast,
        asked_of({"groups": ["finance"]}, "pay_*"),
        asked_of({"users": ["rae"]}, "mail"),
        asked_of({"groups": ["ops"]}, "secret_tool"),
    )
    mailer, _ = Agent.create(
        "mailer", tenant=cast.tenant, any_owner=True, scopes=DEFAULT_SCOPES, by=OPERATOR
    )
    begun = Run.begin(NewRun(title="Mail", owner=cast.bob), agent=mailer)
    assert isinstance(begun, tuple)
    ask(begun[0].pk, [question(tool="mail", expires_in_s=600)], agent=mailer)
    cast.ask(cast.run(), question(args={"pay": 1}))
    cast.ask(
        cast.run(), question(call_id="2", tool="shell", args={"sh": 1}, expires_in_s=86400 * 3)
    )
    cast.ask(cast.run(owner=cast.bob), question(call_id="3", tool="secret_tool"))
    return cast


@pytest.mark.parametrize(
    ("query", "tools"),
    [
        ({}, ["mail", "pay_vendor", "shell"]),
        ({"tool": "mail"}, ["mail"]),
        ({"agent": "payer"}, ["pay_vendor", "shell"]),
        ({"owner": "bob"}, ["mail"]),
        ({"group": "group:finance"}, ["pay_vendor"]),
        ({"group": "role:reviewer"}, ["shell"]),
        ({"group": "name"}, ["mail"]),
        ({"due": "hour"}, ["mail"]),
        ({"owner": "alice", "agent": "payer", "tool": "shell"}, ["shell"]),
        ({"owner": "bob", "tool": "shell"}, []),
        ({"group": "group:ops"}, []),
        ({"tool": "secret_tool"}, []),
        ({"tool": "\x00", "due": "never"}, ["mail", "pay_vendor", "shell"]),
    ],
)
def test_a_filter_leaves_what_it_names(
    filled: Cast, query: dict[str, str], tools: list[str]
) -> None:
    page = browser(filled.rae).get("/", query)

    found = Interrupt.objects.filter(pk__in=ids(page.content.decode(), "int"))
    assert [row.tool for row in found.order_by("tool")] == tools
    assert (FITS_NOT in words(page)) is not tools


def test_deadlines_are_split_without_overlap(filled: Cast) -> None:
    rae = browser(filled.rae)

    parts = [rows(rae, f"/?due={due}") for due in ("hour", "today", "later")]

    assert sorted(pk for part in parts for pk in part) == sorted(rows(rae))


def test_counts_are_of_what_waits_for_me_alone(filled: Cast) -> None:
    """Nobody learns from a count what they may not see."""
    html = browser(filled.rae).get("/").content.decode()

    assert facet(html, "tool") == {"mail": "1", "pay_vendor": "1", "shell": "1"}
    assert facet(html, "agent") == {"payer": "2", "mailer": "1"}
    assert facet(html, "owner") == {"alice": "2", "bob": "1"}
    assert facet(html, "group") == {"group:finance": "1", "role:reviewer": "1", "name": "1"}
    assert facet(html, "due")["hour"] == "1"
    assert "secret_tool" not in html and "ops" not in html
    assert "<title>(3) Inbox · Placet</title>" in html


def test_a_choice_counts_under_the_other_choices(filled: Cast) -> None:
    html = browser(filled.rae).get("/?owner=alice").content.decode()

    assert facet(html, "tool") == {"pay_vendor": "1", "shell": "1"}
    assert "(3) Inbox" in html


def test_a_filter_goes_with_the_pages(cast: Cast) -> None:
    for number in range(25):
        cast.ask(cast.run(), question(args={"n": number}))
        cast.ask(cast.run(), question(tool="other tool".replace(" ", "."), args={"n": number}))
    rae = browser(cast.rae)

    found = pages(rae, "/?tool=other.tool", "next")

    assert [len(ids(page, "int")) for page in found] == [20, 5]
    shown = Interrupt.objects.filter(pk__in=[pk for page in found for pk in ids(page, "int")])
    assert {row.tool for row in shown} == {"other.tool"}


def test_more_than_can_be_counted_is_said_to_be_more(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("approvals.web.inbox_filter.COUNTED", 3)
    for number in range(5):
        cast.ask(cast.run(), question(args={"n": number}))

    html = browser(cast.rae).get("/").content.decode()

    assert '<span class="total">3+</span>' in html
    assert "<title>(3+) Inbox · Placet</title>" in html
    assert facet(html, "due").keys() == {"hour", "today", "later"}
    assert set(facet(html, "due").values()) <= {"0+", "3+"}
    assert len(ids(html, "int")) == 5


@pytest.mark.parametrize("query", ["", "tool=pay_vendor&due=later"])
def test_the_inbox_costs_the_same_queries_for_5_rows_and_500(cast: Cast, query: str) -> None:
    hints(cast, {"tool": "pay_vendor", "show": ["/n"]})
    filling = "x" * 5000

    def ask_some(first: int, count: int) -> None:
        for begin in range(first, first + count, 50):
            numbers = range(begin, min(begin + 50, first + count))
            asked = [
                question(call_id=f"c{n}", args={"n": n // 3, "filling": filling}) for n in numbers
            ]
            ask(cast.run().pk, asked, agent=cast.agent)

    rae = browser(cast.rae)
    ask_some(0, 5)
    rae.get("/")
    few = queries(rae, f"/?{query}")
    ask_some(5, 495)

    assert queries(rae, f"/?{query}") == few
    assert few <= 12


def test_a_row_says_that_nobody_knows_whether_exactly_this_was_done(cast: Cast) -> None:
    unknown = "It is not known whether exactly this was carried out already."
    executor = Executor(cast)
    executor.unknown()
    same = cast.ask(cast.run(title="Another run"))
    other = cast.ask(cast.run(), question(args={**PAYMENT, "amount_paise": 1}))

    html = browser(cast.rae).get("/").content.decode()

    rows = {pk: row for row in html.split("<li ") for pk in ids(row, "int") if "data-row" in row}
    assert {pk: unknown in row for pk, row in rows.items()} == {same.pk: True, other.pk: False}

    theirs = Action.objects.values().get()
    Action.objects.update(state="FAILED", ended_at=database_now())
    Action.objects.create(
        **theirs | {"id": "act_0", "interrupt_id": "int_0", "tenant_id": cast.mallory.tenant_id}
    )
    assert unknown not in browser(cast.rae).get("/").content.decode()


# ---- Walls ----------------------------------------------------------------------------------


def test_nobody_else_sees_or_counts_anything(cast: Cast) -> None:
    interrupt = cast.ask(cast.run(title="Acme's plan"))

    for user in (cast.mallory, cast.bob, cast.otto):
        client = browser(user)
        page = client.get("/")
        told = changes(client, interrupt.pk, at="2020-01-01T00:00:00Z")
        assert NOTHING in words(page)
        assert "pay_vendor" not in page.content.decode()
        assert "<title>Inbox · Placet</title>" in page.content.decode()
        assert (told["waiting"], told["new"]) == (0, 0)
        assert b'"waiting": 0' in client.get("/inbox/live/").content
        if user is not cast.otto:
            assert told["ended"] == {interrupt.pk: "No longer yours to answer"}


def test_an_empty_inbox_tells_by_what_one_is_asked(cast: Cast) -> None:
    policy(
        cast,
        asked_of({"groups": ["finance"]}, "pay_*"),
        asked_of({"groups": ["ops"]}, "deploy"),
        asked_of({"users": ["rae"]}, "mail"),
        {"id": "never", "deny": True, "tools": ["drop"]},
    )

    rae, bob = (words(browser(user).get("/")) for user in (cast.rae, cast.bob))

    assert "pay_any: through the group “finance” pay_*" in rae
    assert "mail: names you mail" in rae
    assert "as a reviewer: whenever no rule of the policy says otherwise" in rae
    assert "Your group: finance" in rae
    assert "deploy" not in rae and "drop" not in rae
    assert "pay_any" not in bob and "as a reviewer" not in bob
    assert "for runs of your own" in bob
    assert "nothing will appear here" in words(browser(cast.otto).get("/"))


# ---- What changed since ---------------------------------------------------------------------


def test_what_ended_is_told_with_who_and_how(transactional_db: None, cast: Cast) -> None:
    run = cast.run()
    made = {name: cast.ask(run, question(call_id=name, args={"n": name})) for name in "abcdefg"}
    cast.decide(made["a"], cast.rob)
    cast.decide(made["b"], cast.rob, decision=DecisionKind.REJECT, reason="no")
    made["c"].cancel(agent=cast.agent)
    cast.ask(run, question(call_id="d", args={"n": "new"}))
    fall_due(made["e"].pk)

    told = changes(browser(cast.rae), *(one.pk for one in made.values()), "int_x", "nonsense")

    assert told["ended"] == {
        made["a"].pk: "Approved by rob",
        made["b"].pk: "Rejected by rob",
        made["c"].pk: "Taken back",
        made["d"].pk: "Replaced by a newer question",
        made["e"].pk: "Expired",
    }
    assert told["waiting"] == 3


def test_what_i_approved_and_others_still_have_to_is_told(cast: Cast) -> None:
    rule = asked_of({"roles": ["reviewer"]}, "*")
    rule["approvals"] = [{"from": {"roles": ["reviewer"]}, "count": 2}]
    policy(cast, rule)
    interrupt = cast.ask(cast.run())
    rae, rob = browser(cast.rae), browser(cast.rob)
    before = changes(rob)["state"]

    cast.decide(interrupt, cast.rae)

    assert changes(rae, interrupt.pk)["ended"] == {
        interrupt.pk: "You answered; others still have to"
    }
    assert changes(rob, interrupt.pk)["ended"] == {}
    assert changes(rob)["state"] != before


def test_what_came_is_counted_under_the_filter_and_without_what_is_shown(cast: Cast) -> None:
    run = cast.run()
    shown = cast.ask(run, question(call_id="shown"))
    at = (database_now() + timedelta(seconds=1)).isoformat()
    cast.ask(run, question(call_id="b", args={"n": 1}))
    cast.ask(run, question(call_id="c", tool="mail"))
    rae = browser(cast.rae)

    both = changes(rae, shown.pk, at=at)
    mail = changes(rae, shown.pk, at=at, tool="mail")
    later = changes(rae, shown.pk, at=(database_now() + timedelta(hours=1)).isoformat())

    assert (both["new"], both["new_words"], both["waiting"]) == (2, "2 new", 3)
    assert (both["title"], mail["new"], later["new"]) == ("(3) Inbox · Placet", 1, 0)


@pytest.mark.parametrize("at", ["", "nonsense", "2026-01-01", "0001-01-01T00:00:00+23:59", "\x00"])
def test_an_instant_that_no_page_had_counts_nothing_as_new(cast: Cast, at: str) -> None:
    cast.ask(cast.run())

    assert changes(browser(cast.rae), at=at)["new"] == 0


def test_the_state_of_the_page_is_that_of_the_stream_and_changes_only_with_my_rows(
    cast: Cast,
) -> None:
    cast.ask(cast.run())
    rae = browser(cast.rae)

    def states() -> set[str]:
        page = rae.get("/").content.decode()
        stream = rae.get("/inbox/live/").content.decode()
        found = re.search(r'data-state="(\w+)"', page)
        assert found is not None
        return {found[1], json.loads(stream.partition("data: ")[2])["state"], changes(rae)["state"]}

    (first,) = states()
    policy(cast, asked_of({"groups": ["ops"]}, "*"))
    cast.ask(cast.run())
    assert states() == {first}
    policy(cast)
    cast.ask(cast.run(), question(args={"n": 2}))
    (second,) = states()
    assert second != first


def test_the_stream_of_a_person_says_a_number_and_nothing_of_what_is_asked(cast: Cast) -> None:
    cast.ask(cast.run(title="Acme's plan"))

    answer = browser(cast.rae).get("/inbox/live/")

    assert answer["Content-Type"] == "text/event-stream"
    assert answer["Cache-Control"] == "no-store"
    expected = r'retry: 3000\n\nevent: inbox\ndata: {"waiting": 1, "state": "[0-9a-f]{16}"}\n\n'
    assert re.fullmatch(expected, answer.content.decode())


def test_the_part_for_htmx_is_the_page_without_its_frame(cast: Cast) -> None:
    cast.ask(cast.run())

    part = browser(cast.rae).get(
        "/?" + urlencode({"tool": "pay_vendor"}), headers={"HX-Request": "true"}
    )

    html = part.content.decode()
    assert html.startswith('<div class="inbox"')
    assert "<header" not in html
