"""Messages of the outbox on their way: claimed, made ready, finished. Sending is elsewhere.

Guards that a message goes out only while it is true: before each attempt it is asked again
whether the question still waits or the outcome is still unknown, and whether it is still this
person's.
"""

import random
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

import structlog
from django.conf import settings
from django.db import connection
from django.db.models import Min, QuerySet

from identity.languages import reading, zone_names
from identity.models import User
from notices import wording
from notices.fanout import Subject, concerned, subjects
from notices.models import Address, Browser, Choice, Notice
from notices.rules.channels import EMAIL, WEBPUSH, Channel
from notices.rules.kinds import Kind, NoticeState
from notices.rules.timing import QuietHours, retry_in_s
from notices.senders.chat import Chat
from notices.senders.mail import Mail
from notices.senders.outcome import Delivered, Failed, Gone, Outcome
from notices.senders.push import Push, Subscription
from notices.wording import Disabled, Message
from runs.asked import Waiting, questions
from runs.clock import database_now
from runs.models import Action

CLAIM_S: Final = 300
"""How long a claim holds; longer than any attempt, also one that waits for its turn."""

CLAIMED_MAX: Final = 500
TOGETHER: Final = 3
"""So many questions get a message each; more are told in one."""

PER_HOUR: Final = 20
"""Messages about questions to one person in one channel; what is beyond waits and is joined."""

URGENCY: Final = (Kind.ESCALATION, Kind.REOPENED, Kind.REMINDER, Kind.ASKED)

READY = """
(state = 'waiting' OR state = 'sending' AND claimed_until < statement_timestamp())
AND due_at <= statement_timestamp()
"""

CLAIM = f"""
WITH heads AS (
    SELECT user_id, channel FROM notices_notice
    WHERE {READY} AND split_part(channel, ':', 1) <> ALL(%(busy)s)
    GROUP BY user_id, channel ORDER BY min(due_at) LIMIT %(people)s
), taken AS (
    SELECT notice.id FROM notices_notice notice JOIN heads USING (user_id, channel)
    WHERE {READY} ORDER BY notice.id LIMIT %(most)s FOR UPDATE OF notice SKIP LOCKED
)
UPDATE notices_notice SET state = 'sending', attempts = attempts + 1,
    claimed_until = statement_timestamp() + make_interval(secs => %(claim_s)s)
WHERE id IN (SELECT id FROM taken) RETURNING id
"""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Parcel:
    """One message, where it goes, and the claimed rows that it answers for."""

    rows: tuple[Notice, ...]
    way: Mail | Chat | Push
    message: Message

    @property
    def channel(self) -> str:
        """The name of the channel, without the browser."""
        return channel_of(self.rows[0])

    @property
    def name(self) -> str:
        """What identifies the message over all attempts."""
        return f"placet-notice-{self.rows[0].pk}"

    def send(self) -> Outcome:
        """Send it; touches no database."""
        return self.way.send(self.message, name=self.name)


def channel_of(row: Notice) -> str:
    """Give the name of a row's channel, without the browser."""
    return row.channel.partition(":")[0]


def claim(people: int, busy: Collection[str] = ()) -> list[Notice]:
    """Take what is due for at most so many people, except in channels that are busy."""
    given: dict[str, Any] = {
        "people": people,
        "busy": list(busy),
        "most": CLAIMED_MAX,
        "claim_s": CLAIM_S,
    }
    with connection.cursor() as cursor:
        cursor.execute(CLAIM, given)
        ids = [notice_id for (notice_id,) in cursor.fetchall()]
    return list(Notice.objects.filter(pk__in=ids).select_related("user").order_by("pk"))


def parcels(rows: Sequence[Notice]) -> list[Parcel]:
    """Make messages of claimed rows; what is not to be sent now is put back or dropped."""
    groups: dict[tuple[int, str], list[Notice]] = {}
    for row in rows:
        groups.setdefault((row.user_id, row.channel), []).append(row)
    return [parcel for group in groups.values() for parcel in _of_person(group)]


