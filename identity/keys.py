"""API keys: 256 random bits, kept as their SHA-256.

A key has more entropy than its digest, so a slow password hash would add cost and no safety.
"""

import hashlib
import secrets

PREFIX = "plk_"


def new_key() -> str:
    """A fresh key, e.g. `plk_` and 43 URL-safe characters."""
    return PREFIX + secrets.token_urlsafe(32)


def key_digest(key: str) -> str:
    """The form in which a key is stored and looked up: 64 lower-case hex digits."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
