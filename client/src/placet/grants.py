"""Checking a grant: what lets a tool act without trusting the agent or the network.

A grant permits one call: this tool of this tenant, with exactly these arguments, until its end.
What it cannot say is whether it was used before: honor each `idempotency_key` once, in the store
that the tool's own effect is written to.
"""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from placet.errors import InvalidGrant, UnexpectedAnswer
from placet.jwks import KeySet, find_key
from placet.models import Actor
from placet.protocol.canonical import NotCanonical
from placet.protocol.digest import asked_sha256
from placet.shapes import read_shape

TYPE = "placet-grant+jwt"
ALGORITHM = "EdDSA"
AHEAD_S = 60
"""How far the server's clock may be ahead of the tool's. The end of a grant knows no tolerance:
after it the server takes "not executed" for an answer."""

MOST_CHARS = 16 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What a checked grant says: who may do what, who allowed it, under which key, until when."""

    issuer: str
    agent: str
    action_id: str
    run_id: str
    interrupt_id: str
    tool: str
    approved_sha256: str
    decided_by: Actor
    decided_at: datetime
    issued_at: datetime
    expires_at: datetime
    idempotency_key: str
    fencing_token: int


def verify(
    token: str,
    *,
    tenant: str,
    tool: str,
    args: Mapping[str, Any],
    target: Mapping[str, Any] | None,
    jwks: KeySet | str,
    now: float | None = None,
) -> Grant:
    """The grant, if it permits exactly this call now; raises InvalidGrant with the reason.

    `tool`, `args` and `target` are what the tool is about to do, from its own hands. `jwks` is the
    server's key set, or its address, which is fetched and kept for a minute (then also raises
    KeysUnavailable).
    """
    claims = _claims(token, jwks)
    if claims["aud"] != f"{tenant}/{tool}" or claims["tool"] != tool:
        raise InvalidGrant("The grant is for another tool, or for another tenant.")
    at = time.time() if now is None else now
    if claims["exp"] <= at:
        raise InvalidGrant("The grant has ended.")
    if claims["iat"] > at + AHEAD_S:
        raise InvalidGrant("The grant begins later; this clock or the server's is wrong.")
    try:
        digest = asked_sha256(tool=tool, args=args, target=target)
    except NotCanonical as error:
        raise InvalidGrant(f"What is about to be done has no digest: {error}.") from None
    if digest != claims["approved_sha256"]:
        raise InvalidGrant("What is about to be done is not what was approved.")
    return _grant(claims)


def _claims(token: str, jwks: KeySet | str) -> dict[str, Any]:
    """The claims of a token that the server signed, every member of its type."""
    import jwt

    header = _header(token)
    if header.get("typ") != TYPE or header.get("alg") != ALGORITHM or "crit" in header:
        raise InvalidGrant("This is no grant: its type or its algorithm is another.")
    kid = header.get("kid")
    if not isinstance(kid, str):
        raise InvalidGrant("The grant does not say which key signed it.")
    try:
        key = jwt.PyJWK(dict(find_key(jwks, kid)), algorithm=ALGORITHM)
        raw = jwt.PyJWS().decode(token, key, algorithms=[ALGORITHM])
        claims = json.loads(raw)
    except (jwt.PyJWTError, ValueError, RecursionError):
        raise InvalidGrant("The signature is not right.") from None
    return _typed(claims)


def _header(token: str) -> dict[str, Any]:
    import jwt

    if not isinstance(token, str) or len(token) > MOST_CHARS:
        raise InvalidGrant("This is no grant.")
    try:
        header: dict[str, Any] = jwt.get_unverified_header(token)
    except (jwt.PyJWTError, ValueError, RecursionError):
        raise InvalidGrant("This is no grant: it cannot be read.") from None
    return header


_TEXTS = (
    "iss",
    "aud",
    "sub",
    "jti",
    "run",
    "interrupt",
    "tool",
    "approved_sha256",
    "decided_at",
    "idempotency_key",
)
_NUMBERS = ("iat", "exp", "fencing_token")


def _typed(claims: Any) -> dict[str, Any]:
    if not isinstance(claims, dict):
        raise InvalidGrant("The grant says nothing.")
    for names, kind in ((_TEXTS, str), (_NUMBERS, int)):
        for name in names:
            if type(claims.get(name)) is not kind:
                raise InvalidGrant(f"The grant's {name} is missing or not as it has to be.")
    return claims


def _grant(claims: Mapping[str, Any]) -> Grant:
    try:
        decided_at = datetime.fromisoformat(claims["decided_at"])
        decided_by = read_shape(Actor, claims.get("decided_by"))
        issued_at = datetime.fromtimestamp(claims["iat"], UTC)
        expires_at = datetime.fromtimestamp(claims["exp"], UTC)
    except (ValueError, OverflowError, OSError, UnexpectedAnswer):
        raise InvalidGrant("The grant does not say who decided, or when.") from None
    return Grant(
        issuer=claims["iss"],
        agent=claims["sub"],
        action_id=claims["jti"],
        run_id=claims["run"],
        interrupt_id=claims["interrupt"],
        tool=claims["tool"],
        approved_sha256=claims["approved_sha256"],
        decided_by=decided_by,
        decided_at=decided_at,
        issued_at=issued_at,
        expires_at=expires_at,
        idempotency_key=claims["idempotency_key"],
        fencing_token=claims["fencing_token"],
    )
