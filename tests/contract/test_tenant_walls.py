"""What is foreign and what never existed look alike, to the byte (contract §2.9)."""

import re
from typing import Any

import pytest
from django.test import Client

from identity.management.reporting import OPERATOR
from identity.models import Agent
from identity.roles import DEFAULT_SCOPES
from runs.ids import new_id
from runs.waiting.reader import Wait
from tests.cast import Cast
from tests.contract.routes import AGENTS, PAGES, filled
from tests.contract.test_default_deny import READERS, browser, send

pytestmark = pytest.mark.django_db

SEEN = (
    b'{"fencing_token":1,"origin":"o","snapshot_sha256":"%s"' % (b"a" * 64)
    + b',"observed_at":"2026-01-01T00:00:00Z"'
)
BODIES: dict[str, bytes] = {
    "interrupts": b'{"interrupts":[{"call_id":"c","tool":"t","args":{}}]}',
    "finish": b'{"outcome":"succeeded"}',
    "cancel": b"{}",
    "lease": b'{"holder":"w","ttl_s":60}',
    "renew": b'{"fencing_token":1}',
    "release": b'{"fencing_token":1}',
    "dispatch": b'{"interrupt_id":"int_x","args":{},"fencing_token":1}',
    "result": b'{"fencing_token":1,"outcome":"failed"}',
    "unknown": b'{"fencing_token":1}',
    "reconcile": b'{"outcome":"still_unknown"}',
    "/api/v1/runs/<run_id>/observations": SEEN + b"}",
    "/api/v1/interrupts/<interrupt_id>/observations": SEEN + b',"handback":1}',
}
NAMED_CALLS = [(path, method) for path in AGENTS if "<" in path for method in AGENTS[path].split()]
TOKEN = re.compile(rb'(name="csrfmiddlewaretoken" value=|X-CSRFToken&quot;: &quot;)"?[A-Za-z0-9]+')


def ids(
    cast: Cast, run: str | None = None, interrupt: str | None = None, action: str | None = None
) -> dict[str, str]:
    return {
        "run_id": run or new_id("run"),
        "interrupt_id": interrupt or new_id("int"),
        "action_id": action or new_id("act"),
    }


def foreign(cast: Cast) -> dict[str, str]:
    run = cast.run()
    return ids(cast, run.pk, cast.ask(run).pk, cast.act().pk)


@pytest.mark.parametrize(("path", "method"), NAMED_CALLS)
def test_the_api_answers_alike_for_foreign_missing_and_malformed_ids(
    cast: Cast, path: str, method: str
) -> None:
    """H-34: also for another agent of the same tenant."""
    neighbor = Agent.create(
        "neighbor", tenant=cast.tenant, any_owner=True, scopes=DEFAULT_SCOPES, by=OPERATOR
    )[1]
    name = path if path in BODIES else path.rpartition("/")[2]
    body = BODIES[name] if method == "POST" else b""

    def answer(key: str, given: dict[str, str]) -> tuple[int, bytes, dict[str, str]]:
        response = Client().generic(
            method,
            filled(path, **given),
            body,
            content_type="application/json",
            headers={"Authorization": f"Bearer {key}"},
        )
        return response.status_code, response.content, dict(response.headers)

    missing = answer(cast.other_key, ids(cast))

    assert missing[0] == 404
    assert answer(cast.other_key, foreign(cast)) == missing
    assert answer(neighbor, foreign(cast)) == missing
    assert answer(cast.other_key, ids(cast, "run_1", "int_1", "act_1")) == missing
    assert answer(cast.other_key, ids(cast, "%00", "%F0%9F%98%80", "%00")) == missing


@pytest.mark.parametrize("kind", ["interrupt", "run"])
def test_the_hub_answers_like_the_api(cast: Cast, kind: str) -> None:
    """H-34: whether one waits makes no difference."""
    name = f"{kind}_id"
    given = foreign(cast)
    path = filled(f"/api/v1/{kind}s/<{name}>", **given)
    told = send(Client(), "GET", path, cast.other_key)

    waits = [Wait(cast.other_key, kind, object_id) for object_id in (given[name], ids(cast)[name])]
    first, second = READERS[kind]().answer([*waits])

    assert first == second
    assert (first.status, first.body) == (told.status_code, told.content)
    assert dict(first.headers)[b"content-type"].decode() == told["Content-Type"]


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
@pytest.mark.parametrize("path", sorted(path for path in PAGES if "<" in path))
def test_pages_answer_alike_for_foreign_and_missing_ids(cast: Cast, path: str, method: str) -> None:
    """H-34: for a reviewer of another tenant, and for who has no right in the same one."""
    for user in (cast.mallory, cast.bob):
        client = browser(user)
        missing = seen(client, method, filled(path, **ids(cast)))

        assert missing[0] in (303, 404, 405)
        assert seen(client, method, filled(path, **foreign(cast))) == missing


def seen(client: Client, method: str, path: str) -> tuple[Any, ...]:
    """An answer without what differs by nature: the id asked for and the form's token."""
    response = send(client, method, path)
    asked_for = re.compile(r"(?:run|int|act|ept|dlv)_[0-9a-z]{26}")
    headers = {
        name: asked_for.sub("…", text)
        for name, text in response.headers.items()
        if name != "Content-Length"
    }
    content = asked_for.sub("…", TOKEN.sub(b"", response.content).decode())
    return response.status_code, headers, content


@pytest.mark.parametrize("path", ["/api/v1/runs", "/api/v1/runs?external_id=order-1"])
def test_lists_leave_other_agents_out(cast: Cast, path: str) -> None:
    """H-03: the list and its length."""
    cast.run(external_id="order-1")

    told = send(Client(), "GET", path, cast.other_key).json()

    assert told == {"items": [], "next": None}


def test_an_owner_of_another_tenant_is_like_nobody(cast: Cast) -> None:
    """H-34: login names are unique over all tenants, which must not tell who there is."""
    answers = [begin(cast, owner) for owner in ("mallory", "nobody-of-that-name")]

    assert answers[0] == answers[1]
    assert answers[0][0] == 403


def test_a_parent_of_another_tenant_is_like_none(cast: Cast) -> None:
    """H-34."""
    parents = (cast.other_run().pk, new_id("run"))
    answers = [begin(cast, "alice", parent=parent) for parent in parents]

    assert answers[0] == answers[1]
    assert answers[0][0] == 404


def begin(cast: Cast, owner: str, **members: str) -> tuple[int, bytes]:
    response = Client().post(
        "/api/v1/runs",
        {"title": "Work", "owner": owner, **members},
        content_type="application/json",
        headers={"Authorization": f"Bearer {cast.key}"},
    )
    return response.status_code, response.content


def test_an_idempotency_key_belongs_to_one_agent(cast: Cast) -> None:
    """H-18: the same key of another agent is another key."""
    replies = [
        Client().post(
            "/api/v1/runs",
            {"title": "Work", "owner": owner},
            content_type="application/json",
            headers={"Authorization": f"Bearer {key}", "Idempotency-Key": "1"},
        )
        for key, owner in ((cast.key, "alice"), (cast.other_key, "mallory"))
    ]

    assert [reply.status_code for reply in replies] == [201, 201]
    assert replies[0].json()["id"] != replies[1].json()["id"]
