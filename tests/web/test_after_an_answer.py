"""The page after an answer: what is on record, what was approved, and what waits next."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from approvals.models import Interrupt, PolicyVersion
from identity.management.reporting import OPERATOR
from identity.models import User
from identity.roles import Role
from placet.protocol.states import DecisionKind
from tests.cast import EDITABLE, PASSWORD, PAYMENT, Cast, question
from tests.owner import fall_due
from tests.web.browser import answer, browser, buttons, look, onward, words

pytestmark = pytest.mark.django_db


def recorded(html: str) -> str:
    """What the page keeps for a reply that was lost."""
    found = re.search(r"<template data-recorded>(.*?)</template>", html, re.DOTALL)
    assert found
    return found[1]


def test_an_answer_is_confirmed_and_leads_to_the_next_question(cast: Cast) -> None:
    first, urgent, later = (
        cast.ask(cast.run(), question(expires_in_s=seconds)) for seconds in (900, 60, 3600)
    )
    rae = browser(cast.rae)

    answer(rae, first, decision="approve")
    page = look(rae, first)

    said = words(page)
    assert "Your approval is recorded rae approved this, " in said
    assert "The agent may do exactly this, once, until " in said
    assert "2 questions wait for you." in said
    assert onward(page) == [f"/interrupts/{urgent.pk}/"]
    answer(rae, urgent, decision="reject", reason="no")
    answer(rae, later, decision="approve")
    last = look(rae, later)
    assert "Nothing else waits for you." in words(last)
    assert onward(last) == ["/"]


def test_the_number_that_waits_is_counted_to_a_bound(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("approvals.web.queue.COUNTED_MAX", 2)
    interrupts = [cast.ask(cast.run()) for _ in range(4)]

    answer(browser(cast.rae), interrupts[0], decision="approve")

    said = words(look(browser(cast.rae), interrupts[0]))
    assert "More than 2 questions wait for you." in said


def test_a_decided_page_leads_with_the_outcome_and_what_was_approved(cast: Cast) -> None:
    interrupt = cast.ask(cast.run(), question(args_schema=EDITABLE))
    edited = PAYMENT | {"amount_paise": 5}
    cast.decide(interrupt, cast.rob, decision=DecisionKind.EDIT, args=edited, reason="Too much")
    interrupt.refresh_from_db()

    page = look(browser(cast.rae), interrupt)

    said = words(page)
    outcome = said.index("rob approved this with other arguments")
    changed = said.index("Changed before approving /args/amount_paise 40000000 → 5")
    approved = said.index("Approved arguments amount_paise 5 number")
    assert outcome < changed < approved
    assert said.count("40000000") == 1
    assert interrupt.decision.approved_sha256 in said
    assert buttons(page) == []


def test_one_of_several_approvals_is_confirmed_too(cast: Cast) -> None:
    rule = {"id": "two", "approvals": [{"from": {"roles": ["reviewer"]}, "count": 2}]}
    PolicyVersion.set(cast.tenant, [rule], by=OPERATOR)
    interrupt, following = cast.ask(cast.run()), cast.ask(cast.run())
    rae = browser(cast.rae)

    answer(rae, interrupt, decision="approve")
    page = look(rae, interrupt)

    said = words(page)
    assert "Your approval is recorded" in said and "1 more approval is needed." in said
    assert onward(page) == [f"/interrupts/{following.pk}/"]
    assert recorded(page.content.decode()).endswith("1 more is needed.")


def test_a_replaced_question_says_what_is_different_now(cast: Cast) -> None:
    run = cast.run()
    old = cast.ask(run)
    new = cast.ask(run, question(args=PAYMENT | {"amount_paise": 1}))

    page = look(browser(cast.rae), old)

    assert "What is different now /args/amount_paise 40000000 → 1" in words(page)
    assert onward(page) == [f"/interrupts/{new.pk}/"]


def test_what_is_recorded_is_there_for_a_page_that_lost_the_reply(cast: Cast) -> None:
    """H-38: the page itself says whether an answer of this person is on record."""
    mine, theirs, still, late = (cast.ask(cast.run()) for _ in range(4))
    cast.decide(mine, cast.rae)
    cast.decide(theirs, cast.rob, decision=DecisionKind.REJECT, reason="no")
    late.cancel(agent=cast.agent)

    def told(interrupt: Interrupt) -> str:
        return recorded(look(browser(cast.rae), interrupt).content.decode())

    assert told(mine).startswith("Your approval was recorded at ")
    assert told(theirs).startswith("Nothing of yours was recorded. rob rejected this, ")
    assert told(still) == "Nothing was recorded. Answer again: of several answers only one counts."
    assert told(late) == "Nothing was recorded; the question was cancelled by payer."


def test_an_edit_that_became_a_new_question_is_recorded_as_that(cast: Cast) -> None:
    rule = {
        "id": "large",
        "when": {"properties": {"args": {"properties": {"amount_paise": {"minimum": 10**8}}}}},
        "approvals": [{"from": {"roles": ["reviewer"]}, "count": 2}],
    }
    PolicyVersion.set(cast.tenant, [rule], by=OPERATOR)
    interrupt = cast.ask(cast.run(), question(args_schema=EDITABLE))
    large = PAYMENT | {"amount_paise": 10**8}
    cast.decide(interrupt, cast.rae, decision=DecisionKind.EDIT, args=large)

    mine = recorded(look(browser(cast.rae), interrupt).content.decode())
    others = recorded(look(browser(cast.rob), interrupt).content.decode())

    assert mine == "Your edit was recorded: it became a new question."
    assert others.startswith("Nothing was recorded; the question was replaced")


@pytest.mark.django_db(transaction=True)
def test_equal_calls_elsewhere_say_how_they_stand(cast: Cast) -> None:
    """H-40: in words, in whichever run this person may see."""
    here, there = cast.run(), cast.run(title="Another run")
    interrupt = cast.ask(here)
    calls = {name: cast.ask(there, question(call_id=name)) for name in ("open", "done", "late")}
    cast.decide(calls["done"], cast.rob)
    fall_due(calls["late"].pk)

    said = words(look(browser(cast.rae), interrupt))

    assert "open, attempt 1 waits for an answer in the run Another run" in said
    assert "done, attempt 1 approved by rob, " in said
    assert "late, attempt 1 not answered in time in the run Another run" in said


def test_equal_calls_beyond_the_list_are_told_to_exist(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("approvals.web.question_page.SAME_MAX", 2)
    interrupt = cast.ask(cast.run())
    for _ in range(3):
        cast.ask(cast.run())

    said = words(look(browser(cast.rae), interrupt))

    assert said.count("waits for an answer") == 2
    assert "These are the newest; there are more." in said


def test_the_deadline_is_told_in_the_persons_zone_and_in_utc(cast: Cast) -> None:
    cast.rae.time_zone = "Asia/Kolkata"
    cast.rae.save(update_fields=["time_zone"])
    interrupt = cast.ask(cast.run())

    said = words(look(browser(cast.rae), interrupt))

    due = f"{interrupt.expires_at:%H:%M:%S} UTC"
    deadline = said[said.index("Deadline") : said.index("History")]
    assert "UTC+05:30" in deadline and due in deadline


def test_a_question_costs_the_same_queries_however_many_wait_or_are_equal(cast: Cast) -> None:
    interrupt = cast.ask(cast.run())
    cast.ask(cast.run())
    rae = browser(cast.rae)
    look(rae, interrupt)
    with CaptureQueriesContext(connection) as few:
        look(rae, interrupt)

    for _ in range(6):
        cast.decide(cast.ask(cast.run()), cast.rob)
    with CaptureQueriesContext(connection) as many:
        look(rae, interrupt)

    assert len(many) == len(few)


def test_a_question_costs_the_same_queries_whatever_happened_to_it(cast: Cast) -> None:
    """Approvals, looks of several people, refusals and attempts before it."""
    people = [
        User.create(
            f"reviewer-{n}", tenant=cast.tenant, role=Role.REVIEWER, password=PASSWORD, by=OPERATOR
        )
        for n in range(6)
    ]
    by_many = {"id": "m", "approvals": [{"from": {"roles": ["reviewer"]}, "count": 7}]}
    PolicyVersion.set(cast.tenant, [by_many], by=OPERATOR)  # type: ignore[list-item]
    run = cast.run()
    cast.ask(run, question(args={"n": 0}))
    interrupt = cast.ask(run, question(args={"n": 1}))
    otto = browser(cast.otto)
    answer(browser(cast.rob), interrupt, decision="approve")
    look(otto, interrupt)
    with CaptureQueriesContext(connection) as few:
        look(otto, interrupt)

    for user in people[:5]:
        answer(browser(user), interrupt, decision="reject", reason="")
        answer(browser(user), interrupt, decision="approve")
    with CaptureQueriesContext(connection) as many:
        page = look(otto, interrupt)

    assert "reviewer-4" in words(page)
    assert len(many) == len(few)
