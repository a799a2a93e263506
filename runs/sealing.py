"""Secrets at rest: texts sealed with a key that is derived from the server's own secret.

Another secret cannot open them (RFC 5869 for the derivation, Fernet for the sealing).
"""

from base64 import urlsafe_b64encode
from functools import cache

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings


class Unreadable(Exception):
    """What was sealed under another secret, or altered."""


def seal(text: str, purpose: str) -> str:
    """The text, readable again only with this server's secret and for the same purpose."""
    return _box(settings.SECRET_KEY, purpose).encrypt(text.encode()).decode()


def unseal(sealed: str, purpose: str, *, secret: str | None = None) -> str:
    """What was sealed, under this server's secret or the one given; raises Unreadable."""
    try:
        return _box(secret or settings.SECRET_KEY, purpose).decrypt(sealed.encode()).decode()
    except InvalidToken:
        raise Unreadable(purpose) from None


@cache
def _box(secret: str, purpose: str) -> Fernet:
    derived = HKDF(SHA256(), 32, salt=None, info=f"placet.{purpose}".encode())
    return Fernet(urlsafe_b64encode(derived.derive(secret.encode())))
