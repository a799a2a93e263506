"""Handoffs: a person's word is a notice, and what was seen of the page decides."""

from datetime import UTC, datetime
from typing import Any

import pytest

from approvals.models import Account, HandoffLink, Interrupt, Observation, PolicyVersion
from audit.models import Event
from identity.management.reporting import OPERATOR
from placet.protocol.reading import JSONValue
from placet.protocol.states import DecisionKind
from runs.rules.refusal import Refusal
from tests.approvals.acting import Executor
from tests.approvals.api import ask_body, code
from tests.cast import PAYMENT, Cast

pytestmark = pytest.mark.django_db

TARGET = {"origin": "https://bank.example", "account": "alice@acme", "page": "/home"}
URL = "https://takeover.example/s/secret-7731"


@pytest.fixture
def executor(cast: Cast) -> Executor:
    return Executor(cast)


def handed_over(executor: Executor, **members: Any) -> str:
    asked = executor.ask(
        **{
            "kind": "handoff",
            "tool": "login",
            "args": {},
            "target": TARGET,
            "handoff_url": URL,
            **members,
        }
    )
    return str(asked["id"])


def seen(token: int, handback: int = 1, **members: Any) -> dict[str, Any]:
    return {
        "handback": handback,
        "fencing_token": token,
        **TARGET,
        "snapshot_sha256": "a" * 64,
        "observed_at": datetime.now(UTC).isoformat(),
        **members,
    }


def look(executor: Executor, token: int, **members: Any) -> str:
    """The id of what was seen in the run, with no regard to a hand-back."""
    body = {**seen(token, **members)}
    del body["handback"]
    reply = executor.http.post(f"/runs/{executor.run}/observations", body)
    assert reply.status_code == 200, reply.content
    return str(reply.json()["observation_id"])


def observe(executor: Executor, interrupt_id: str, body: dict[str, Any]) -> Any:
    return executor.http.post(f"/interrupts/{interrupt_id}/observations", body)


def test_what_was_seen_decides_and_not_the_person_alone(executor: Executor) -> None:
    asked, token = handed_over(executor), executor.take()
    executor.answer(asked, "done")
    assert executor.http.get(f"/interrupts/{asked}").json()["state"] == "HANDED_BACK"

    told = observe(executor, asked, seen(token)).json()

    assert (told["matched"], told["differs"]) == (True, [])
    assert told["interrupt"]["state"] == "DECIDED"
    assert told["interrupt"]["decision"]["kind"] == "done"
    assert told["interrupt"]["decision"]["decided_by"]["name"] == "alice"
    assert executor.state[0] == "READY"
    assert not HandoffLink.objects.exists()


@pytest.mark.parametrize("member", ["origin", "account", "page"])
def test_another_page_opens_the_handoff_again(executor: Executor, member: str) -> None:
    asked, token = handed_over(executor), executor.take()
    executor.answer(asked, "done")

    told = observe(executor, asked, seen(token, **{member: "elsewhere"}))

    assert (told.status_code, told.json()["matched"]) == (200, False)
    assert told.json()["differs"] == [member]
    assert told.json()["interrupt"]["state"] == "PENDING"
    assert executor.state[0] == "WAIT_USER"
    assert Event.objects.get(type="interrupt.reopened").from_state == "HANDED_BACK"


def test_a_look_before_the_last_hand_back_says_nothing(executor: Executor) -> None:
    asked, token = handed_over(executor), executor.take()
    executor.answer(asked, "done")
    observe(executor, asked, seen(token, page="elsewhere"))
    assert code(observe(executor, asked, seen(token))) == (409, "wrong_state")
    executor.answer(asked, "done")

    assert code(observe(executor, asked, seen(token, 1))) == (409, "page_not_verified")
    assert observe(executor, asked, seen(token, 2)).json()["matched"] is True


def test_a_look_without_control_is_refused(executor: Executor) -> None:
    asked, token = handed_over(executor), executor.take()
    executor.answer(asked, "done")

    assert code(observe(executor, asked, seen(token + 1))) == (409, "lease_lost")
    executor.lapse()
    assert code(observe(executor, asked, seen(token))) == (409, "lease_lost")


def test_handing_back_is_for_the_owner(executor: Executor, cast: Cast) -> None:
    row = Interrupt.objects.get(pk=handed_over(executor))

    outcome = cast.decide(row, cast.rae, decision=DecisionKind.DONE)

    assert isinstance(outcome, Refusal) and outcome.code == "not_owner"


def test_what_was_handed_back_can_still_be_rejected(executor: Executor, cast: Cast) -> None:
    asked = handed_over(executor)
    executor.answer(asked, "done")
    row = Interrupt.objects.get(pk=asked)

    again = cast.decide(row, cast.alice, decision=DecisionKind.DONE)
    outcome = cast.decide(row, cast.alice, decision=DecisionKind.REJECT, reason="not me")

    assert isinstance(again, Refusal) and again.code == "wrong_state"
    assert isinstance(outcome, Interrupt) and outcome.state == "DECIDED"


