"""Checking webhooks: Standard Webhooks with HMAC-SHA256 (contract §7)."""

import base64
import binascii
import hmac
import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any

from placet.errors import InvalidSignature

TOLERANCE_S = 300
"""How far a webhook's time may be from now, both ways; a resend is signed anew."""

PREFIX = "whsec_"
_ID = re.compile(r"[A-Za-z0-9_-]{1,255}")  # no full stop, which separates what is signed
_SECONDS = re.compile(r"[0-9]{1,12}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What a webhook tells; `id` is the same on every attempt, so deal with each once.

    It only wakes: read the question or the action from the server before doing anything.
    """

    id: str
    type: str
    timestamp: datetime
    data: Mapping[str, Any]


def verify(
    body: bytes | str,
    headers: Mapping[str, str],
    secrets: str | Sequence[str],
    *,
    now: float | None = None,
) -> Event:
    """The event of a webhook that somebody who knows one of the secrets sent just now.

    `body` are the bytes as they came in, before any parsing. `headers` in any case. Raises
    InvalidSignature and nothing else, whatever comes in.
    """
    raw = body.encode("utf-8", "surrogatepass") if isinstance(body, str) else bytes(body)
    given = {str(name).lower(): str(text) for name, text in headers.items()}
    check_signature(raw, given, secrets, now=time.time() if now is None else now)
    return _event(given["webhook-id"], raw)


def check_signature(
    raw: bytes, headers: Mapping[str, str], secrets: str | Sequence[str], *, now: float
) -> None:
    """Raise InvalidSignature unless one signature is right for one secret, now."""
    webhook_id = headers.get("webhook-id", "")
    timestamp = headers.get("webhook-timestamp", "")
    if not _ID.fullmatch(webhook_id):
        raise InvalidSignature("The header webhook-id is missing or no id.")
    if not _SECONDS.fullmatch(timestamp):
        raise InvalidSignature("The header webhook-timestamp is missing or no number of seconds.")
    signed = b".".join((webhook_id.encode(), timestamp.encode(), raw))
    wanted = [hmac.new(key, signed, sha256).digest() for key in _keys(secrets)]
    given = list(_signatures(headers.get("webhook-signature", "")))
    # No early end, so that the time taken tells nothing about which secret or signature it was.
    matches = [hmac.compare_digest(one, other) for one in wanted for other in given]
    if not any(matches):
        raise InvalidSignature("No signature is right for any of the secrets.")
    if abs(now - int(timestamp)) > TOLERANCE_S:
        raise InvalidSignature("The webhook is too old, or this clock is wrong.")


def _keys(secrets: str | Sequence[str]) -> Iterator[bytes]:
    given = [secrets] if isinstance(secrets, str) else list(secrets)
    for secret in given:
        text = secret.removeprefix(PREFIX)
        try:
            key = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
        except (ValueError, binascii.Error):
            key = b""
        if not key:
            raise InvalidSignature("A secret is empty or no base64 text.")
        yield key
    if not given:
        raise InvalidSignature("There is no secret to check with.")


def _signatures(header: str) -> Iterator[bytes]:
    """The signatures of version 1; others are for other keys."""
    for each in header.split():
        version, _, text = each.partition(",")
        if version != "v1":
            continue
        try:
            yield base64.b64decode(text, validate=True)
        except (ValueError, binascii.Error):
            continue


def _event(webhook_id: str, raw: bytes) -> Event:
    try:
        value = json.loads(raw)
        event = Event(
            id=webhook_id,
            type=str(value["type"]),
            timestamp=datetime.fromisoformat(value["timestamp"]),
            data=dict(value["data"]),
        )
    except (ValueError, TypeError, KeyError, RecursionError):
        raise InvalidSignature("The signature is right, but this is no event of Placet.") from None
    return event
