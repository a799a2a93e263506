"""Whatever arrives, the answer is never a fault of the server, and never HTML for an agent."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runs.api import http
from tests.approvals.api import asked
from tests.cast import Cast
from tests.contract.routes import AGENTS, PAGES, filled
from tests.contract.test_default_deny import browser

pytestmark = pytest.mark.django_db

POSTS = [path for path, methods in AGENTS.items() if "POST" in methods.split()]
FIELDS = ("decision", "revision", "asked_sha256", "view", "reason", "args", "response")
NAMES = ("after", "before", "state", "limit", "wait_s", "after_seq", "all", "external_id", "next")
SEARCHES = ("type", "run", "person", "agent", "tool", "digest", "code", "since", "until")
FEW = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

texts = st.text(max_size=30) | st.sampled_from(
    [
        "",
        "\x00",
        "\ud800",
        "9" * 400,
        "-1",
        "1e400",
        "٣",
        "NaN",
        "'; --",
        "%00",
        "\u202e",
        "a" * 9000,
    ]
)
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
GOOD_BODIES: dict[str, dict[str, Any]] = {
    "runs": {
        "title": "Work",
        "owner": "alice",
        "external_id": "e",
        "parent": None,
        "context": {"a": 1},
        "allowed_tools": ["pay*"],
        "labels": {"a": "b"},
        "interrupts": [asked()],
    },
    "interrupts": {
        "expected_revision": None,
        "interrupts": [
            asked(
                kind="approval",
                target={"origin": "https://example.com"},
                description="d",
                args_schema={"type": "object", "properties": {"a": {"pattern": "^a+$"}}},
                allowed_decisions=["approve", "edit"],
                expires_in_s=60,
                sensitive=["/invoice"],
            )
        ],
    },
    "cancel": {"reason": "stop"},
    "finish": {"outcome": "succeeded", "fencing_token": None},
    "lease": {"holder": "w", "ttl_s": 60},
    "renew": {"fencing_token": 1, "ttl_s": 60},
    "release": {"fencing_token": 1},
    "dispatch": {
        "interrupt_id": "int_x",
        "args": {"a": 1},
        "fencing_token": None,
        "lease": {"holder": "w", "ttl_s": 60},
        "observation_id": "obs_x",
        "refs": {"a": [1]},
    },
    "observations": {
        "handback": 1,
        "fencing_token": 1,
        "origin": "https://a.example",
        "account": "a",
        "page": "/",
        "session": "s",
        "snapshot_sha256": "a" * 64,
        "observed_at": "2026-01-01T00:00:00Z",
    },
    "result": {"fencing_token": 1, "outcome": "failed", "result": {"a": 1}},
    "unknown": {"fencing_token": 1, "detail": "d", "refs": [1]},
    "reconcile": {
        "outcome": "executed",
        "evidence": {"kind": "target_object", "reference": "r", "note": "n"},
    },
}


@st.composite
def bodies(draw: st.DrawFn, path: str) -> bytes:
    """Bytes, JSON, or what the call takes with one value of it replaced by anything."""
    match draw(st.sampled_from(["bytes", "json", "almost", "almost"])):
        case "bytes":
            return draw(st.binary(max_size=200))
        case "json":
            return json.dumps(draw(values)).encode()
    body = json.loads(json.dumps(GOOD_BODIES[path.rpartition("/")[2]]))
    holder, name = draw(st.sampled_from([*places(body)]))
    holder[name] = draw(values)
    return json.dumps(body).encode()


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place of a value in which another value could be."""
    members = value.items() if isinstance(value, dict) else enumerate(value)
    for name, item in members:
        yield value, name
        if isinstance(item, dict | list):
            yield from places(item)


@pytest.mark.parametrize("path", POSTS)
def test_any_body_gets_an_answer(cast: Cast, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.setattr(http, "_buckets", lambda: None)  # no limit on one key's requests
    run = cast.run()
    at = filled(path, run_id=run.pk, interrupt_id=cast.ask(run).pk, action_id=cast.act().pk)
    client = Client(raise_request_exception=False)

    @FEW
    @given(body=bodies(path), kind=st.sampled_from(["application/json", "text/plain", "", "a/b;c"]))
    def answered(body: bytes, kind: str) -> None:
        headers = {"Authorization": f"Bearer {cast.key}"}
        response = client.generic("POST", at, body, content_type=kind, headers=headers)
        assert response.status_code < 500, body
        assert response["Content-Type"] in ("application/json", "application/problem+json")
        assert "code" in response.json() or response.status_code < 400

    answered()


@pytest.mark.parametrize("path", ["decide", "preview", "reveal"])
def test_any_form_gets_a_page(cast: Cast, path: str) -> None:
    interrupt = cast.ask(cast.run())
    at = f"/interrupts/{interrupt.pk}/{path}/"
    client = browser(cast.rae)
    client.raise_request_exception = False
    posted = texts.map(lambda text: text.encode(errors="surrogatepass"))

    @FEW
    @given(form=st.dictionaries(st.sampled_from(FIELDS), posted))
    def answered(form: dict[str, bytes]) -> None:
        body = b"&".join(name.encode() + b"=" + quoted(text) for name, text in form.items())
        kind = "application/x-www-form-urlencoded"
        assert client.post(at, body, content_type=kind).status_code < 500, body

    answered()


@pytest.mark.parametrize("path", sorted(PAGES | AGENTS.keys()))
def test_any_query_gets_an_answer(cast: Cast, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.setattr(http, "_buckets", lambda: None)
    run = cast.run()
    at = filled(path, run_id=run.pk, interrupt_id=cast.ask(run).pk, action_id=cast.act().pk)
    client = browser(cast.ada)
    client.raise_request_exception = False
    posted = texts.map(lambda text: text.encode(errors="surrogatepass"))

    @FEW
    @given(query=st.dictionaries(st.sampled_from(NAMES + SEARCHES), posted, max_size=4))
    def answered(query: dict[str, bytes]) -> None:
        parts = [name.encode() + b"=" + quoted(text) for name, text in query.items()]
        response = client.get(
            f"{at}?{b'&'.join(parts).decode()}", headers={"Authorization": f"Bearer {cast.key}"}
        )
        assert response.status_code < 500, parts

    answered()


def quoted(text: bytes) -> bytes:
    """Every byte written out, so that whatever it is arrives as it is."""
    return b"".join(b"%%%02X" % byte for byte in text)