def _of_person(rows: Sequence[Notice]) -> Iterator[Parcel]:
    user, channel = rows[0].user, rows[0].channel
    own = [row for row in rows if not Kind(row.kind).is_about_question]
    asked = [row for row in rows if Kind(row.kind).is_about_question]
    with reading(user.language, user.time_zone):
        for row in own:
            yield from _of_own(row)
        way = _way(user, channel) if asked else None
        if way is None:
            _end(asked, NoticeState.DROPPED)
            return
        told = _still_true(user, _not_now(user, asked))
        for group, message in _worded(told):
            yield Parcel(tuple(group), way, _with_count(message, user, way))


def _of_own(row: Notice) -> Iterator[Parcel]:
    """A code or a trial, which the person waits for: no quiet hours and no other limits."""
    is_code = row.kind == Kind.CODE
    way = _way(row.user, row.channel, is_code=is_code) if row.user.is_active else None
    if way is None:
        _end([row], NoticeState.DROPPED)
        return
    message = wording.of_code(_address(row.user, row.channel).code()) if is_code else None
    yield Parcel((row,), way, message or wording.of_test())


def _way(user: User, channel: str, *, is_code: bool = False) -> Mail | Chat | Push | None:
    """Where to send, None where the person or the operator took it away."""
    name, _colon, browser_id = channel.partition(":")
    if name == WEBPUSH:
        key = settings.PLACET_WEBPUSH_KEY
        browser = Browser.objects.filter(
            tenant_id=user.tenant_id, user=user, pk=int(browser_id)
        ).first()
        if key is None or browser is None:
            return None
        return Push(key, Subscription(browser.endpoint, browser.p256dh, browser.auth))
    address = Address.objects.filter(tenant_id=user.tenant_id, user=user, channel=name).first()
    known = settings.PLACET_NOTICE_CHANNELS.get(name)
    if address is None or known is None or not known.takes(address.address):
        return None
    if address.is_used or (is_code and address.confirmed_at is None):
        return _to(known, address.address)
    return None


def _to(channel: Channel, address: str) -> Mail | Chat:
    if channel.name != EMAIL:
        return Chat(channel, address)
    assert settings.PLACET_SMTP is not None  # the channel is there because the server is
    return Mail(settings.PLACET_SMTP, address)


def _address(user: User, channel: str) -> Address:
    return Address.objects.get(tenant_id=user.tenant_id, user=user, channel=channel)


def _not_now(user: User, rows: Sequence[Notice]) -> list[Notice]:
    """Put back what falls into quiet hours, and everything beyond the hour's limit."""
    now = database_now()
    choice = Choice.of(user)
    until = quiet_until(choice, user, now)
    wakes = choice.escalation_wakes
    quiet = [row for row in rows if until and not (wakes and row.kind == Kind.ESCALATION)]
    if quiet and until:
        _put_back(quiet, until)
    left = [row for row in rows if row not in quiet]
    if left and (free_at := _limited_until(user, left[0].channel, now)):
        _put_back(left, free_at)
        return []
    return left


def quiet_until(choice: Choice, user: User, now: datetime) -> datetime | None:
    """Give when this person's quiet hours end, None where there are none now."""
    if choice.quiet_from is None or choice.quiet_until is None:
        return None
    zone = ZoneInfo(user.time_zone if user.time_zone in zone_names() else "UTC")
    return QuietHours(choice.quiet_from, choice.quiet_until, zone).until(now)


def _limited_until(user: User, channel: str, now: datetime) -> datetime | None:
    sent = Notice.objects.filter(
        tenant_id=user.tenant_id,
        user=user,
        channel=channel,
        interrupt_id__isnull=False,
        state=NoticeState.SENT,
        ended_at__gt=now - timedelta(hours=1),
    )
    # All rows of one message ended at one instant.
    if sent.values("ended_at").distinct().count() < PER_HOUR:
        return None
    oldest: datetime = sent.aggregate(at=Min("ended_at"))["at"]
    return oldest + timedelta(hours=1)


