"""What operators ask: does the process live, can it serve."""

import pytest
from django.db import OperationalError
from django.test import Client

from config import health

pytestmark = pytest.mark.django_db


def test_a_process_that_can_serve_says_so() -> None:
    client = Client()

    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"status": "ok", "weaker": []}


def test_a_draining_process_is_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "is_draining", lambda: True)

    response = Client().get("/readyz")

    assert (response.status_code, response.json()["status"]) == (503, "draining")


def test_without_a_database_the_process_lives_and_is_not_ready(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unreachable(*_: object) -> None:
        raise OperationalError

    monkeypatch.setattr(health, "MigrationExecutor", unreachable)
    client = Client()

    assert client.get("/healthz").status_code == 200
    response = client.get("/readyz")
    assert (response.status_code, response.json()["status"]) == (503, "database unreachable")
