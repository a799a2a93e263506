"""What the statistics page says of how people answered, to whom, and at what cost."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.http import HttpResponse

from audit.models import Event
from audit.statistics import Hour, Refusals, Span, Spread, Sums, refusals, statistics
from identity.models import User
from placet.protocol.states import DecisionKind
from tests.cast import Cast, question
from tests.story import NOON, Story
from tests.web.browser import answer, browser, codes, words
from tests.web.test_lists import queries

pytestmark = pytest.mark.django_db


@pytest.fixture
def story(cast: Cast) -> Story:
    return Story(cast)


def span(cast: Cast, **members: object) -> Span:
    day = timedelta(days=1)
    usual = {"tenant_id": cast.tenant.pk, "since_at": NOON - day, "until_at": NOON + day}
    return Span(**(usual | members))  # type: ignore[arg-type]


def names(rows: tuple[Sums, ...]) -> list[tuple[str, int]]:
    return [(row.name, row.answers) for row in rows]


# The sums


def test_answers_are_counted_by_kind_with_their_times(cast: Cast, story: Story) -> None:
    for seconds, kind in ((1, "approve"), (3, "approve"), (7, "edit"), (9, "reject"), (30, "done")):
        story.answered(cast.rae, kind=kind, waited_s=10 * seconds, looked_s=seconds)
    story.tell("interrupt.expired", NOON, by="system", interrupt="int_x")
    story.tell("interrupt.decided", NOON, by="policy", detail='{"decision":"approve"}')

    found = statistics(span(cast))

    assert found.total == Sums(
        name="",
        agent_id=0,
        kinds={"approve": 2, "edit": 1, "reject": 1, "respond": 0, "done": 1},
        expired=1,
        by_rule=1,
        quick=2,
        looked=Spread(5, pytest.approx(1.8), 3, 7, 9, pytest.approx(21.6)),
        waited=Spread(5, pytest.approx(18), 30, 70, 90, pytest.approx(216)),
    )
    assert found.total.answers == 5
    assert found.looked == (1, 1, 2, 1, 0, 0, 0)
    assert found.waited == (2, 2, 1, 0, 0, 0, 0)
    assert found.hours[12] == Hour(5, 2)
    assert sum(hour.answers for hour in found.hours) == 5


def test_the_time_begins_when_the_same_person_saw_it_first(cast: Cast, story: Story) -> None:
    story.tell("interrupt.shown", NOON - timedelta(seconds=500), by=cast.rob, interrupt="int_a")
    story.tell("interrupt.shown", NOON - timedelta(seconds=40), by=cast.rae, interrupt="int_a")
    story.answered(cast.rae, looked_s=20, interrupt="int_a")
    story.tell("interrupt.shown", NOON + timedelta(seconds=9), by=cast.rob, interrupt="int_b")
    story.answered(cast.rob, looked_s=None, interrupt="int_b")

    looked = {row.name: row.looked for row in statistics(span(cast)).people.rows}

    assert looked == {"rae": Spread(1, 40, 40, 40, 40, 40), "rob": None}


def test_an_approval_that_is_not_the_last_counts_for_its_person_only(
    cast: Cast, story: Story
) -> None:
    first = story.answered(cast.rob, looked_s=2, waited_s=30, event="interrupt.partly_approved")
    story.answered(cast.rae, looked_s=20, waited_s=60, asked=False, interrupt=first)

    found = statistics(span(cast))

    assert names(found.people.rows) == [("rae", 1), ("rob", 1)]
    assert found.total.kinds["approve"] == 2
    assert found.total.waited is not None
    assert (found.total.waited.count, found.total.waited.median_s) == (1, 30)


@pytest.mark.parametrize(
    ("members", "counted"),
    [
        ({}, (3, 1, 2)),
        ({"tool": "deploy"}, (1, 0, 0)),
        ({"tool": "nothing"}, (0, 0, 0)),
        ({"person_id": "rob"}, (1, 0, 1)),
        ({"agent_id": 0}, (0, 0, 0)),
        ({"since_at": NOON + timedelta(microseconds=1)}, (0, 0, 0)),
        ({"until_at": NOON}, (0, 0, 0)),
        ({"since_at": NOON}, (3, 1, 2)),
    ],
)
def test_sums_are_of_the_chosen_answers(
    cast: Cast, story: Story, members: dict[str, object], counted: tuple[int, int, int]
) -> None:
    story.answered(cast.rae)
    story.answered(cast.rob)
    story.answered(cast.rae, tool="deploy")
    story.tell("interrupt.expired", NOON, by="system")
    for who in (cast.rob, cast.bob):
        story.tell("command.refused", NOON, by=who, code="superseded")
    if "person_id" in members:
        members = {"person_id": cast.rob.public_id}

    chosen = span(cast, **members)

    total = statistics(chosen).total
    refused = sum(each.count for each in refusals(chosen))
    assert (total.answers, total.expired, refused) == counted


def test_refusals_are_counted_with_their_repetitions(cast: Cast, story: Story) -> None:
    story.tell("command.refused", NOON, by=cast.rob, code="superseded")
    story.tell("command.refused", NOON, by=cast.rob, code="superseded", detail='{"repeated":4}')
    story.tell("command.refused", NOON, by=cast.bob, code="not_permitted")

    assert refusals(span(cast)) == (
        Refusals("superseded", 5, 1),
        Refusals("not_permitted", 1, 1),
    )


def test_the_hour_is_that_of_the_zone(cast: Cast, story: Story) -> None:
    story.answered(cast.rae)

    hours = statistics(span(cast, zone="Asia/Shanghai")).hours

    assert [hour for hour, counted in enumerate(hours) if counted.answers] == [20]


def test_only_the_groups_with_most_answers_are_told_and_how_many_there_are(
    cast: Cast, story: Story
) -> None:
    for number in range(22):
        for _ in range(2 if number == 21 else 1):
            story.answered(cast.rae, tool=f"tool_{number:02}")

    tools = statistics(span(cast)).tools

    assert (len(tools.rows), tools.in_all) == (20, 22)
    assert names(tools.rows)[:2] == [("tool_21", 2), ("tool_00", 1)]


def test_the_real_record_is_counted(cast: Cast) -> None:
    payment = cast.ask(cast.run())
    answer(browser(cast.rae), payment, decision="approve")
    ship = cast.ask(cast.run(), question(tool="deploy"))
    cast.decide(ship, cast.rob, asked_sha256="0" * 64)
    cast.decide(ship, cast.rob, decision=DecisionKind.REJECT, reason="Freeze")
    now = Event.objects.latest("id").at

    chosen = span(cast, since_at=now - timedelta(hours=1), until_at=now + timedelta(hours=1))
    found = statistics(chosen)

    assert found.total.kinds == {"approve": 1, "edit": 0, "reject": 1, "respond": 0, "done": 0}
    assert names(found.tools.rows) == [("deploy", 1), ("pay_vendor", 1)]
    assert found.agents.rows[0].agent_id == cast.agent.pk
    assert found.total.looked is not None and found.total.looked.count == 1
    assert found.total.waited is not None and found.total.waited.count == 2
    assert [(each.code, each.count) for each in refusals(chosen)] == [("digest_mismatch", 1)]


# The page


def page(user: User, **fields: str) -> HttpResponse:
    return browser(user).get("/statistics/", {"from": "2026-06-10", "to": "2026-06-10"} | fields)


def test_the_page_tells_it_in_words_and_tables(cast: Cast, story: Story) -> None:
    for seconds in (2, 2, 90):
        story.answered(cast.rae, looked_s=seconds, waited_s=300)
    story.answered(cast.rob, kind="reject", looked_s=8, tool="deploy")

    said = words(page(cast.otto))

    assert "Answers of people 4" in said
    assert "Approved as asked 75 %" in said
    assert "From shown to answer, median 5.0 s" in said
    assert "Answered in under 5 s 50 %" in said
    assert "rae 3 answers · 67 % in under 5 s" in said
    assert "deploy 1 answer · 0 % in under 5 s" in said
    assert "Median from shown to answer: 2.0 s" in page(cast.otto).content.decode()
    assert re.search(r"Person Answers Approved Rejected .* rae 3 3 0 2.0 s 2 5 min", said)


def test_an_empty_time_tells_what_will_be_here(cast: Cast) -> None:
    said = words(page(cast.ada))

    assert "Nobody answered a question in this time." in said
    assert 'class="plot' not in page(cast.ada).content.decode()


@pytest.mark.parametrize("who", ["alice", "rae", "rob", "bob"])
def test_the_page_is_for_admins_and_auditors(cast: Cast, who: str) -> None:
    refused = page(getattr(cast, who))

    assert refused.status_code == 403
    assert codes(refused) == ["not_permitted"]
    assert "/statistics/" not in browser(getattr(cast, who)).get("/runs/").content.decode()


def test_a_tenant_sees_its_own_numbers_alone(cast: Cast, story: Story) -> None:
    """H-03: nothing of another tenant is counted, not under any filter."""
    foreign = "int_foreign"
    story.tell("interrupt.asked", NOON, by=cast.mallory, interrupt=foreign, tool="secret_tool")
    story.answered(cast.mallory, tool="secret_tool", interrupt=foreign)
    story.tell("command.refused", NOON, by=cast.mallory, code="wrong_state", tool="secret_tool")

    for fields in ({}, {"tool": "secret_tool"}, {"person": "mallory"}):
        html = page(cast.otto, **fields).content.decode()
        assert "Nobody answered a question in this time." in html
        assert "wrong_state" not in html


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"person": "mallory"}, "Nobody here has this login name."),
        ({"agent": "nobody"}, "No agent here has this name."),
        ({"tool": "a\x00"}, "This cannot be searched for."),
        ({"from": "yesterday"}, "Write a day, such as 2026-01-31."),
        ({"to": "2026-02-31"}, "Write a day, such as 2026-01-31."),
        ({"to": "9999-12-31"}, "Write a day, such as 2026-01-31."),
        ({"from": "0001-01-01"}, "Write a day, such as 2026-01-31."),
        ({"to": "2026-06-09"}, "Choose a day from the first one on, at most a year later."),
        ({"to": "2027-06-11"}, "Choose a day from the first one on, at most a year later."),
    ],
)
def test_what_cannot_be_chosen_is_said_at_its_field(
    cast: Cast, fields: dict[str, str], sentence: str
) -> None:
    refused = page(cast.otto, **fields)

    assert refused.status_code == 422
    assert sentence in words(refused)


@pytest.mark.parametrize(
    ("query", "is_there"),
    [
        ("", True),
        ("?span=24h", False),
        ("?span=7d", True),
        ("?span=nonsense", True),
        ("?span=24h&tool=pay_vendor", False),
        ("?span=30d&tool=pay_vendor&person=rae&agent=payer", True),
    ],
)
def test_the_address_says_what_is_counted(
    cast: Cast, story: Story, query: str, is_there: bool
) -> None:
    story.answered(cast.rae, at=datetime.now(UTC) - timedelta(days=3))

    html = browser(cast.otto).get(f"/statistics/{query}").content.decode()

    assert ("Answers of people" in html) is is_there


def test_hostile_names_are_spelled_and_never_markup(cast: Cast, story: Story) -> None:
    story.answered(cast.rae, tool='<script>alert(1)</script>"\u202e')

    html = page(cast.otto).content.decode()

    assert "<script>alert" not in html
    assert "\u202e" not in html
    assert "style=" not in html


def test_the_page_costs_the_same_queries_whatever_was_answered(cast: Cast, story: Story) -> None:
    path = "/statistics/?from=2026-06-10&to=2026-06-10"
    otto = browser(cast.otto)
    story.answered(cast.rae)
    otto.get(path)
    few = queries(otto, path)

    for number in range(30):
        story.answered(cast.rob if number % 2 else cast.rae, tool=f"tool_{number}")
        story.tell("command.refused", NOON, by=cast.rob, code=f"code_{number}")

    assert queries(otto, path) == few
    assert few <= 7