def _still_true(user: User, rows: Sequence[Notice]) -> list[tuple[Notice, Subject]]:
    """Drop what was answered, ended, found out or is not this person's any more."""
    found = subjects(user.tenant_id, rows) if rows else {}
    told = [
        (row, found[row.pk])
        for row in rows
        if row.pk in found and user.pk in concerned(Kind(row.kind), found[row.pk], [user.pk])
    ]
    _end([row for row in rows if row not in [kept for kept, _ in told]], NoticeState.DROPPED)
    return told


def _worded(told: Sequence[tuple[Notice, Subject]]) -> Iterator[tuple[list[Notice], Message]]:
    """One message a question, its most urgent kind; one for all where they are many."""
    by_question: dict[str, list[Notice]] = {}
    asked: dict[str, Waiting] = {}
    lost: list[tuple[Notice, Action]] = []
    for row, subject in told:
        if isinstance(subject, Disabled):
            yield [row], wording.of_disabled(subject)
            continue
        if isinstance(subject, Action):
            lost.append((row, subject))
            continue
        by_question.setdefault(subject.id, []).append(row)
        asked[subject.id] = subject
    yield from _of_unknown(lost)
    if len(asked) > TOGETHER:
        yield (
            [row for rows in by_question.values() for row in rows],
            wording.of_many([*asked.values()]),
        )
        return
    for question_id, rows in by_question.items():
        kind = min((Kind(row.kind) for row in rows), key=URGENCY.index)
        yield rows, wording.of_question(kind, asked[question_id])


def _of_unknown(lost: Sequence[tuple[Notice, Action]]) -> Iterator[tuple[list[Notice], Message]]:
    """One message an action, one for all where they are many."""
    if len(lost) > TOGETHER:
        yield [row for row, _ in lost], wording.of_many_unknown(len(lost))
        return
    for row, action in lost:
        yield [row], wording.of_unknown(action)


def _with_count(message: Message, user: User, way: Mail | Chat | Push) -> Message:
    """Only an app on a device shows a number."""
    if not isinstance(way, Push):
        return message
    return replace(message, waiting=questions().count_for(user.tenant_id, user.pk))


def finish(parcel: Parcel, outcome: Outcome) -> None:
    """Note what became of a message; rows that another has claimed since are left to it."""
    match outcome:
        case Delivered():
            _end(parcel.rows, NoticeState.SENT)
            log.info("notices.sent", channel=parcel.channel, notices=_ids(parcel.rows))
        case Gone():
            Browser.objects.filter(
                user_id=parcel.rows[0].user_id,
                pk=int(parcel.rows[0].channel.partition(":")[2]),
            ).delete()
            _end(parcel.rows, NoticeState.DROPPED)
            log.info("notices.browser_gone", notices=_ids(parcel.rows))
        case Failed(error):
            _retry(parcel, error)


def _retry(parcel: Parcel, error: str) -> None:
    jitter = random.random()
    now = database_now()
    for row in parcel.rows:
        wait_s = retry_in_s(row.attempts, jitter)
        if wait_s is None:
            _end([row], NoticeState.FAILED, error=error)
        else:
            _held([row]).update(
                state=NoticeState.WAITING.value,
                due_at=now + timedelta(seconds=wait_s),
                error=error,
            )
    log.warning(
        "notices.not_sent",
        channel=parcel.channel,
        notices=_ids(parcel.rows),
        attempts=max(row.attempts for row in parcel.rows),
        error=error,
    )


def _put_back(rows: Sequence[Notice], until: datetime) -> None:
    """Let rows wait without an attempt spent."""
    for row in rows:
        _held([row]).update(
            state=NoticeState.WAITING.value, due_at=until, attempts=row.attempts - 1
        )


def _end(rows: Sequence[Notice], state: NoticeState, *, error: str = "") -> None:
    if rows:
        _held(rows).update(state=state.value, ended_at=database_now(), error=error)


def _held(rows: Sequence[Notice]) -> QuerySet[Notice]:
    """These rows as far as the claim still holds: an attempt that took too long ends nothing."""
    return Notice.objects.filter(
        pk__in=[row.pk for row in rows],
        state=NoticeState.SENDING.value,
        claimed_until=rows[0].claimed_until,
    )


def _ids(rows: Sequence[Notice]) -> list[int]:
    return [row.pk for row in rows]