def test_done_approves_and_consumes_nothing(executor: Executor) -> None:
    asked, token = handed_over(executor), executor.take()
    executor.answer(asked, "done")
    observe(executor, asked, seen(token))

    assert code(executor.dispatch(asked, token, args={})) == (409, "not_approved")


def test_the_secret_link_is_sealed_and_stands_in_no_record(executor: Executor) -> None:
    asked = handed_over(executor)
    shape = executor.http.get(f"/runs/{executor.run}?all=1").content.decode()
    told = "".join(str(vars(event)) for event in Event.objects.all())

    assert "secret-7731" not in shape + told
    assert "secret-7731" not in HandoffLink.objects.get().sealed
    assert HandoffLink.of(asked) == URL


@pytest.mark.parametrize(
    "target", [None, {}, {"account": "a"}, {"origin": ""}, {"origin": "o", "other": "x"}]
)
def test_a_handoff_names_its_target(executor: Executor, target: Any) -> None:
    body = ask_body(kind="handoff", tool="login", args={}, target=target)

    refused = executor.http.post(f"/runs/{executor.run}/interrupts", body)

    assert code(refused) == (422, "invalid_request")
    assert refused.json()["errors"][0]["pointer"].startswith("/interrupts/0/target")


def test_another_account_than_the_owner_s_is_not_permitted(executor: Executor, cast: Cast) -> None:
    Account.register(cast.alice, origin=TARGET["origin"], account="alice@acme", by=OPERATOR)
    body = ask_body(kind="handoff", tool="login", args={}, target={**TARGET, "account": "bob@acme"})

    assert code(executor.http.post(f"/runs/{executor.run}/interrupts", body)) == (
        403,
        "not_permitted",
    )
    handed_over(executor)


def test_dispatch_names_a_recent_look_at_its_target(executor: Executor) -> None:
    asked = executor.approved(target=TARGET, observation_max_age_s=30)
    token = executor.take()

    without = executor.dispatch(asked, token)
    elsewhere, right = look(executor, token, page="/other"), look(executor, token)

    assert code(without) == (409, "page_not_verified")
    assert code(executor.dispatch(asked, token, observation_id=elsewhere)) == (
        409,
        "page_not_verified",
    )
    told = executor.dispatch(asked, token, observation_id=right, args=PAYMENT)
    assert told.status_code == 201
    assert Observation.objects.filter(pk=right, matched=None).exists()


def test_an_agent_cannot_widen_how_old_a_look_may_be(executor: Executor, cast: Cast) -> None:
    """What an agent sends narrows, never widens."""
    rule = {"id": "rae", "approvals": [{"from": {"users": ["rae"]}, "count": 1}]}
    PolicyVersion.set(cast.tenant, [{**rule, "observation_max_age_s": 30}], by=OPERATOR)

    for asked_for, kept in ((None, 30), (5, 5), (3600, 30)):
        asked = executor.ask(call_id=f"call-{asked_for}", observation_max_age_s=asked_for)
        assert Interrupt.objects.get(pk=asked["id"]).observation_max_age_s == kept


def test_a_look_that_is_named_without_need_is_one_all_the_same(executor: Executor) -> None:
    """The record of a dispatch names no look that was none, of another run or another target."""
    asked, token = executor.approved(target=TARGET), executor.take()
    other = Executor(executor.cast, name="other")
    here = look(executor, token)
    elsewhere = look(executor, token, account="bob@acme")
    there = look(other, other.take())

    for named in ("obs_1", "x" * 255, elsewhere, there):
        refused = executor.dispatch(asked, token, observation_id=named)
        assert code(refused) == (409, "page_not_verified")

    assert executor.dispatch(asked, token, observation_id=here).status_code == 201


@pytest.mark.parametrize(
    "at",
    ["9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00", "2026-12-01T00:00:00", "2026-12-01"],
)
def test_a_look_at_no_instant_is_invalid(executor: Executor, at: str) -> None:
    body = {**seen(executor.take()), "observed_at": at}
    del body["handback"]

    reply = executor.http.post(f"/runs/{executor.run}/observations", body)

    assert code(reply) == (422, "invalid_request")


@pytest.mark.parametrize("account", [["mine"], {"mine": 1}, None, 1, True, "other"])
def test_what_is_no_text_is_nobody_s_account(
    executor: Executor, cast: Cast, account: JSONValue
) -> None:
    Account.register(cast.alice, origin="https://bank.example", account="mine", by=OPERATOR)
    target = {"origin": "https://bank.example", "account": account}

    reply = executor.http.post(f"/runs/{executor.run}/interrupts", ask_body(target=target))

    assert code(reply) == (403, "not_permitted")


def test_a_link_that_another_secret_sealed_is_no_link(executor: Executor, settings: Any) -> None:
    asked = handed_over(executor)
    settings.SECRET_KEY = "another secret of the server, long enough to be one"

    assert HandoffLink.of(asked) is None
