"""Who is told of a question, what the message says, and what it never says."""

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from approvals.models import Interrupt
from identity.management.reporting import OPERATOR
from notices.models import Choice, Notice
from placet.protocol.states import ActionState, DecisionKind
from runs.clock import database_now
from runs.models import Action
from runs.models.reporting import report
from runs.rules.actions import Report
from tests.approvals.acting import Executor
from tests.approvals.test_handoffs import handed_over, observe, seen
from tests.cast import PAYMENT, Cast, question
from tests.notices.conftest import Post, bring_forward, reach, set_policy, states
from tests.notices.receivers import Hook, Mailbox

pytestmark = pytest.mark.django_db(transaction=True)

FINANCE_THEN_OPS: dict[str, Any] = {
    "id": "payments",
    "approvals": [{"from": {"groups": ["finance", "ops"]}}],
    "escalate": {"after_s": 3600, "group": "ops"},
}


def test_whoever_may_answer_is_told_once(cast: Cast, post: Post, mailbox: Mailbox) -> None:
    for user in (cast.alice, cast.rae, cast.bob, cast.otto, cast.mallory):
        reach(user)
    interrupt = cast.ask(cast.run())

    post.round()
    post.round()

    assert sorted(to for to, _ in mailbox.mails) == [["alice@example.com"], ["rae@example.com"]]
    assert set(mailbox.subjects) == {"pay_vendor waits for your answer"}
    assert f"http://localhost:8000/interrupts/{interrupt.pk}/" in mailbox.bodies[0]


def test_a_message_says_tool_owner_agent_deadline_and_where(
    cast: Cast, post: Post, mailbox: Mailbox
) -> None:
    cast.rae.read_in(language="", time_zone="Asia/Kolkata")
    reach(cast.rae)
    interrupt = cast.ask(cast.run())

    post.round()

    utc = interrupt.expires_at
    local = utc + timedelta(hours=5, minutes=30)
    form = "{0:%b} {0.day}, {0:%Y, %H:%M}"
    assert mailbox.bodies[0].split("\n\n") == [
        "The agent payer asks about pay_vendor, for alice.",
        f"Look and answer here: http://localhost:8000/interrupts/{interrupt.pk}/",
        f"This message is valid until {form.format(local)} UTC+05:30 ({form.format(utc)} UTC). "
        "The page tells whether the question was answered in the meantime.",
        "The arguments are not in this message. The page shows them in full.\n",
    ]


def test_no_argument_and_no_word_of_an_agent_leaves_in_a_message_or_a_log(
    cast: Cast, post: Post, mailbox: Mailbox, hook: Hook
) -> None:
    """H-37: neither in what is sent nor in what is logged; addresses are in no log either."""
    reach(cast.rae)
    reach(cast.rae, "chat", "room-1")
    run = cast.run(title="Secret title", context={"why": "secret context"})
    cast.ask(run, question(description="Secret words", sensitive=("/invoice",)))

    with capture_logs() as logs:
        post.round()

    sent = str(mailbox.mails[0][1]) + hook.posts[0].body.decode() + hook.posts[0].path
    for value in (*PAYMENT.values(), "ecret"):
        assert str(value) not in sent
    told = json.dumps(logs)
    for value in (*PAYMENT.values(), "ecret", "example.com", "room-1", "pay_vendor"):
        assert str(value) not in told
    assert [line["event"] for line in logs] == ["notices.sent", "notices.sent"]


def test_no_link_of_a_message_decides(cast: Cast, post: Post, mailbox: Mailbox) -> None:
    reach(cast.rae)
    interrupt = cast.ask(cast.run())

    post.round()

    links = re.findall(r"https?://\S+", mailbox.bodies[0])
    assert links == [f"http://localhost:8000/interrupts/{interrupt.pk}/"]


def test_chat_gets_the_same_by_apprise(cast: Cast, post: Post, hook: Hook) -> None:
    reach(cast.rae, "chat", "#room-1")
    cast.ask(cast.run())

    post.round()

    (posted,) = hook.posts
    told = json.loads(posted.body)
    assert posted.path == "/send/%23room-1"
    assert told["title"] == "pay_vendor waits for your answer"
    assert told["message"].startswith("The agent payer asks about pay_vendor, for alice.")


def test_a_message_is_in_the_persons_language(cast: Cast, post: Post, mailbox: Mailbox) -> None:
    cast.rae.read_in(language="zh-hans", time_zone="")
    reach(cast.rae)
    cast.ask(cast.run())

    post.round()

    assert "pay_vendor" in mailbox.subjects[0]


