"""Approved once, dispatched at most once: over HTTP, against the contract."""

from datetime import UTC, datetime
from typing import Any

import jwt
import pytest

from approvals.models import PolicyVersion
from audit.models import Event
from identity.management.reporting import OPERATOR
from placet.protocol.digest import asked_sha256
from runs.models import Action
from tests.approvals.acting import Executor
from tests.approvals.api import ask_body, code
from tests.cast import PAYMENT, Cast

pytestmark = pytest.mark.django_db


@pytest.fixture
def executor(cast: Cast) -> Executor:
    return Executor(cast)


def test_an_approved_call_is_dispatched_and_its_result_ends_it(executor: Executor) -> None:
    interrupt_id, token = executor.approved(), executor.take()

    told = executor.dispatch(interrupt_id, token)

    assert (told.status_code, executor.state) == (201, ("IN_FLIGHT", 3))
    action = told.json()
    assert action["args"] == PAYMENT and action["can"] == ["result", "unknown"]
    assert action["fencing_token"] == token
    assert action["approved_sha256"] == asked_sha256(tool="pay_vendor", args=PAYMENT, target=None)
    done = executor.result(action["id"], token, result={"paid": True})
    assert (done.status_code, done.json()["state"]) == (200, "SUCCEEDED")
    assert done.json()["result"] == {"paid": True} and executor.state == ("READY", 4)
    run = executor.http.get(f"/runs/{executor.run}?all=1").json()
    assert run["interrupts"][0]["action_id"] == action["id"]
    assert [each["id"] for each in run["actions"]] == [action["id"]]


def test_an_approval_is_used_once(executor: Executor) -> None:
    interrupt_id, token = executor.approved(), executor.take()
    first = executor.dispatch(interrupt_id, token)

    again = executor.dispatch(interrupt_id, token)

    assert code(again) == (409, "already_dispatched")
    assert again.json()["current"]["action"] == first.json()["id"]
    assert Action.objects.count() == 1


def test_a_repeated_request_is_a_replay_and_no_license(executor: Executor) -> None:
    interrupt_id, token = executor.approved(), executor.take()
    body = {"interrupt_id": interrupt_id, "args": PAYMENT, "fencing_token": token}
    path = f"/runs/{executor.run}/dispatch"

    first = executor.http.post(path, body, Idempotency_Key="once")
    again = executor.http.post(path, body, Idempotency_Key="once")

    assert (first.status_code, again.status_code) == (201, 200)
    assert again["Idempotency-Replayed"] == "true" and again.json() == first.json()
    assert "Idempotency-Replayed" not in first


def test_a_lease_can_be_taken_with_the_dispatch(executor: Executor) -> None:
    interrupt_id = executor.approved()
    body = {
        "interrupt_id": interrupt_id,
        "args": PAYMENT,
        "lease": {"holder": "one-shot", "ttl_s": 30},
    }

    told = executor.http.post(f"/runs/{executor.run}/dispatch", body)

    assert (told.status_code, told.json()["fencing_token"]) == (201, 1)
    lease = executor.http.get(f"/runs/{executor.run}").json()["lease"]
    assert lease["holder"] == "one-shot"


@pytest.mark.parametrize(
    "changed", [{"vendor_id": "V-9"}, {"amount_paise": 40_000_001}, {"note": ""}]
)
def test_other_arguments_than_the_approved_are_refused(
    executor: Executor, changed: dict[str, object]
) -> None:
    interrupt_id, token = executor.approved(), executor.take()

    told = executor.dispatch(interrupt_id, token, args={**PAYMENT, **changed})

    assert code(told) == (409, "digest_mismatch") and executor.state[0] == "READY"


def test_what_was_not_approved_is_not_dispatched(executor: Executor) -> None:
    asked = executor.ask()["id"]
    executor.answer(asked, "reject", reason="no")

    assert code(executor.dispatch(asked, executor.take())) == (409, "not_approved")


def test_an_open_question_keeps_the_run_from_acting(executor: Executor) -> None:
    interrupt_id = executor.approved()
    executor.ask(call_id="call-2")

    assert code(executor.dispatch(interrupt_id, executor.take())) == (409, "wrong_state")


