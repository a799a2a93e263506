"""What the documents say of webhooks holds: the code shown works, the numbers are ours."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from placet.protocol.reading import read_json
from tests.docs.pages import blocks, names, rows, section, text_of
from webhooks.forgetting import KEPT_DAYS
from webhooks.models.endpoint import ROTATION
from webhooks.rules.bodies import body
from webhooks.rules.kinds import WebhookType
from webhooks.rules.retrying import FAILING_FOR, FAILURES_IN_A_ROW, RETRY_S
from webhooks.rules.signing import key_of, signed_headers
from webhooks.sending import TIMEOUT_S

OLD, NEW = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
REFERENCE = text_of("docs/reference/webhooks.md")


def shown(number: int, name: str) -> Callable[..., Any]:
    """A function of the how-to, as it stands there."""
    found: dict[str, Any] = {}
    exec(blocks(text_of("docs/howto/receive-webhooks.md"), "python")[number], found)
    function: Callable[..., Any] = found[name]
    return function


@pytest.mark.parametrize("secrets", [[NEW], [OLD], [NEW, OLD]])
def test_the_code_of_the_how_to_checks_what_is_sent(secrets: list[str]) -> None:
    now = datetime.now(UTC)
    told = body(WebhookType.DECIDED, at=now, data={"interrupt_id": "int_1"})
    headers = signed_headers([key_of(NEW), key_of(OLD)], webhook_id="dlv_1", at=now, body=told)
    receive, is_genuine = shown(0, "receive"), shown(1, "is_genuine")

    assert receive(told, headers, secrets) == "dlv_1 interrupt.decided int_1"
    assert is_genuine(told, headers, secrets)
    assert receive(told + b" ", headers, secrets) == "400"
    assert not is_genuine(told + b" ", headers, secrets)
    long_ago = datetime(2026, 1, 1, tzinfo=UTC)
    keys = [key_of(NEW), key_of(OLD)]
    late = signed_headers(keys, webhook_id="dlv_1", at=long_ago, body=told)
    assert receive(told, late, secrets) == "400"
    assert not is_genuine(told, late, secrets)


def test_every_type_is_told_and_no_other() -> None:
    table = rows(section(REFERENCE, "## Types"))

    assert {name for cells in table for name in names(cells[0])} == {
        kind.value for kind in WebhookType
    }


def test_the_numbers_told_are_ours() -> None:
    spans = {1: "s", 60: "min", 3600: "h"}
    told = [
        f"{wait // unit:.0f} {word}"
        for wait in RETRY_S
        for unit, word in [max((u, w) for u, w in spans.items() if wait >= u)]
    ]
    text = " ".join(REFERENCE.split())

    assert f"comes after {', '.join(told[:-1])} and {told[-1]}" in text
    assert f"{len(RETRY_S) + 1} attempts in about {sum(RETRY_S) / 3600:.0f} hours" in text
    assert f"within {TIMEOUT_S:.0f} seconds" in text
    assert FAILURES_IN_A_ROW == 10 and f"over at least {FAILING_FOR.days * 24} hours" in text
    assert f"for {ROTATION.days * 24} hours" in text
    assert f"{KEPT_DAYS} days after its end" in text


def test_the_example_has_the_members_that_are_sent() -> None:
    (example,) = blocks(REFERENCE, "json")
    value: Any = read_json(example.encode())

    assert list(value) == ["type", "timestamp", "data"]
    assert list(value["data"]) == [
        "n",
        "run_id",
        "run_seq",
        "interrupt_id",
        "action_id",
        "from",
        "to",
        "revision",
        "digest",
    ]
