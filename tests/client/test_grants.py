"""Grants: one call is permitted, for a while; everything that differs is refused."""

import base64
import json
from collections.abc import Callable
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

import placet
from placet import grants
from placet.jwks import Fetched
from placet.protocol.digest import asked_sha256
from runs import grant as server
from runs.models import SigningKey
from tests.cast import PAYMENT
from tests.client.site import People, Site

NOW = 1_764_500_000
KID, PRIVATE = server.new_key()
JWKS: dict[str, Any] = server.key_set([(KID, PRIVATE)])
CALL: dict[str, Any] = {
    "tenant": "acme",
    "tool": "pay_vendor",
    "args": PAYMENT,
    "target": None,
    "jwks": JWKS,
    "now": NOW,
}


def claims(**members: Any) -> dict[str, Any]:
    """What a grant of the payment says; members replace parts of it, None takes one out."""
    said = {
        "iss": "https://placet.example",
        "aud": "acme/pay_vendor",
        "sub": "agt_1",
        "jti": "act_1",
        "iat": NOW,
        "exp": NOW + 300,
        "run": "run_1",
        "interrupt": "int_1",
        "tool": "pay_vendor",
        "approved_sha256": asked_sha256(tool="pay_vendor", args=PAYMENT, target=None),
        "decided_by": {"kind": "user", "id": "usr_1", "name": "rae"},
        "decided_at": "2026-11-30T12:00:00Z",
        "idempotency_key": "idk_1",
        "fencing_token": 3,
        **members,
    }
    return {name: value for name, value in said.items() if value is not None}


def signed(**members: Any) -> str:
    said = json.dumps(claims(**members)).encode()  # signs what no library would let be said
    return jwt.PyJWS().encode(said, PRIVATE, "EdDSA", headers={"typ": server.TYPE, "kid": KID})


def headed(header: dict[str, Any], *, key: Any = PRIVATE, algorithm: str = "EdDSA") -> str:
    """A grant of the payment whose header has these members."""
    named = {"typ": server.TYPE, "kid": KID, **header}
    return jwt.encode(claims(), key, algorithm=algorithm, headers=named)


def ed25519(text: bytes) -> bytes:
    """A right signature."""
    return PRIVATE.sign(text)


def public_bytes(form: PublicFormat, encoding: Encoding) -> bytes:
    return PRIVATE.public_key().public_bytes(encoding, form)


def by_hand(header: dict[str, Any], mac: Callable[[bytes], bytes]) -> str:
    """A token put together without a library, which would not sign with a public key."""
    parts = [json.dumps(part).encode() for part in (header, claims())]
    text = b".".join(base64.urlsafe_b64encode(part).rstrip(b"=") for part in parts)
    return (text + b"." + base64.urlsafe_b64encode(mac(text)).rstrip(b"=")).decode()


def with_public_key(form: PublicFormat, encoding: Encoding) -> str:
    """HS256 with the public key as the secret: the confusion that many checkers fell for."""
    import hmac

    secret = public_bytes(form, encoding)
    header = {"typ": server.TYPE, "kid": KID, "alg": "HS256"}
    return by_hand(header, lambda text: hmac.new(secret, text, "sha256").digest())


def test_a_grant_permits_the_call_that_it_was_made_for() -> None:
    grant = grants.verify(signed(), **CALL)

    assert (grant.action_id, grant.idempotency_key, grant.fencing_token) == ("act_1", "idk_1", 3)
    assert (grant.decided_by.name, grant.agent, grant.tool) == ("rae", "agt_1", "pay_vendor")
    assert grant.expires_at.timestamp() == NOW + 300


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ({"args": {**PAYMENT, "amount_paise": 40_000_001}}, "not what was approved"),
        ({"args": {**PAYMENT, "note": ""}}, "not what was approved"),
        ({"args": {}}, "not what was approved"),
        ({"target": {"account": "V-2291"}}, "not what was approved"),
        ({"args": {"amount": 2**60}}, "no digest"),
        ({"tool": "pay_vendors"}, "another tool"),
        ({"tool": "PAY_VENDOR"}, "another tool"),
        ({"tenant": "globex"}, "another tenant"),
        ({"tenant": "acme/pay_vendor", "tool": ""}, "another tool"),
        ({"now": NOW + 300}, "ended"),
        ({"now": NOW + 10_000}, "ended"),
        ({"now": NOW - 61}, "begins later"),
        ({"jwks": {"keys": []}}, "does not publish"),
        ({"jwks": {}}, "does not publish"),
        ({"jwks": server.key_set([server.new_key()])}, "does not publish"),
        ({"jwks": server.key_set([(KID, Ed25519PrivateKey.generate())])}, "signature"),
        ({"jwks": {"keys": [*JWKS["keys"], *JWKS["keys"]]}}, "does not publish"),
        ({"jwks": {"keys": [{**JWKS["keys"][0], "crv": "Ed448"}]}}, "does not publish"),
        ({"jwks": {"keys": [{**JWKS["keys"][0], "x": "AA"}]}}, "signature"),
        ({"jwks": {"keys": [None, 3]}}, "does not publish"),
    ],
)
def test_another_call_another_time_or_another_key_is_refused(
    call: dict[str, Any], why: str
) -> None:
    with pytest.raises(placet.InvalidGrant, match=why):
        grants.verify(signed(), **{**CALL, **call})


