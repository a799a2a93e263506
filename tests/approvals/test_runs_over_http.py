"""Runs over HTTP: begin, look, list, cancel, finish, and who sees what."""

from typing import Any

import pytest

from approvals.models import Interrupt
from audit.models import Event
from identity.management.reporting import OPERATOR
from identity.models import Agent
from identity.roles import Scope
from runs.models import Run
from tests.approvals.api import AgentHTTP, ask_body, asked, code
from tests.cast import Cast
from tests.owner import fall_due

pytestmark = pytest.mark.django_db


@pytest.fixture
def http(cast: Cast) -> AgentHTTP:
    return AgentHTTP(cast.key)


def test_me_says_whose_key_it_is(http: AgentHTTP) -> None:
    told = http.get("/me").json()

    assert (told["tenant"], told["agent"]["name"], told["owners"]) == ("acme", "payer", None)
    assert told["scopes"] == ["ask", "execute"]


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer plk_wrong", "Basic x", "Bearer é"])
def test_without_a_valid_key_nothing_is_told(http: AgentHTTP, header: str) -> None:
    response = http.client.get("/api/v1/me", headers={"Authorization": header})

    assert code(response) == (401, "unauthenticated")
    assert response["WWW-Authenticate"] == "Bearer"
    assert not Event.objects.filter(type="command.refused").exists()


def test_a_deactivated_agent_is_out_at_the_next_request(http: AgentHTTP, cast: Cast) -> None:
    cast.agent.deactivate(by=OPERATOR)

    assert code(http.get("/me")) == (401, "unauthenticated")


def test_a_key_without_the_scope_is_refused(cast: Cast) -> None:
    _, key = Agent.create(
        "watcher", tenant=cast.tenant, any_owner=True, scopes=[Scope.EVENTS], by=OPERATOR
    )

    response = AgentHTTP(key).post("/runs", {"title": "t", "owner": "alice"})

    assert code(response) == (403, "not_permitted")
    assert Event.objects.get(type="command.refused").code == "not_permitted"


def test_the_same_external_id_is_the_same_run(http: AgentHTTP) -> None:
    body = {"title": "Pay", "owner": "alice", "external_id": "thread-1"}
    first = http.post("/runs", body)

    again = http.post("/runs", {**body, "title": "Other words"})

    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json() == first.json()


def test_the_external_id_of_another_owner_is_refused(http: AgentHTTP) -> None:
    http.post("/runs", {"title": "Pay", "owner": "alice", "external_id": "thread-1"})

    response = http.post("/runs", {"title": "Pay", "owner": "bob", "external_id": "thread-1"})

    assert code(response) == (422, "idempotency_key_reused")


def test_what_does_not_exist_is_told_before_what_is_not_permitted(cast: Cast) -> None:
    _, key = Agent.create(
        "watcher", tenant=cast.tenant, any_owner=True, scopes=[Scope.EVENTS], by=OPERATOR
    )
    watcher, missing = AgentHTTP(key), "run_" + "0" * 26

    for path, body in (
        (f"/runs/{missing}/interrupts", ask_body()),
        (f"/runs/{missing}/cancel", {}),
        (f"/runs/{missing}/finish", {"outcome": "failed"}),
    ):
        assert code(watcher.post(path, body)) == (404, "not_found")


def test_a_known_external_id_is_told_before_an_unknown_owner(http: AgentHTTP) -> None:
    http.post("/runs", {"title": "Pay", "owner": "alice", "external_id": "t"})

    response = http.post("/runs", {"title": "Pay", "owner": "nobody", "external_id": "t"})

    assert code(response) == (422, "idempotency_key_reused")


@pytest.mark.parametrize("owner", ["mallory", "nobody"])
def test_an_agent_acts_only_for_people_of_its_tenant(http: AgentHTTP, owner: str) -> None:
    response = http.post("/runs", {"title": "Pay", "owner": owner})

    assert code(response) == (403, "not_permitted")
    assert not Run.objects.exists()


def test_an_agent_acts_only_for_the_people_it_was_given(cast: Cast) -> None:
    _, key = Agent.create(
        "alices", tenant=cast.tenant, owners=[cast.alice], scopes=[Scope.ASK], by=OPERATOR
    )
    http = AgentHTTP(key)

    assert http.post("/runs", {"title": "Pay", "owner": "alice"}).status_code == 201
    assert code(http.post("/runs", {"title": "Pay", "owner": "bob"})) == (403, "not_permitted")
    assert http.get("/me").json()["owners"] == ["alice"]


def test_a_run_begins_with_its_questions_or_not_at_all(http: AgentHTTP) -> None:
    body = {"title": "Pay", "owner": "alice", "interrupts": [asked()]}

    good = http.post("/runs", body)
    bad = http.post("/runs", {**body, "allowed_tools": ["other"]})

    assert good.status_code == 201
    assert (good.json()["state"], len(good.json()["interrupts"])) == ("WAIT_USER", 1)
    assert code(bad) == (403, "tool_not_allowed")
    assert Run.objects.count() == 1
    refusal = Event.objects.get(type="command.refused")
    assert (refusal.run_id, refusal.code) == (None, "tool_not_allowed")


def test_runs_are_listed_once_each_over_pages(http: AgentHTTP) -> None:
    """H-39: keyset pages skip nothing and repeat nothing."""
    ids = {http.run()["id"] for _ in range(7)}
    seen, after = [], ""
    while True:
        page = http.get(f"/runs?limit=3{after}").json()
        seen += [run["id"] for run in page["items"]]
        if page["next"] is None:
            break
        after = f"&after={page['next']}"

    assert len(seen) == 7
    assert set(seen) == ids


