"""Idempotency-Key: the first answer again, for the same caller, route and body only."""

import json
import threading
from typing import Any

import pytest
from django.db import connections

from approvals.models import Interrupt
from identity.management.reporting import OPERATOR
from identity.models import Agent
from identity.roles import DEFAULT_SCOPES
from runs.models import IdempotencyRecord, Run
from tests.approvals.api import AgentHTTP, ask_body, code
from tests.cast import Cast

pytestmark = pytest.mark.django_db


@pytest.fixture
def http(cast: Cast) -> AgentHTTP:
    return AgentHTTP(cast.key)


def test_the_same_body_in_other_spelling_gets_the_first_answer(http: AgentHTTP) -> None:
    """H-17: the canonical body counts, not its bytes."""
    run = http.run()
    path = f"/runs/{run['id']}/interrupts"
    body = ask_body(args={"amount": 100, "to": "A"})
    first = http.post(path, body, Idempotency_Key="k1")
    respelled = json.dumps(ask_body(args={"to": "A", "amount": 1.0e2}), indent=3).encode()

    again = http.post(path, respelled, Idempotency_Key="k1")

    assert (first.status_code, again.status_code) == (201, 200)
    assert again.content == first.content
    assert again["Idempotency-Replayed"] == "true"
    assert "Idempotency-Replayed" not in first
    assert Interrupt.objects.count() == 1


def test_another_body_under_the_same_key_is_refused(http: AgentHTTP) -> None:
    """H-17: a changed body never gets the old answer."""
    run = http.run()
    path = f"/runs/{run['id']}/interrupts"
    http.post(path, ask_body(args={"amount": 100}), Idempotency_Key="k1")

    response = http.post(path, ask_body(args={"amount": 900}), Idempotency_Key="k1")

    assert code(response) == (422, "idempotency_key_reused")
    assert Interrupt.objects.count() == 1


def test_a_key_is_each_callers_and_each_routes_own(http: AgentHTTP, cast: Cast) -> None:
    """H-18: tenants, agents and routes do not share keys."""
    _, second_key = Agent.create(
        "second", tenant=cast.tenant, any_owner=True, scopes=DEFAULT_SCOPES, by=OPERATOR
    )
    callers = [http, AgentHTTP(second_key), AgentHTTP(cast.other_key)]
    owners = ["alice", "alice", "mallory"]

    answers = [
        caller.post("/runs", {"title": owner + str(n), "owner": owner}, Idempotency_Key="1")
        for n, (caller, owner) in enumerate(zip(callers, owners, strict=True))
    ]
    run = answers[0].json()
    on_another_route = http.post(f"/runs/{run['id']}/cancel", Idempotency_Key="1")

    assert [answer.status_code for answer in answers] == [201, 201, 201]
    assert len({answer.json()["id"] for answer in answers}) == 3
    assert on_another_route.json()["state"] == "CANCELLED"


def test_a_refused_command_leaves_the_key_free(http: AgentHTTP) -> None:
    run = http.run()
    path = f"/runs/{run['id']}/interrupts"
    stale = {**ask_body(), "expected_revision": 9}
    assert code(http.post(path, stale, Idempotency_Key="k")) == (409, "stale_revision")

    response = http.post(path, ask_body(), Idempotency_Key="k")

    assert response.status_code == 201


@pytest.mark.parametrize("key", ["", "a b", "é", "x" * 256])
def test_a_key_is_1_to_255_visible_characters(http: AgentHTTP, key: str) -> None:
    response = http.post("/runs", {"title": "t", "owner": "alice"}, Idempotency_Key=key)

    assert code(response) == (422, "invalid_request")
    assert not Run.objects.exists()


def test_a_key_is_forgotten_after_a_day(http: AgentHTTP) -> None:
    http.post("/runs", {"title": "one", "owner": "alice"}, Idempotency_Key="k")
    record = IdempotencyRecord.objects.get()
    IdempotencyRecord.objects.update(created_at=record.created_at.replace(year=2020))

    response = http.post("/runs", {"title": "two", "owner": "alice"}, Idempotency_Key="k")

    assert (response.status_code, response.json()["title"]) == (201, "two")


@pytest.mark.django_db(transaction=True)
def test_of_two_at_once_the_second_waits_and_gets_the_first_ones_answer(cast: Cast) -> None:
    http = AgentHTTP(cast.key)
    barrier = threading.Barrier(4, timeout=20)
    answers: list[Any] = []

    def post() -> None:
        barrier.wait()
        answers.append(
            AgentHTTP(http.key).post(
                "/runs", {"title": "t", "owner": "alice"}, Idempotency_Key="same"
            )
        )
        connections.close_all()

    threads = [threading.Thread(target=post) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=20)

    assert sorted(answer.status_code for answer in answers) == [200, 200, 200, 201]
    assert len({answer.content for answer in answers}) == 1
    assert Run.objects.count() == 1
