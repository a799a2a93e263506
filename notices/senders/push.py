"""Web Push (RFC 8030): encrypted for one browser (RFC 8291), to the URL that it named.

That URL is a stranger's, so it is reached by the guarded sender alone. The push service learns
when and how much, not what.
"""

import time
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

import http_ece
from cryptography.hazmat.primitives.asymmetric import ec
from django.conf import settings
from django.utils import timezone

from notices.rules.base64url import decoded
from notices.senders.outcome import Delivered, Failed, Gone, Outcome
from notices.senders.vapid import VapidKey
from notices.wording import Message
from outward.sender import Sent, post
from placet.protocol.canonical import canonical
from placet.protocol.reading import JSONValue

TIMEOUT_S: Final = 10.0
ANSWER_MAX_BYTES: Final = 4096
KEPT_MAX_S: Final = 24 * 3600
NOBODY: Final = frozenset({404, 410})


@dataclass(frozen=True, slots=True)
class Subscription:
    """Where a browser's push service takes messages, and the browser's key and secret."""

    endpoint: str
    p256dh: str
    auth: str


@dataclass(frozen=True, slots=True)
class Push:
    """One browser of a person."""

    key: VapidKey
    to: Subscription

    def send(self, message: Message, *, name: str) -> Outcome:
        """Send a message; the push service keeps it no longer than it is worth reading."""
        headers = {
            "Authorization": self.key.authorization(
                self.to.endpoint, subject=settings.PLACET_BASE_URL, now_s=int(time.time())
            ),
            "Content-Type": "application/octet-stream",
            "Content-Encoding": "aes128gcm",
            "TTL": str(_kept_s(message)),
            "Topic": _topic(message),
            "Urgency": "high",
        }
        answer = post(
            self.to.endpoint,
            self._encrypted(message),
            headers,
            timeout_s=TIMEOUT_S,
            max_answer_bytes=ANSWER_MAX_BYTES,
        )
        if not isinstance(answer, Sent):
            return Failed(answer.reason.value)
        if answer.status in NOBODY:
            return Gone()
        return Delivered() if answer.is_taken else Failed(f"status_{answer.status}")

    def _encrypted(self, message: Message) -> bytes:
        shown: dict[str, JSONValue] = {
            "title": message.title,
            "body": message.brief,
            "path": message.path,
            "tag": message.tag,
            "waiting": message.waiting,
        }
        body: bytes = http_ece.encrypt(
            canonical(shown).encode(),
            private_key=ec.generate_private_key(ec.SECP256R1()),
            dh=decoded(self.to.p256dh),
            auth_secret=decoded(self.to.auth),
            version="aes128gcm",
        )
        return body


def _kept_s(message: Message) -> int:
    if message.until is None:
        return KEPT_MAX_S
    left_s = (message.until - timezone.now()).total_seconds()
    return max(0, min(KEPT_MAX_S, int(left_s)))


def _topic(message: Message) -> str:
    """The name by which a later message replaces this one while it waits: 32 of base64url."""
    return urlsafe_b64encode(sha256(message.tag.encode()).digest()[:24]).decode()
