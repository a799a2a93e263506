"""Standard Webhooks with HMAC-SHA256: secrets, and the headers that sign a body.

Guards that the bytes signed are the bytes sent: both are the ones given here, never a value that
is spelled twice.
"""

import base64
import hmac
from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256
from typing import Final

PREFIX: Final = "whsec_"
KEY_BYTES: Final = 24


def secret_of(key: bytes) -> str:
    """Give the text by which people pass a key on."""
    return PREFIX + base64.b64encode(key).decode()


def key_of(secret: str) -> bytes:
    """Give the key of a secret; its padding may be left out, as the official vectors do."""
    text = secret.removeprefix(PREFIX)
    return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)


def signed_headers(
    keys: Sequence[bytes], *, webhook_id: str, at: datetime, body: bytes
) -> dict[str, str]:
    """Give the headers of one attempt at `at`: one signature for each key that is valid."""
    timestamp = str(int(at.timestamp()))
    signed = b".".join((webhook_id.encode(), timestamp.encode(), body))
    return {
        "webhook-id": webhook_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": " ".join(f"v1,{_signature(key, signed)}" for key in keys),
    }


def _signature(key: bytes, signed: bytes) -> str:
    return base64.b64encode(hmac.digest(key, signed, sha256)).decode()