def test_what_was_answered_before_it_was_sent_is_not_sent(
    cast: Cast, post: Post, mailbox: Mailbox
) -> None:
    reach(cast.rae)
    interrupt = cast.ask(cast.run())
    mailbox.refuse = True
    post.round()
    assert isinstance(cast.decide(interrupt, cast.alice), Interrupt)
    mailbox.refuse = False
    Notice.objects.update(due_at=database_now())

    post.round()

    assert states() == [("rae", "asked", "dropped")]
    assert mailbox.mails == []


def test_whose_answer_no_longer_counts_is_not_told(
    cast: Cast, post: Post, mailbox: Mailbox
) -> None:
    """Deactivated, or approved already where two are needed."""
    set_policy(
        cast.tenant, {"id": "two", "approvals": [{"from": {"roles": ["reviewer"]}, "count": 2}]}
    )
    for user in (cast.rae, cast.rob):
        reach(user)
    interrupt = cast.ask(cast.run())
    mailbox.refuse = True
    post.round()
    assert isinstance(cast.decide(interrupt, cast.rae), Interrupt)
    cast.rob.deactivate(by=OPERATOR)
    mailbox.refuse = False
    Notice.objects.update(due_at=database_now())

    post.round()

    assert states() == [("rae", "asked", "dropped"), ("rob", "asked", "dropped")]


def test_an_owner_who_does_not_count_is_not_told(cast: Cast, post: Post, mailbox: Mailbox) -> None:
    set_policy(
        cast.tenant,
        {
            "id": "others",
            "owner_counts": False,
            "approvals": [{"from": {"roles": ["member", "reviewer"]}}],
        },
    )
    for user in (cast.alice, cast.bob):
        reach(user)
    cast.ask(cast.run())

    post.round()

    assert [to for to, _ in mailbox.mails] == [["bob@example.com"]]


def test_a_reminder_comes_when_a_quarter_of_the_time_is_left(
    cast: Cast, post: Post, mailbox: Mailbox
) -> None:
    reach(cast.rae)
    cast.ask(cast.run())
    post.round()

    post.round()
    assert len(mailbox.mails) == 1
    bring_forward("reminder")
    post.round()

    assert mailbox.subjects[1] == "Reminder: pay_vendor still waits for your answer"


def test_a_reminder_can_be_unwanted(cast: Cast, post: Post, mailbox: Mailbox) -> None:
    reach(cast.rae)
    Choice.objects.create(user=cast.rae, tenant=cast.tenant, reminder=False)
    cast.ask(cast.run())
    post.round()

    bring_forward("reminder")
    post.round()

    assert states() == [("rae", "asked", "sent")]


def test_a_group_is_told_only_when_it_escalates(cast: Cast, post: Post, mailbox: Mailbox) -> None:
    set_policy(cast.tenant, FINANCE_THEN_OPS)
    for user in (cast.rae, cast.rob, cast.alice):
        reach(user)
    cast.ask(cast.run())
    post.round()
    assert states() == [("rae", "asked", "sent")]

    bring_forward("escalation")
    post.round()

    assert states() == [("rae", "asked", "sent"), ("rob", "escalation", "sent")]
    assert mailbox.subjects[1] == "Nobody has answered yet: pay_vendor"


def test_nothing_escalates_that_was_answered(cast: Cast, post: Post, mailbox: Mailbox) -> None:
    set_policy(cast.tenant, FINANCE_THEN_OPS)
    reach(cast.rob)
    interrupt = cast.ask(cast.run())
    post.round()
    answered = cast.decide(interrupt, cast.rae, decision=DecisionKind.REJECT, reason="No.")
    assert isinstance(answered, Interrupt)

    bring_forward("escalation")
    post.round()

    assert states() == []


def test_many_questions_are_told_in_one_message(cast: Cast, post: Post, mailbox: Mailbox) -> None:
    reach(cast.rae)
    cast.ask(cast.run(), *(question(call_id=f"call-{number}") for number in range(12)))

    post.round()

    assert mailbox.subjects == ["12 questions wait for you"]
    assert mailbox.bodies[0].count("- pay_vendor, for alice, by the agent payer, until ") == 10
    assert "- 2 more" in mailbox.bodies[0]
    assert {state for _, _, state in states()} == {"sent"}


