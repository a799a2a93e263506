"""What a browser says of itself when it subscribes: a stranger's text, read strictly."""

import re
from typing import Final
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.asymmetric import ec

from notices.rules.base64url import decoded

ENDPOINT_MAX_CHARS: Final = 1000
SECRET_BYTES: Final = 16

_VISIBLE = re.compile(r"https://[!-~]+", re.ASCII)


def is_subscription(endpoint: str, p256dh: str, auth: str) -> bool:
    """Whether this can be a push service's https URL, a point of P-256 and a secret (RFC 8291).

    Whether the URL leads somewhere that may be reached is judged when it is used.
    """
    return _is_endpoint(endpoint) and _is_point(p256dh) and _has_bytes(auth, SECRET_BYTES)


def _is_endpoint(endpoint: str) -> bool:
    if len(endpoint) > ENDPOINT_MAX_CHARS or not _VISIBLE.fullmatch(endpoint):
        return False
    try:
        parts = urlsplit(endpoint)
    except ValueError:
        return False
    return bool(parts.hostname) and "@" not in parts.netloc and not parts.fragment


def _is_point(text: str) -> bool:
    try:
        ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), decoded(text))
    except ValueError:
        return False
    return True


def _has_bytes(text: str, count: int) -> bool:
    try:
        return len(decoded(text)) == count
    except ValueError:
        return False
