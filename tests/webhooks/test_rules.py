"""Retries, disabling, bodies and signatures: pure."""

import base64
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import placet.webhooks
from webhooks.rules.bodies import body
from webhooks.rules.kinds import CHOICES, DisabledBecause, WebhookType
from webhooks.rules.retrying import RETRY_S, disabled_because, retry_in_s
from webhooks.rules.signing import key_of, secret_of, signed_headers

ROOT = Path(__file__).resolve().parents[2]
OWN = ROOT / "tests" / "vectors" / "standard-webhooks" / "own.json"
PUBLISHED = ROOT.parent / "shared" / "vectors" / "standard-webhooks" / "vectors.json"
VECTORS: dict[str, Any] = json.loads((PUBLISHED if PUBLISHED.exists() else OWN).read_text())

NOW = datetime(2026, 11, 30, 12, 0, 0, 1_500, tzinfo=UTC)


@pytest.mark.parametrize("vector", VECTORS["sign"], ids=lambda vector: vector["name"])
def test_a_published_signature_is_made(vector: dict[str, Any]) -> None:
    """H-19."""
    headers = signed_headers(
        [key_of(vector["secret"])],
        webhook_id=vector["webhook_id"],
        at=datetime.fromtimestamp(vector["webhook_timestamp"], UTC),
        body=base64.b64decode(vector["body_base64"]),
    )

    assert headers == {
        "webhook-id": vector["webhook_id"],
        "webhook-timestamp": str(vector["webhook_timestamp"]),
        "webhook-signature": vector["signature"],
    }


def test_during_a_rotation_each_secret_signs() -> None:
    keys = [b"a" * 24, b"b" * 24]
    told = body(WebhookType.DECIDED, at=NOW, data={"run_id": "run_1"})
    headers = signed_headers(keys, webhook_id="dlv_1", at=NOW, body=told)

    events = [
        placet.webhooks.verify(told, headers, secret_of(key), now=NOW.timestamp()) for key in keys
    ]

    assert events[0] == events[1]
    assert (events[0].type, events[0].timestamp) == ("interrupt.decided", NOW)
    assert len(headers["webhook-signature"].split()) == 2


def test_a_body_is_spelled_in_one_way() -> None:
    told = body(WebhookType.ASKED, at=NOW, data={"run_seq": 2, "from": None, "digest": "ab"})

    assert told == (
        b'{"data":{"digest":"ab","from":null,"run_seq":2},'
        b'"timestamp":"2026-11-30T12:00:00.001500Z","type":"interrupt.asked"}'
    )


def test_the_types_are_those_of_the_contract() -> None:
    assert [kind.value for kind in CHOICES] == [
        *(
            f"interrupt.{name}"
            for name in (
                "asked",
                "decided",
                "handed_back",
                "reopened",
                "superseded",
                "expired",
                "cancelled",
            )
        ),
        "run.state_changed",
        "run.cancel_requested",
        *(f"action.{name}" for name in ("dispatched", "known", "unknown", "reconciled")),
    ]


def test_delays_grow_for_about_a_day_and_end() -> None:
    least, most = ([retry_in_s(n + 1, jitter) for n in range(11)] for jitter in (0.0, 1.0))

    assert least[-1] is most[-1] is None
    assert least[0] == pytest.approx(4.0)
    assert most[0] == pytest.approx(6.0)
    assert sorted(set(RETRY_S)) == list(RETRY_S)
    assert 24 * 3600 < sum(RETRY_S) < 30 * 3600


@pytest.mark.parametrize(
    ("status", "failures", "hours", "because"),
    [
        (410, 1, 0, DisabledBecause.GONE),
        (500, 9, 48, None),
        (500, 10, 23, None),
        (None, 10, 24, DisabledBecause.FAILING),
        (302, 1, 0, None),
    ],
)
def test_an_endpoint_is_given_up(
    status: int | None, failures: int, hours: int, because: DisabledBecause | None
) -> None:
    found = disabled_because(
        status=status, failures=failures, failing_since=NOW - timedelta(hours=hours), now=NOW
    )

    assert found is because