def test_nobody_of_another_tenant_is_told(cast: Cast, post: Post, mailbox: Mailbox) -> None:
    """H-34: Mallory reviews elsewhere, also in a group and role of the same name."""
    reach(cast.mallory)
    cast.ask(cast.run())

    post.round()
    assert mailbox.mails == []
    cast.ask(cast.other_run())
    post.round()

    assert [to for to, _ in mailbox.mails] == [["mallory@example.com"]]


def test_a_paused_or_unconfirmed_address_gets_nothing(
    cast: Cast, post: Post, mailbox: Mailbox
) -> None:
    reach(cast.rae).__class__.objects.update(is_on=False)
    row = reach(cast.alice)
    row.confirmed_at = None
    row.save()
    cast.ask(cast.run())

    post.round()

    assert mailbox.mails == []


# ---- Actions and handoffs -------------------------------------------------------------------


def test_an_unknown_outcome_is_told_to_the_owner_and_the_admins(
    cast: Cast, post: Post, mailbox: Mailbox
) -> None:
    """H-37: without the arguments, as everything is told."""
    executor = Executor(cast)
    action_id = executor.unknown()
    for user in (cast.alice, cast.rae, cast.bob, cast.ada, cast.otto, cast.mallory):
        reach(user)

    post.round()
    post.round()

    assert sorted(to for to, _ in mailbox.mails) == [["ada@example.com"], ["alice@example.com"]]
    assert set(mailbox.subjects) == {"It is not known what became of pay_vendor"}
    assert mailbox.bodies[0].split("\n\n") == [
        "The agent executor was permitted to carry out pay_vendor, for alice, and nobody heard"
        " what became of it. It may have happened.",
        "See what is known, and say there what you find out:"
        f" http://localhost:8000/actions/{action_id}/reconcile/",
        "The arguments are not in this message. The page shows them in full.\n",
    ]


def test_what_was_found_out_before_it_was_sent_is_not_told(
    cast: Cast, post: Post, mailbox: Mailbox
) -> None:
    executor = Executor(cast)
    action_id = executor.unknown()
    reach(cast.alice)
    post.number()
    post.fan_out()
    executor.reconcile(action_id, "executed", kind="target_object", reference="receipt 77")

    post.round()

    assert mailbox.mails == []
    assert [state for *_, state in states()] == ["dropped"]


def test_who_does_not_want_to_hear_of_unknown_outcomes_does_not(
    cast: Cast, post: Post, mailbox: Mailbox
) -> None:
    executor = Executor(cast)
    executor.unknown()
    for user in (cast.alice, cast.ada):
        reach(user)
    Choice.objects.create(user=cast.alice, tenant=cast.tenant, unknown=False)

    post.round()

    assert [to for to, _ in mailbox.mails] == [["ada@example.com"]]


def test_many_unknown_outcomes_are_one_message(cast: Cast, post: Post, mailbox: Mailbox) -> None:
    for _ in range(4):
        action = cast.act()
        told = Report(state=ActionState.UNKNOWN, fencing_token=action.fencing_token)
        assert isinstance(report(action, told, agent=cast.agent), Action)
    reach(cast.alice)

    post.round()

    assert mailbox.subjects == ["The outcomes of 4 actions are not known"]
    assert "http://localhost:8000/unknown/" in mailbox.bodies[0]


def test_a_page_that_was_not_accepted_is_told_to_who_handed_it_back_each_time(
    cast: Cast, post: Post, mailbox: Mailbox
) -> None:
    executor = Executor(cast)
    asked, token = handed_over(executor), executor.take()
    reach(cast.alice)
    post.round()
    reach(cast.rae)
    for handback in (1, 2):
        executor.answer(asked, "done")
        assert not observe(executor, asked, seen(token, handback, account="bob")).json()["matched"]
        post.round()

    assert {to for (to,), _ in mailbox.mails} == {"alice@example.com"}
    assert mailbox.subjects == [
        "login waits for your answer",
        "Not done yet: login",
        "Not done yet: login",
    ]
    assert "secret-7731" not in str(mailbox.bodies) and "bob" not in str(mailbox.bodies)


def test_a_handoff_that_was_handed_back_again_is_not_told_as_opened(
    cast: Cast, post: Post, mailbox: Mailbox
) -> None:
    executor = Executor(cast)
    asked, token = handed_over(executor), executor.take()
    post.round()
    reach(cast.alice)
    executor.answer(asked, "done")
    observe(executor, asked, seen(token, account="bob"))
    executor.answer(asked, "done")

    post.round()

    assert mailbox.mails == []
