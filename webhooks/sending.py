"""One attempt at a delivery: sign the stored bytes, send them, say what came back.

Touches no database. What a tenant may not tell apart (blocked, refused, timed out) leaves here as
one failure that is told after the same time; the operator's log has the reason.
"""

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import structlog
from django.conf import settings

from outward.destinations import Flaw, parse
from outward.sender import Reason, Sent, Unsent, find, post
from webhooks.rules.kinds import Failure
from webhooks.rules.signing import signed_headers

TIMEOUT_S: Final = 15.0
FIND_TIMEOUT_S: Final = 5.0
ANSWER_BYTES: Final = 1_024

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parcel:
    """A claimed delivery, where it goes, and the keys that sign it.

    `start_by` is on the monotonic clock: what nobody took up by then is left to its next claim.
    """

    id: str
    tenant_id: int
    endpoint_id: str
    url: str
    keys: tuple[bytes, ...]
    body: bytes
    tries: int
    claimed_until: datetime
    is_failing: bool
    start_by: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One attempt and what came of it; it may be told from `tell_at` on (monotonic clock)."""

    parcel: Parcel
    at: datetime
    tell_at: float
    status: int | None = None
    took_ms: int | None = None
    failure: Failure | None = None
    answer: bytes | None = None

    @property
    def is_taken(self) -> bool:
        """Whether the receiver says that it has it."""
        return self.status is not None and 200 <= self.status < 300


def attempt(parcel: Parcel, *, timeout_s: float = TIMEOUT_S) -> Tried:
    """Send a delivery once, signed for now."""
    at, started = datetime.now(UTC), time.monotonic()
    headers = signed_headers(parcel.keys, webhook_id=parcel.id, at=at, body=parcel.body)
    answer = post(
        parcel.url,
        parcel.body,
        {"content-type": "application/json", **headers},
        timeout_s=timeout_s,
        allow=settings.PLACET_WEBHOOK_ALLOW,
        allow_http=settings.PLACET_WEBHOOK_ALLOW_HTTP,
        max_answer_bytes=ANSWER_BYTES,
    )
    match answer:
        case Sent() as sent:
            if not sent.is_taken:
                _log(parcel, "status", status=sent.status)
            return Tried(
                parcel=parcel,
                at=at,
                tell_at=started,
                status=sent.status,
                took_ms=round(sent.took_s * 1000),
                answer=sent.body_start,
            )
        case Unsent(reason):
            _log(parcel, reason.value)
            tell_at = started + timeout_s if reason.is_unreachable else started
            return Tried(parcel=parcel, at=at, tell_at=tell_at, failure=_failure(reason))


def broken(parcel: Parcel) -> Tried:
    """An attempt that a fault of ours ended; the parcel is tried again."""
    return Tried(
        parcel=parcel, at=datetime.now(UTC), tell_at=time.monotonic(), failure=Failure.BAD_ANSWER
    )


def flaw_of(url: str) -> Flaw | None:
    """Give what is wrong with a URL as it is written, None where nothing is."""
    read = parse(url, allow_http=settings.PLACET_WEBHOOK_ALLOW_HTTP)
    return read if isinstance(read, Flaw) else None


def may_be_reached(url: str) -> bool:
    """Whether a URL leads into the public internet or where the operator allows; looks it up."""
    found = find(
        url,
        timeout_s=FIND_TIMEOUT_S,
        allow=settings.PLACET_WEBHOOK_ALLOW,
        allow_http=settings.PLACET_WEBHOOK_ALLOW_HTTP,
    )
    return not isinstance(found, Unsent)


def _failure(reason: Reason) -> Failure:
    match reason:
        case Reason.BLOCKED | Reason.REFUSED | Reason.TIMED_OUT:
            return Failure.UNREACHABLE
        case Reason.TLS:
            return Failure.TLS
        case Reason.BAD_ANSWER:
            return Failure.BAD_ANSWER


def _log(parcel: Parcel, reason: str, **more: int) -> None:
    log.warning(
        "webhooks.not_delivered",
        endpoint=parcel.endpoint_id,
        delivery=parcel.id,
        tries=parcel.tries + 1,
        reason=reason,
        **more,
    )
