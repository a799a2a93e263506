"""base64url without padding (RFC 7515 §2), as browsers write keys."""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode

_FORM = re.compile(r"[A-Za-z0-9_-]*={0,2}", re.ASCII)


def encoded(data: bytes) -> str:
    """Give the bytes as text."""
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def decoded(text: str) -> bytes:
    """Give the bytes of a text, padded or not; ValueError for any other."""
    if not _FORM.fullmatch(text):
        raise ValueError("not base64url")
    bare = text.rstrip("=")
    return urlsafe_b64decode(bare + "=" * (-len(bare) % 4))
