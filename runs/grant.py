"""The grant: a signed, short-lived permission that a tool can check by itself (contract §6).

A compact JWS (RFC 7515) with EdDSA over Ed25519 (RFC 8037). It says what may be done: the digest
of the approved content, by which agent, under which idempotency key, until when.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import sha256

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from jwt.algorithms import OKPAlgorithm

from placet.protocol.reading import JSONValue

TYPE = "placet-grant+jwt"
ALGORITHM = "EdDSA"
LEEWAY_S = 60
"""How long a retired key stays published beyond the last grant, for clocks that differ."""


def new_key() -> tuple[str, Ed25519PrivateKey]:
    """A new key's id, made of its public half, and its private half."""
    key = Ed25519PrivateKey.generate()
    public = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    return sha256(public).hexdigest()[:32], key


def to_pem(private: Ed25519PrivateKey) -> str:
    """A private half as text, to be sealed."""
    return private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def from_pem(pem: str) -> Ed25519PrivateKey:
    """The private half of such a text."""
    key = load_pem_private_key(pem.encode(), password=None)
    assert isinstance(key, Ed25519PrivateKey)
    return key


def sign(claims: Mapping[str, JSONValue], *, kid: str, private: Ed25519PrivateKey) -> str:
    """The signed grant."""
    return jwt.encode(dict(claims), private, algorithm=ALGORITHM, headers={"typ": TYPE, "kid": kid})


def key_set(keys: Sequence[tuple[str, Ed25519PrivateKey]]) -> dict[str, JSONValue]:
    """The public halves as a JWK Set (RFC 7517 §5)."""
    return {"keys": [_public(kid, private) for kid, private in keys]}


def _public(kid: str, private: Ed25519PrivateKey) -> dict[str, JSONValue]:
    members = OKPAlgorithm.to_jwk(private.public_key(), as_dict=True)
    return {**members, "kid": kid, "use": "sig", "alg": ALGORITHM}


def seconds(at: datetime) -> int:
    """An instant as a NumericDate (RFC 7519 §2), whole seconds, cut."""
    return int(at.timestamp())


def key_id(token: str) -> str:
    """The id of the key that signed a grant, read and not verified."""
    return str(jwt.get_unverified_header(token)["kid"])
