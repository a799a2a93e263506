"""What the logs tell of an error: one line of JSON, without any value."""

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from django.test import Client

from config import health

SECRET = "hunter2"


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """What the handler that settings configured writes."""
    (handler,) = [
        each
        for each in logging.getLogger().handlers
        if isinstance(each, logging.StreamHandler)
        and isinstance(each.formatter, structlog.stdlib.ProcessorFormatter)
    ]
    written = io.StringIO()
    before = handler.setStream(written)
    yield written
    handler.setStream(before)


def only(lines: io.StringIO) -> dict[str, Any]:
    (line,) = lines.getvalue().splitlines()
    assert SECRET not in line
    told: dict[str, Any] = json.loads(line)
    return told


def test_a_500_is_one_line_without_values(
    lines: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> bool:
        password = SECRET
        raise ValueError(f"no such password: {password}")

    monkeypatch.setattr(health, "is_draining", fail)

    response = Client(raise_request_exception=False).get("/readyz")

    told = only(lines)
    assert (response.status_code, told["level"]) == (500, "error")
    assert told["exception"]["type"] == "ValueError"
    assert told["exception"]["frames"][-1].startswith(f"{__file__}:")


def test_an_exception_of_ours_is_one_line_without_values(lines: io.StringIO) -> None:
    try:
        raise KeyError(SECRET)
    except KeyError:
        structlog.get_logger().exception("hub.failed", kind="run")

    told = only(lines)
    assert (told["event"], told["kind"]) == ("hub.failed", "run")
    assert told["exception"]["type"] == "KeyError"