@pytest.mark.parametrize(
    ("token", "why"),
    [
        ("", "cannot be read"),
        ("a.b.c", "cannot be read"),
        ("x" * 20_000, "no grant"),
        (signed()[:-4], "signature|be read"),
        (signed().replace(".", ".e", 1), "signature"),
        (headed({"typ": "JWT"}), "its type"),
        (headed({"typ": None}), "its type"),
        (by_hand({"typ": server.TYPE, "alg": "EdDSA"}, ed25519), "which key"),
        (by_hand({"typ": server.TYPE, "kid": 3, "alg": "EdDSA"}, ed25519), "which key|be read"),
        (headed({"kid": "another"}), "does not publish"),
        (headed({}, key=Ed25519PrivateKey.generate()), "signature"),
        (headed({"crit": ["exp"], "exp": 1}), "its type|cannot be read"),
        (headed({}, key="s" * 64, algorithm="HS256"), "algorithm"),
        (headed({}, key=None, algorithm="none"), "algorithm"),
        (by_hand({"typ": server.TYPE, "kid": KID, "alg": "none"}, lambda _: b""), "algorithm"),
        (by_hand({"typ": server.TYPE, "kid": KID, "alg": "None"}, lambda _: b""), "algorithm"),
        (by_hand({"typ": server.TYPE, "kid": KID, "alg": "EdDSA"}, lambda _: b""), "signature"),
        (with_public_key(PublicFormat.Raw, Encoding.Raw), "algorithm"),
        (with_public_key(PublicFormat.SubjectPublicKeyInfo, Encoding.PEM), "algorithm"),
    ],
    ids=range(19),
)
def test_a_token_that_the_server_did_not_sign_as_a_grant_is_refused(token: str, why: str) -> None:
    with pytest.raises(placet.InvalidGrant, match=why):
        grants.verify(token, **CALL)


@pytest.mark.parametrize("name", [name for name in claims() if name != "decided_by"])
@pytest.mark.parametrize("value", [None, True, 1.5, ["acme/pay_vendor"]])
def test_a_claim_that_is_missing_or_of_another_type_is_refused(name: str, value: Any) -> None:
    with pytest.raises(placet.InvalidGrant, match=rf"{name} is missing"):
        grants.verify(signed(**{name: value}), **CALL)


@pytest.mark.parametrize("members", [{"decided_by": "rae"}, {"decided_at": "yesterday"}])
def test_a_grant_that_does_not_say_who_decided_is_refused(members: dict[str, Any]) -> None:
    with pytest.raises(placet.InvalidGrant, match="who decided"):
        grants.verify(signed(**members), **CALL)


def test_a_signed_text_that_is_no_object_is_refused() -> None:
    token = jwt.PyJWS().encode(b"[]", PRIVATE, "EdDSA", headers={"typ": server.TYPE, "kid": KID})

    with pytest.raises(placet.InvalidGrant, match="says nothing"):
        grants.verify(token, **CALL)


@pytest.mark.django_db(transaction=True)
def test_the_server_s_grant_is_checked_with_its_published_keys_until_they_are_gone(
    served: Site, run: placet.Run, people: People
) -> None:
    """Rotated out: published while its grants last, and refused when it is gone."""
    asked = run.ask("pay_vendor", PAYMENT, call_id="call-1")
    people.answer(asked.id)
    tokens: list[str] = []
    with run.lease(holder="w") as lease:
        lease.execute(run.wait(asked), lambda args, *, grant, **_: tokens.append(grant))
    url = f"{served.url}/.well-known/jwks.json"
    call = {**CALL, "now": None, "jwks": url}

    grants.verify(tokens[0], **call)
    SigningKey.rotate()
    assert len(keys_at(url)["keys"]) == 2
    grants.verify(tokens[0], **{**call, "jwks": keys_at(url)})
    SigningKey.objects.filter(retired_at__isnull=False).update(retired_at="2026-01-01T00:00:00Z")
    with pytest.raises(placet.InvalidGrant, match="does not publish"):
        grants.verify(tokens[0], **{**call, "jwks": keys_at(url)})


def keys_at(url: str) -> Any:
    """The keys as they are published now."""
    import httpx

    return httpx.get(url).json()


@pytest.mark.django_db(transaction=True)
def test_keys_that_cannot_be_fetched_let_nothing_be_done(served: Site) -> None:
    for url in (f"{served.url}/nothing-here", "http://127.0.0.1:1/jwks.json", "nonsense"):
        with pytest.raises(placet.KeysUnavailable):
            grants.verify(signed(), **{**CALL, "jwks": url})


def test_keys_are_fetched_once_a_minute_and_for_unknown_keys_at_once_but_not_often() -> None:
    now, fetched = [0.0], []

    def fetch(url: str) -> dict[str, Any]:
        fetched.append(now[0])
        return {"keys": []}

    kept = Fetched(fetch, clock=lambda: now[0])
    for second in range(0, 130, 2):
        now[0] = float(second)
        kept.get("https://placet.example/jwks")
    assert fetched == [0.0, 60.0, 120.0]

    fetched.clear()
    for second in range(122, 140, 2):
        now[0] = float(second)
        kept.get("https://placet.example/jwks", is_too_old=True)
    assert fetched == [122.0, 128.0, 134.0]