def test_a_list_of_runs_costs_the_same_queries_however_long(
    http: AgentHTTP, django_assert_max_num_queries: Any
) -> None:
    for number in range(6):
        run = http.run()
        http.post(f"/runs/{run['id']}/interrupts", ask_body(call_id=f"c{number}"))

    with django_assert_max_num_queries(7):
        assert len(http.get("/runs").json()["items"]) == 6


def test_runs_are_filtered_by_state_and_external_id(http: AgentHTTP) -> None:
    waiting = http.run(external_id="w", interrupts=[asked()])
    http.run(external_id="r")

    by_state = http.get("/runs?state=WAIT_USER").json()["items"]
    by_name = http.get("/runs?external_id=w").json()["items"]

    assert [run["id"] for run in by_state] == [run["id"] for run in by_name] == [waiting["id"]]


def test_cancelling_stops_questions_and_children(http: AgentHTTP) -> None:
    parent = http.run()
    child = http.run(parent=parent["id"], interrupts=[asked()])

    first = http.post(f"/runs/{parent['id']}/cancel", {"reason": "enough"})
    events = Event.objects.count()
    again = http.post(f"/runs/{parent['id']}/cancel")

    assert first.json()["state"] == "CANCELLED"
    assert again.status_code == 200
    assert Event.objects.count() == events
    told = http.get(f"/runs/{child['id']}").json()
    assert (told["state"], told["interrupts"][0]["state"]) == ("CANCELLED", "CANCELLED")


def test_a_closed_parent_takes_no_child(http: AgentHTTP) -> None:
    parent = http.run()
    http.post(f"/runs/{parent['id']}/finish", {"outcome": "failed"})

    response = http.post("/runs", {"title": "t", "owner": "alice", "parent": parent["id"]})

    assert code(response) == (409, "run_closed")


def test_a_waiting_run_is_not_finished(http: AgentHTTP) -> None:
    run = http.run(interrupts=[asked()])

    response = http.post(f"/runs/{run['id']}/finish", {"outcome": "succeeded"})

    assert code(response) == (409, "wrong_state")
    assert response.json()["current"]["state"] == "WAIT_USER"


def test_finishing_twice_is_once(http: AgentHTTP) -> None:
    run = http.run()
    first = http.post(f"/runs/{run['id']}/finish", {"outcome": "succeeded"})
    again = http.post(f"/runs/{run['id']}/finish", {"outcome": "succeeded"})
    other = http.post(f"/runs/{run['id']}/finish", {"outcome": "failed"})

    assert first.json() == again.json()
    assert (first.json()["state"], first.json()["outcome"]) == ("DONE", "succeeded")
    assert code(other) == (409, "run_closed")


def test_a_question_is_taken_back(http: AgentHTTP) -> None:
    run = http.run(interrupts=[asked()])
    interrupt = run["interrupts"][0]

    first = http.post(f"/interrupts/{interrupt['id']}/cancel")
    again = http.post(f"/interrupts/{interrupt['id']}/cancel")

    assert (first.status_code, again.status_code) == (200, 200)
    assert again.json()["state"] == "CANCELLED"
    assert http.get(f"/runs/{run['id']}").json()["state"] == "READY"


@pytest.mark.django_db(transaction=True)
def test_an_overdue_question_is_expired_although_no_sweeper_ran(http: AgentHTTP) -> None:
    """H-35, H-08: expiry needs no sweeper, and is never an approval."""
    run = http.run(interrupts=[asked(expires_in_s=10)])
    interrupt = Interrupt.objects.get(pk=run["interrupts"][0]["id"])
    fall_due(interrupt.pk)

    told = http.get(f"/interrupts/{interrupt.pk}").json()

    assert (told["state"], told["decision"]) == ("EXPIRED", None)
    assert http.get(f"/runs/{run['id']}").json()["state"] == "EXPIRED"


@pytest.mark.parametrize("run_id", ["run_" + "0" * 26, "x", "%00", "%ff", "run_%2e%2e"])
def test_absent_runs_all_look_the_same(http: AgentHTTP, cast: Cast, run_id: str) -> None:
    foreign = http.get(f"/runs/{cast.other_run().pk}")

    response = http.get(f"/runs/{run_id}")

    assert code(response) == (404, "not_found")
    assert response.content == foreign.content


@pytest.mark.parametrize("wait_s", ["-1", "abc", "", "1.5", "１"])
def test_a_strange_wait_is_refused(http: AgentHTTP, wait_s: str) -> None:
    """H-43: what is no number of seconds is invalid_request."""
    run = http.run()

    assert code(http.get(f"/runs/{run['id']}?wait_s={wait_s}")) == (422, "invalid_request")


def test_too_many_requests_are_told_when_to_come_back(
    http: AgentHTTP, monkeypatch: pytest.MonkeyPatch
) -> None:
    from runs.api import http as plumbing
    from runs.api.rate import Buckets

    buckets = Buckets(2, 60)
    monkeypatch.setattr(plumbing, "_buckets", lambda: buckets)

    answers = [http.get("/me") for _ in range(3)]

    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert code(answers[2]) == (429, "rate_limited")
    assert int(answers[2]["Retry-After"]) in range(1, 31)
