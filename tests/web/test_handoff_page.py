"""The page of a handoff: where to go, who gets the link, and why it was not accepted."""

from typing import Any

import pytest

from approvals.models import Interrupt, PolicyVersion
from identity.management.reporting import OPERATOR
from identity.models import User
from tests.approvals.acting import Executor
from tests.approvals.test_handoffs import TARGET, URL, handed_over, observe, seen
from tests.cast import Cast
from tests.web.browser import answer, browser, buttons, codes, hidden, look, send, words

pytestmark = pytest.mark.django_db


@pytest.fixture
def executor(cast: Cast) -> Executor:
    return Executor(cast)


def question_of(interrupt_id: str) -> Interrupt:
    return Interrupt.objects.get(pk=interrupt_id)


def test_the_page_says_what_to_do_where_and_as_whom(executor: Executor) -> None:
    asked = handed_over(
        executor, description="Please sign in.", target={**TARGET, "session": "thread"}
    )

    page = look(browser(executor.cast.alice), question_of(asked))

    said = words(page)
    assert "What to do" in said and "Please sign in. In the words of executor, not checked." in said
    assert "Site https://bank.example Account alice@acme Page /home" in said
    assert "Session Only for this run: what you sign in to is used in no other. thread" in said
    assert "A shared login is no shared permission" in said
    assert buttons(page) == ["done", "reject"]


@pytest.mark.parametrize(
    ("session", "told"),
    [
        ("user", "For everything that acts for you"),
        ("tab-7", "Session tab-7"),
    ],
)
def test_how_far_the_session_reaches_is_told(executor: Executor, session: str, told: str) -> None:
    asked = handed_over(executor, target={**TARGET, "session": session})

    assert told in words(look(browser(executor.cast.alice), question_of(asked)))


@pytest.mark.parametrize(
    ("name", "status", "has_link"),
    [
        ("alice", 200, True),
        ("rae", 200, False),
        ("ada", 200, False),
        ("otto", 200, False),
        ("bob", 404, False),
        ("mallory", 404, False),
    ],
)
def test_the_secret_link_is_for_who_hands_back_alone(
    executor: Executor, name: str, status: int, has_link: bool
) -> None:
    interrupt = question_of(handed_over(executor))

    page = look(browser(User.objects.get(username=name)), interrupt)

    assert page.status_code == status
    assert (URL in page.content.decode()) == has_link
    assert "no-store" in page.headers["Cache-Control"] or status == 404


def test_whom_a_policy_names_gets_the_link(executor: Executor) -> None:
    rules = [{"id": "logins", "approvals": [{"from": {"users": ["rae"]}, "count": 1}]}]
    PolicyVersion.set(executor.cast.tenant, rules, by=OPERATOR)
    interrupt = question_of(handed_over(executor))

    assert URL in look(browser(executor.cast.rae), interrupt).content.decode()
    assert URL not in look(browser(executor.cast.alice), interrupt).content.decode()


def test_the_link_opens_a_tab_that_knows_nothing_of_this_page(executor: Executor) -> None:
    html = look(browser(executor.cast.alice), question_of(handed_over(executor))).content.decode()

    assert f'href="{URL}" target="_blank" rel="noreferrer noopener" hx-boost="false"' in html
    assert html.count(URL) == 1


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "data:text/html,x",
        "vnc://takeover.example/s",
        "https:no-host",
        "https://takeover.example/\u202egpj",
        "https://evil.example\\@takeover.example/s",
    ],
)
def test_what_no_browser_should_open_stands_there_as_text(executor: Executor, url: str) -> None:
    asked = handed_over(executor, handoff_url=url)

    page = look(browser(executor.cast.alice), question_of(asked))

    assert "Take over the page" not in words(page)
    assert "which no browser opens by itself" in words(page)


def test_done_is_a_notice_and_the_page_waits_for_the_check(executor: Executor) -> None:
    """Contract §3: the link is gone while it is checked, and one may still reject."""
    interrupt = question_of(handed_over(executor))
    alice = browser(executor.cast.alice)

    assert answer(alice, interrupt, decision="done").status_code == 303

    page = look(alice, interrupt)
    said = words(page)
    assert "Waiting for the check of the page" in said and "Being checked" in said
    assert "alice said that it is done" in said
    assert buttons(page) == ["reject"]
    assert URL not in page.content.decode()
    assert "data-awaited" in page.content.decode()


def test_a_page_that_is_another_is_told_member_by_member(executor: Executor) -> None:
    asked, token = handed_over(executor), executor.take()
    alice = browser(executor.cast.alice)
    answer(alice, question_of(asked), decision="done")

    observe(executor, asked, seen(token, account="bob\u202e@acme", page=None))

    page = look(alice, question_of(asked))
    said = words(page)
    assert "Not accepted: the page is not the one that was named" in said
    assert "Account named alice@acme seen bob" in said and "U+202E" in said
    assert "Page named /home seen nothing" in said
    assert "opened it again: what was seen differs in account, page" in said
    assert "\u202e" not in page.content.decode()
    assert buttons(page) == ["done", "reject"]
    assert URL in page.content.decode()


def test_what_was_seen_of_an_earlier_round_is_not_told_of_the_next(executor: Executor) -> None:
    asked, token = handed_over(executor), executor.take()
    alice = browser(executor.cast.alice)
    answer(alice, question_of(asked), decision="done")
    observe(executor, asked, seen(token, account="bob@acme"))
    stale = hidden(look(alice, question_of(asked)))
    answer(alice, question_of(asked), decision="done")

    assert "Not accepted" not in words(look(alice, question_of(asked)))
    observe(executor, asked, seen(token, 2))
    page = look(alice, question_of(asked))
    assert "Your answer is recorded" in words(page) and "What was to be done" in words(page)
    assert URL not in page.content.decode()
    late = send(alice, question_of(asked), stale, decision="done")
    assert (late.status_code, codes(late)) == (409, ["already_decided"])


def test_a_form_of_an_earlier_hand_back_does_not_count(executor: Executor) -> None:
    """H-06: a stale "done" of the first round is refused, and says what to do."""
    asked, token = handed_over(executor), executor.take()
    alice = browser(executor.cast.alice)
    first = hidden(look(alice, question_of(asked)))
    answer(alice, question_of(asked), decision="done")
    observe(executor, asked, seen(token, account="bob@acme"))

    late = send(alice, question_of(asked), first, decision="done")

    assert (late.status_code, codes(late)) == (409, ["not_shown"])
    assert question_of(asked).state == "PENDING"


def test_rejecting_while_it_is_checked_counts(executor: Executor) -> None:
    asked = handed_over(executor)
    alice = browser(executor.cast.alice)
    answer(alice, question_of(asked), decision="done")

    page = answer(alice, question_of(asked), decision="reject", reason="Not mine after all")

    assert page.status_code == 303
    assert question_of(asked).state == "DECIDED"
    assert "Your rejection is recorded" in words(look(alice, question_of(asked)))


def test_what_the_agent_names_is_spelled_out(executor: Executor) -> None:
    target: dict[str, Any] = {"origin": "https://b\u0430nk.example", "account": "<b>bob</b>"}
    asked = handed_over(executor, target=target, description="<script>alert(1)</script>")

    html = look(browser(executor.cast.alice), question_of(asked)).content.decode()

    assert "<script>alert(1)" not in html and "<b>bob</b>" not in html
    assert "U+0430" in html
