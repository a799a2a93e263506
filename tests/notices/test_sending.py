"""How messages go: at least once, not twice knowingly, in time, and never more than bearable."""

import threading
from datetime import timedelta

import pytest
from django.db import transaction

from notices.courier import Courier
from notices.jobs import PER_HOUR, claim, finish, parcels
from notices.models import Choice, Cursor, Due, Notice
from notices.rules.kinds import Kind, NoticeState
from notices.rules.timing import RETRY_S
from notices.senders.outcome import Delivered
from runs.clock import database_now
from tests.cast import Cast, question
from tests.notices.conftest import (
    Post,
    bring_forward,
    in_threads,
    reach,
    set_policy,
    states,
    wait_for,
)
from tests.notices.receivers import Hook, Mailbox
from tests.notices.test_telling import FINANCE_THEN_OPS

pytestmark = pytest.mark.django_db(transaction=True)


def fall_due() -> None:
    """Let every message that waits be due, and every claim be over."""
    past = database_now() - timedelta(seconds=1)
    Notice.objects.filter(ended_at__isnull=True).update(due_at=past)
    Notice.objects.filter(claimed_until__isnull=False).update(claimed_until=past)


def test_a_worker_that_dies_before_sending_leaves_the_message_to_the_next(
    cast: Cast, post: Post, mailbox: Mailbox
) -> None:
    reach(cast.rae)
    cast.ask(cast.run())
    post.round_without_sending()
    claimed = claim(8)
    assert [row.state for row in claimed] == [NoticeState.SENDING]

    post.round()
    assert mailbox.mails == []  # the claim of the dead one still holds
    fall_due()
    post.round()

    assert len(mailbox.mails) == 1
    assert states() == [("rae", "asked", "sent")]


def test_a_worker_that_finishes_after_its_claim_was_taken_over_changes_nothing(
    cast: Cast, post: Post, mailbox: Mailbox
) -> None:
    reach(cast.rae)
    cast.ask(cast.run())
    post.round_without_sending()
    (late,) = parcels(claim(8))
    fall_due()
    (taken_over,) = parcels(claim(8))

    finish(late, Delivered())
    assert states() == [("rae", "asked", "sending")]
    finish(taken_over, Delivered())

    assert states() == [("rae", "asked", "sent")]


def test_two_workers_claim_no_message_twice(cast: Cast, post: Post) -> None:
    for user in (cast.rae, cast.alice, cast.rob):
        reach(user)
    cast.ask(cast.run())
    post.round_without_sending()
    found: list[list[int]] = []
    barrier = threading.Barrier(4, timeout=10)

    def work() -> None:
        barrier.wait()
        found.append([row.pk for row in claim(8)])

    in_threads(work, 4)

    ids = [notice_id for part in found for notice_id in part]
    assert sorted(ids) == sorted(Notice.objects.values_list("pk", flat=True))


def test_two_workers_plan_and_fan_out_once(cast: Cast, post: Post) -> None:
    for user in (cast.rae, cast.alice):
        reach(user)
    cast.ask(cast.run(), *(question(call_id=f"call-{number}") for number in range(20)))
    post.number()
    barrier = threading.Barrier(4, timeout=10)

    def work() -> None:
        barrier.wait()
        post.fan_out()

    in_threads(work, 4)
    post.fan_out()

    assert Notice.objects.count() == 40
    assert {row.kind for row in Due.objects.all()} == {"reminder"}


def test_reading_the_record_again_sends_nothing_again(
    cast: Cast, post: Post, mailbox: Mailbox
) -> None:
    """A restore of the cursor, or a crash after fan-out: the key of each message holds."""
    reach(cast.rae)
    cast.ask(cast.run())
    post.round()
    Cursor.objects.update(n=0)

    post.round()

    assert len(mailbox.mails) == 1
    assert states() == [("rae", "asked", "sent")]


def test_what_is_not_taken_is_tried_again_and_given_up_in_the_end(
    cast: Cast, post: Post, mailbox: Mailbox
) -> None:
    reach(cast.rae)
    cast.ask(cast.run())
    mailbox.refuse = True
    waits = []
    for _ in RETRY_S:
        post.round()
        row = Notice.objects.get()
        assert (row.state, row.error) == ("waiting", "SMTPSenderRefused")
        waits.append((row.due_at - database_now()).total_seconds())
        fall_due()

    post.round()

    assert all(0.4 * plan < wait < 1.5 * plan for plan, wait in zip(RETRY_S, waits, strict=True))
    assert states() == [("rae", "asked", "failed")]
    assert mailbox.mails == []


def test_every_attempt_has_one_message_id(cast: Cast, post: Post, mailbox: Mailbox) -> None:
    reach(cast.rae)
    cast.ask(cast.run())
    post.round()
    Notice.objects.update(state="waiting", ended_at=None)

    post.round()

    assert len({mail["Message-ID"] for _, mail in mailbox.mails}) == 1
    assert len(mailbox.mails) == 2


