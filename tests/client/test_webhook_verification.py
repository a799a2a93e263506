"""Webhooks: the vectors of Standard Webhooks, and that nothing but InvalidSignature comes out."""

import base64
import hmac
import json
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import placet
from placet import webhooks
from placet.webhooks import check_signature

ROOT = Path(__file__).resolve().parents[2]
OWN = ROOT / "tests" / "vectors" / "standard-webhooks" / "own.json"
PUBLISHED = ROOT.parent / "shared" / "vectors" / "standard-webhooks" / "vectors.json"
VECTORS: dict[str, Any] = json.loads((PUBLISHED if PUBLISHED.exists() else OWN).read_text())

SECRET, OTHER = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
NOW = 1_764_500_000
BODY = (
    b'{"type":"interrupt.decided","timestamp":"2026-11-30T12:00:00Z",'
    b'"data":{"interrupt_id":"int_1","run_seq":3}}'
)


def signed(body: bytes, *secrets: str, at: int = NOW) -> dict[str, str]:
    """The headers of a webhook under these secrets, as during a rotation."""
    text = b".".join((b"msg_1", str(at).encode(), body))
    keys = [base64.b64decode(secret.removeprefix("whsec_")) for secret in secrets]
    macs = [base64.b64encode(hmac.new(key, text, sha256).digest()).decode() for key in keys]
    return {
        "Webhook-Id": "msg_1",
        "Webhook-Timestamp": str(at),
        "Webhook-Signature": " ".join(f"v1,{mac}" for mac in macs),
    }


@pytest.mark.parametrize("vector", VECTORS["sign"], ids=lambda vector: vector["name"])
def test_a_published_signature_is_right(vector: dict[str, Any]) -> None:
    headers = {
        "webhook-id": vector["webhook_id"],
        "webhook-timestamp": str(vector["webhook_timestamp"]),
        "webhook-signature": vector["signature"],
    }

    check_signature(
        base64.b64decode(vector["body_base64"]),
        headers,
        vector["secret"],
        now=vector["webhook_timestamp"],
    )


@pytest.mark.parametrize("vector", VECTORS["verify"], ids=lambda vector: vector["name"])
def test_a_published_case_is_judged_as_published(vector: dict[str, Any]) -> None:
    def check() -> None:
        check_signature(
            vector["body_utf8"].encode(),
            vector["headers"],
            vector["secret"],
            now=vector["clock_unix"],
        )

    if vector["expected"] == "accept":
        check()
    else:
        with pytest.raises(placet.InvalidSignature):
            check()


def test_the_event_is_given_as_it_was_sent() -> None:
    event = webhooks.verify(BODY, signed(BODY, SECRET), SECRET, now=NOW)

    assert event == webhooks.Event(
        id="msg_1",
        type="interrupt.decided",
        timestamp=datetime(2026, 11, 30, 12, tzinfo=UTC),
        data={"interrupt_id": "int_1", "run_seq": 3},
    )


@pytest.mark.parametrize("sent", [(SECRET,), (OTHER,), (OTHER, SECRET)])
def test_during_a_rotation_either_secret_is_right(sent: tuple[str, ...]) -> None:
    assert webhooks.verify(BODY, signed(BODY, *sent), [SECRET, OTHER], now=NOW).id == "msg_1"


@pytest.mark.parametrize("off_s", [-301, 301])
def test_a_webhook_of_another_time_is_refused(off_s: int) -> None:
    with pytest.raises(placet.InvalidSignature, match="too old"):
        webhooks.verify(BODY, signed(BODY, SECRET), SECRET, now=NOW + off_s)


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{}", b'{"type":"x","timestamp":3,"data":{}}', b"\xff", b"[" * 100_000],
)
def test_what_is_signed_but_no_event_is_refused(body: bytes) -> None:
    with pytest.raises(placet.InvalidSignature, match="no event"):
        webhooks.verify(body, signed(body, SECRET), SECRET, now=NOW)


@pytest.mark.parametrize("secrets", ["", "whsec_", [], [SECRET, ""], "whsec_\u00e9", "a b"])
def test_a_secret_that_is_none_is_refused(secrets: Any) -> None:
    with pytest.raises(placet.InvalidSignature, match="secret"):
        webhooks.verify(BODY, signed(BODY, SECRET), secrets, now=NOW)


@given(
    body=st.binary() | st.text(),
    headers=st.dictionaries(
        st.sampled_from(["webhook-id", "webhook-timestamp", "webhook-signature", "x"]), st.text()
    ),
    secrets=st.text() | st.lists(st.text(), max_size=3),
)
def test_nothing_else_comes_out_whatever_comes_in(
    body: bytes | str, headers: dict[str, str], secrets: str | list[str]
) -> None:
    with pytest.raises(placet.InvalidSignature):
        webhooks.verify(body, headers, secrets)
