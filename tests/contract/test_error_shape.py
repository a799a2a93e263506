"""Every error of the API is a problem with a code of the contract (§5), whoever notices it."""

from typing import Any

import pytest
from django.test import Client

from approvals.api import runs
from placet.protocol.refusals import RefusalCode
from runs.ids import new_id
from tests.cast import Cast
from tests.contract.routes import AGENTS, filled

CALLS = [(path, method) for path in AGENTS for method in AGENTS[path].split()]
POSTS = [path for path, method in CALLS if method == "POST"]
MEMBERS = {"type", "title", "status", "code", "detail", "current", "errors"}

pytestmark = pytest.mark.django_db


def send(path: str, method: str, key: str | None, body: bytes = b"", **headers: str) -> Any:
    names = {name.replace("_", "-"): text for name, text in headers.items()}
    names |= {"Authorization": f"Bearer {key}"} if key else {}
    return Client(raise_request_exception=False).generic(
        method,
        filled(path, run_id=new_id("run"), interrupt_id=new_id("int"), action_id=new_id("act")),
        body,
        content_type="application/json",
        headers=names,
    )


def told(response: Any) -> tuple[int, str]:
    """The status and code of an error, of which everything else is as the contract says."""
    assert response["Content-Type"] == "application/problem+json", response.content
    assert response["Cache-Control"] == "no-store"
    problem = response.json()
    assert problem.keys() <= MEMBERS
    assert (problem["type"], problem["status"]) == ("about:blank", response.status_code)
    for fault in problem.get("errors", []):
        assert fault.keys() == {"pointer", "message"}
        assert fault["pointer"] == "" or fault["pointer"].startswith("/")
    if response.status_code == 401:
        assert response["WWW-Authenticate"] == "Bearer"
    if response.status_code == 405:
        assert response["Allow"]
    else:
        assert RefusalCode(problem["code"]).status == response.status_code
    return response.status_code, problem["code"]


@pytest.mark.parametrize(("path", "method"), CALLS)
def test_without_a_key(cast: Cast, path: str, method: str) -> None:
    assert told(send(path, method, None, b"{")) == (401, "unauthenticated")


@pytest.mark.parametrize("path", sorted(AGENTS))
def test_with_a_method_that_the_call_does_not_take(cast: Cast, path: str) -> None:
    expected = (405, "invalid_request") if AGENTS[path] else (404, "not_found")

    assert told(send(path, "PURGE", cast.key)) == expected


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b'{"a":1,"a":2}', "invalid_json"),
        (b'{"a":NaN}', "invalid_json"),
        (b'{"a":9007199254740993}', "invalid_json"),
        (b'{"a":"\\ud800"}', "invalid_json"),
        (b'{"a":"\\u0000"}', "invalid_json"),
        (b"\xff\xfe{\x00}\x00", "invalid_json"),
        (b"[" * 100 + b"]" * 100, "invalid_json"),
        (b"[]", "invalid_request"),
        (b'"text"', "invalid_request"),
        (b'{"of_no_use":1}', "invalid_request"),
        (b" " * (1024 * 1024 + 1), "too_large"),
    ],
)
def test_with_a_body_that_cannot_be_taken(cast: Cast, path: str, body: bytes, code: str) -> None:
    """H-09, H-10: on every entry point."""
    assert told(send(path, "POST", cast.key, body))[1] == code


@pytest.mark.parametrize(
    "query", ["wait_s=", "wait_s=-1", "wait_s=abc", "wait_s=1.5", "after_seq=x", "all=2"]
)
def test_with_a_parameter_that_is_none(cast: Cast, query: str) -> None:
    """H-43: what is no number of seconds is refused, not guessed."""
    response = Client().get(
        f"/api/v1/runs/{cast.run().pk}?{query}", headers={"Authorization": f"Bearer {cast.key}"}
    )

    assert told(response) == (422, "invalid_request")


@pytest.mark.parametrize("key", ["", " ", "a b", "é", "x" * 256])
def test_with_an_idempotency_key_that_is_none(cast: Cast, key: str) -> None:
    response = send("/api/v1/runs", "POST", cast.key, b'{"title":"t","owner":"alice"}')
    assert response.status_code == 201

    response = Client().post(
        "/api/v1/runs",
        {"title": "t", "owner": "alice"},
        content_type="application/json",
        headers={"Authorization": f"Bearer {cast.key}", "Idempotency-Key": key},
    )

    assert told(response) == (422, "invalid_request")


@pytest.mark.parametrize("run_id", ["%00", "x" * 300, "%ED%A0%80", "%F0%9F%98%80", "..%2F.."])
def test_with_an_idempotency_key_on_a_path_of_nothing(cast: Cast, run_id: str) -> None:
    """H-34: whatever is no id is like an id that never existed."""
    response = Client(raise_request_exception=False).generic(
        "POST",
        f"/api/v1/runs/{run_id}/cancel",
        b"{}",
        content_type="application/json",
        headers={"Authorization": f"Bearer {cast.key}", "Idempotency-Key": "k"},
    )

    assert told(response) == (404, "not_found")


@pytest.mark.parametrize("token", ["é", "\x00", "a" * 10_000, "plk_ x", "Basic"])
def test_with_a_key_that_is_none(cast: Cast, token: str) -> None:
    assert told(send("/api/v1/me", "GET", token)) == (401, "unauthenticated")


def test_too_many_requests_say_when_to_come_back(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    from runs.api import http
    from runs.api.rate import Buckets

    buckets = Buckets(1, 60.0)
    monkeypatch.setattr(http, "_buckets", lambda: buckets)
    assert send("/api/v1/me", "GET", cast.key).status_code == 200

    response = send("/api/v1/me", "GET", cast.key)

    assert told(response) == (429, "rate_limited")
    assert 1 <= int(response["Retry-After"]) <= 60


def test_a_fault_of_ours_is_a_problem_too(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a secret of ours")

    monkeypatch.setattr(runs, "run_shapes", fail)

    response = send("/api/v1/runs", "GET", cast.key)

    assert response["Content-Type"] == "application/problem+json"
    assert response.json() == {
        "type": "about:blank",
        "title": "Internal Server Error",
        "status": 500,
    }