def test_nothing_is_sent_inside_a_transaction(
    cast: Cast, post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    from notices.senders.mail import Mail

    seen = []

    def send(self: Mail, _message: object, *, name: str) -> Delivered:
        seen.append((transaction.get_connection().in_atomic_block, threading.current_thread().name))
        return Delivered()

    monkeypatch.setattr(Mail, "send", send)
    reach(cast.rae)
    cast.ask(cast.run())

    post.round()

    ((is_inside, thread),) = seen
    assert not is_inside
    assert thread.startswith("notices")


def test_a_receiver_that_hangs_keeps_no_other_channel_waiting(
    cast: Cast, post: Post, mailbox: Mailbox, hook: Hook
) -> None:
    """H-24: the chat takes its time; the mail leaves in the meantime."""
    hook.gate = threading.Event()
    reach(cast.rae, "chat", "room-1")
    cast.ask(cast.run())
    post.number()
    post.courier.step()
    reach(cast.alice)
    cast.ask(cast.run())
    post.number()
    post.courier.step()

    mailed = wait_for(lambda: bool(mailbox.mails))
    hook.gate.set()
    post.courier.settle()

    assert mailed
    assert {(name, state) for name, _, state in states()} == {("rae", "sent"), ("alice", "sent")}


def test_an_hour_has_its_limit_and_what_is_beyond_is_joined(
    cast: Cast, post: Post, mailbox: Mailbox
) -> None:
    reach(cast.rae)
    for number in range(PER_HOUR):
        cast.ask(cast.run(), question(call_id=f"call-{number}"))
        post.round()
    assert len(mailbox.mails) == PER_HOUR
    for number in range(5):
        cast.ask(cast.run(), question(call_id=f"late-{number}"))
        post.round()
    assert len(mailbox.mails) == PER_HOUR
    waiting = Notice.objects.filter(state="waiting")
    assert waiting.count() == 5
    assert {row.attempts for row in waiting} == {0}

    Notice.objects.filter(state="sent").update(ended_at=database_now() - timedelta(hours=2))
    fall_due()
    post.round()

    assert len(mailbox.mails) == PER_HOUR + 1
    assert mailbox.subjects[-1] == "5 questions wait for you"


def quiet_now(cast: Cast, **members: bool) -> None:
    """Quiet hours of Rob that began an hour ago and end in an hour, by UTC."""
    now = database_now()
    Choice.objects.create(
        user=cast.rob,
        tenant=cast.tenant,
        quiet_from=(now - timedelta(hours=1)).time().replace(microsecond=0),
        quiet_until=(now + timedelta(hours=1)).time().replace(microsecond=0),
        **members,
    )


def test_quiet_hours_put_a_message_off_and_spend_no_attempt(
    cast: Cast, post: Post, mailbox: Mailbox
) -> None:
    reach(cast.rob)
    quiet_now(cast)
    cast.ask(cast.run())

    post.round()

    row = Notice.objects.get()
    assert (row.state, row.attempts) == ("waiting", 0)
    assert timedelta(minutes=59) < row.due_at - database_now() < timedelta(minutes=61)
    assert mailbox.mails == []


@pytest.mark.parametrize("wakes", [False, True])
def test_an_escalation_comes_at_every_hour_if_the_person_says_so(
    cast: Cast, post: Post, mailbox: Mailbox, wakes: bool
) -> None:
    set_policy(cast.tenant, FINANCE_THEN_OPS)
    reach(cast.rob)
    quiet_now(cast, escalation_wakes=wakes)
    cast.ask(cast.run())
    post.round()

    bring_forward("escalation")
    post.round()

    assert states() == [("rob", "escalation", "sent" if wakes else "waiting")]
    assert len(mailbox.mails) == wakes


def test_a_test_message_comes_in_quiet_hours(cast: Cast, post: Post, mailbox: Mailbox) -> None:
    reach(cast.rob)
    quiet_now(cast)
    assert Notice.ask_for(cast.rob, "email", Kind.TEST)

    post.round()

    assert mailbox.subjects == ["A test message from Placet"]


def test_a_fault_of_a_sender_stops_no_other(
    cast: Cast, post: Post, hook: Hook, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    from notices.senders.chat import Chat

    def send(self: Chat, _message: object, *, name: str) -> Delivered:
        raise KeyError(self.address)

    monkeypatch.setattr(Chat, "send", send)
    reach(cast.rae, "chat", "room-1")
    reach(cast.rae)
    cast.ask(cast.run())

    post.round()

    rows = Notice.objects.order_by("channel").values_list("channel", "state", "error")
    assert list(rows) == [("chat", "waiting", "KeyError"), ("email", "sent", "")]


def test_a_courier_that_closes_leaves_what_it_did_not_begin(cast: Cast, post: Post) -> None:
    reach(cast.rae)
    cast.ask(cast.run())
    post.round_without_sending()
    courier = Courier()
    courier._claim()

    courier.close()

    assert states() == [("rae", "asked", "sending")]
    fall_due()
    assert len(claim(8)) == 1