def test_an_approval_that_a_newer_question_replaced_is_refused(executor: Executor) -> None:
    interrupt_id = executor.approved()
    newer = executor.ask(args={**PAYMENT, "vendor_id": "V-1"})["id"]
    executor.answer(newer)

    told = executor.dispatch(interrupt_id, executor.take())

    assert code(told) == (409, "superseded")
    assert told.json()["current"] == {"superseded_by": newer}


def test_without_control_nothing_is_dispatched(executor: Executor) -> None:
    interrupt_id, token = executor.approved(), executor.take()
    body = {"interrupt_id": interrupt_id, "args": PAYMENT}
    lease = {"holder": "worker-1", "ttl_s": 60}

    assert code(executor.dispatch(interrupt_id, token + 1)) == (409, "lease_lost")
    held = executor.http.post(f"/runs/{executor.run}/dispatch", {**body, "lease": lease})
    assert code(held) == (409, "lease_held")
    neither = executor.http.post(f"/runs/{executor.run}/dispatch", body)
    assert code(neither) == (422, "invalid_request")


def test_what_policy_forbids_by_now_is_not_dispatched(executor: Executor, cast: Cast) -> None:
    interrupt_id, token = executor.approved(), executor.take()
    PolicyVersion.set(
        cast.tenant, [{"id": "stop", "tools": ["pay_vendor"], "deny": True}], by=OPERATOR
    )

    assert code(executor.dispatch(interrupt_id, token)) == (403, "tool_not_allowed")


def test_the_grant_says_what_may_be_done(executor: Executor) -> None:
    action_id, _ = executor.in_flight()
    action = executor.action(action_id)
    keys = executor.http.client.get("/.well-known/jwks.json").json()["keys"]

    claims = jwt.decode(
        action.grant,
        jwt.PyJWK(keys[0]),
        algorithms=["EdDSA"],
        audience="acme/pay_vendor",
    )

    assert jwt.get_unverified_header(action.grant)["typ"] == "placet-grant+jwt"
    assert claims["exp"] - claims["iat"] == 300
    assert datetime.fromtimestamp(claims["exp"], UTC) == action.grant_ends_at
    assert claims["approved_sha256"] == action.approved_sha256
    assert (claims["jti"], claims["tool"]) == (action_id, "pay_vendor")
    assert claims["idempotency_key"] == action.idempotency_key
    assert claims["decided_by"]["name"] == "rae"


def test_a_lease_that_runs_out_leaves_the_outcome_unknown(executor: Executor) -> None:
    action_id, token = executor.in_flight()
    executor.lapse()

    late = executor.result(action_id, token)

    assert code(late) == (409, "outcome_unknown") and late.json()["kept"] is True
    assert executor.state == ("UNKNOWN", 4)
    (kept,) = executor.action(action_id).late_values
    assert isinstance(kept, dict) and kept["outcome"] == "succeeded"
    assert Event.objects.filter(type="action.unknown").count() == 1


def test_asking_again_for_what_was_done_gives_it_back(executor: Executor) -> None:
    action_id, token = executor.in_flight()
    executor.result(action_id, token)

    again = executor.ask(token)

    assert (again["created"], again["action_id"]) == (False, action_id)


def test_what_failed_is_asked_again_under_the_same_key(executor: Executor) -> None:
    action_id, token = executor.in_flight()
    executor.result(action_id, token, "failed")
    before = executor.action(action_id)

    again = executor.http.post(
        f"/runs/{executor.run}/interrupts",
        {**ask_body(retry_of=action_id), "fencing_token": token},
    )

    assert again.status_code == 201, again.content
    asked = again.json()["interrupts"][0]
    executor.answer(asked["id"])
    retried = executor.dispatch(asked["id"], token).json()
    assert retried["idempotency_key"] == before.idempotency_key
    assert retried["id"] != action_id


def test_after_a_change_of_the_server_s_secret_a_new_key_signs(
    executor: Executor, settings: Any
) -> None:
    before = executor.action(executor.in_flight()[0])
    settings.SECRET_KEY = "another secret of the server, long enough to be one"
    later = Executor(executor.cast, name="later")

    after = later.action(later.in_flight()[0])

    keys = executor.http.client.get("/.well-known/jwks.json").json()["keys"]
    kids = [jwt.get_unverified_header(action.grant)["kid"] for action in (before, after)]
    assert kids[0] != kids[1] and [key["kid"] for key in keys] == kids[1:]
