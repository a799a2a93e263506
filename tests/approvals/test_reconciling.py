"""Unknown stays unknown: reports that came late, evidence, and an order to send again."""

from datetime import timedelta
from typing import Any

import pytest

from approvals.models import Interrupt, PolicyVersion
from approvals.models.reconciling import Found, settle_outcome
from audit.models import Event
from identity.management.reporting import OPERATOR
from runs.models import Action
from runs.models.action import LATE_REPORTS_MAX
from runs.rules.evidence import Evidence, EvidenceKind, Finding
from runs.rules.refusal import Refusal
from tests.approvals.acting import Executor
from tests.approvals.api import code
from tests.cast import PAYMENT, Cast

pytestmark = pytest.mark.django_db

RECEIPT = {"kind": "target_object", "reference": "receipt 77"}
LOOKUP = {"kind": "idempotency_lookup", "reference": "GET /payments?key=…: none"}
RESEND = Found(Finding.RESEND)


@pytest.fixture
def executor(cast: Cast) -> Executor:
    return Executor(cast)


def idempotent(cast: Cast) -> None:
    rule = {
        "id": "pay",
        "tools": ["pay_vendor"],
        "approvals": [{"from": {"roles": ["reviewer"]}, "count": 1}],
        "idempotent": True,
    }
    assert isinstance(PolicyVersion.set(cast.tenant, [rule], by=OPERATOR), PolicyVersion)


def test_a_receipt_clears_an_unknown_outcome(executor: Executor) -> None:
    action_id = executor.unknown()
    assert executor.state == ("UNKNOWN", 4)

    told = executor.reconcile(action_id, "executed", **RECEIPT)

    assert (told.status_code, told.json()["state"]) == (200, "SUCCEEDED")
    assert told.json()["evidence"]["reference"] == "receipt 77"
    assert executor.state == ("READY", 5)
    assert Event.objects.filter(type="action.reconciled").count() == 1


def test_the_same_finding_again_changes_nothing(executor: Executor) -> None:
    action_id = executor.unknown()
    first = executor.reconcile(action_id, "executed", **RECEIPT)
    events = Event.objects.count()

    again = executor.reconcile(action_id, "executed", **RECEIPT)

    assert (again.status_code, again.json()) == (200, first.json())
    assert Event.objects.count() == events


def test_still_unknown_is_recorded_and_changes_nothing(executor: Executor) -> None:
    action_id = executor.unknown()

    told = executor.reconcile(action_id, "still_unknown", **LOOKUP)

    assert (told.status_code, told.json()["state"]) == (200, "UNKNOWN")
    assert executor.state == ("UNKNOWN", 4)


def test_nothing_says_not_executed_while_the_grant_could_be_used(executor: Executor) -> None:
    action_id = executor.unknown()

    told = executor.reconcile(action_id, "not_executed", **LOOKUP)

    assert code(told) == (409, "wrong_state")
    assert 290 <= int(told["Retry-After"]) <= 301


def test_not_executed_needs_more_than_an_object_that_was_not_found(
    executor: Executor, settings: Any
) -> None:
    settings.PLACET_GRANT_TTL_S = 0
    action_id = executor.unknown()

    refused = executor.reconcile(action_id, "not_executed", **RECEIPT)
    taken = executor.reconcile(action_id, "not_executed", **LOOKUP)

    assert code(refused) == (422, "evidence_required")
    assert refused.json()["errors"][0]["pointer"] == "/evidence/kind"
    assert (taken.status_code, taken.json()["state"]) == (200, "NOT_EXECUTED")


@pytest.mark.parametrize("outcome", ["executed", "not_executed"])
def test_a_finding_without_evidence_is_refused(
    executor: Executor, settings: Any, outcome: str
) -> None:
    settings.PLACET_GRANT_TTL_S = 0
    action_id = executor.unknown()

    assert code(executor.reconcile(action_id, outcome)) == (422, "evidence_required")


def test_a_key_neither_states_nor_orders_what_only_people_can(executor: Executor) -> None:
    action_id = executor.unknown()
    statement = {"kind": "human_statement", "reference": "I saw it"}

    assert code(executor.reconcile(action_id, "executed", **statement)) == (403, "not_permitted")
    assert code(executor.reconcile(action_id, "resend")) == (403, "not_permitted")


def test_a_person_orders_the_same_action_again_under_the_same_key(
    executor: Executor, cast: Cast
) -> None:
    idempotent(cast)
    action_id = executor.unknown()
    before = executor.action(action_id)

    outcome = settle_outcome(before, RESEND, by=cast.rae)

    assert isinstance(outcome, Action) and outcome.state == "RESENT"
    following = Interrupt.objects.get(pk=outcome.resent_as)
    assert (following.state, following.attempt, following.decision.kind) == (
        "DECIDED",
        2,
        "approve",
    )
    assert following.decision.idempotency_key == before.idempotency_key
    assert executor.state == ("READY", 5)
    again = executor.ask()
    assert (again["id"], again["created"]) == (following.pk, False)
    sent = executor.dispatch(following.pk, executor.take())
    assert (sent.status_code, sent.json()["idempotency_key"]) == (201, before.idempotency_key)


def test_what_no_rule_calls_idempotent_is_not_sent_again(executor: Executor, cast: Cast) -> None:
    action = executor.action(executor.unknown())

    outcome = settle_outcome(action, RESEND, by=cast.rae)

    assert isinstance(outcome, Refusal) and outcome.code == "decision_not_allowed"


@pytest.mark.parametrize("name", ["bob", "otto", "ada"])
def test_only_who_may_approve_orders_it_again(executor: Executor, cast: Cast, name: str) -> None:
    idempotent(cast)
    action = executor.action(executor.unknown())

    outcome = settle_outcome(action, RESEND, by=getattr(cast, name))

    assert isinstance(outcome, Refusal) and outcome.code == "not_permitted"


@pytest.mark.parametrize("name", ["ada", "alice"])
def test_who_may_not_approve_does_not_repeat_the_order_either(
    executor: Executor, cast: Cast, name: str
) -> None:
    """The right comes before what holds already, for people and for keys alike."""
    idempotent(cast)
    action = executor.action(executor.unknown())
    assert isinstance(settle_outcome(action, RESEND, by=cast.rae), Action)

    outcome = settle_outcome(action, RESEND, by=getattr(cast, name))

    assert isinstance(outcome, Refusal) and outcome.code == "not_permitted"
    assert code(executor.reconcile(action.pk, "resend")) == (403, "not_permitted")


def test_a_key_does_not_repeat_what_a_person_stated(executor: Executor, cast: Cast) -> None:
    statement = {"kind": "human_statement", "reference": "seen in the bank's list"}
    action = executor.action(executor.unknown())
    told = Evidence(EvidenceKind.HUMAN_STATEMENT, statement["reference"])
    assert isinstance(settle_outcome(action, Found(Finding.EXECUTED, told), by=cast.alice), Action)

    again = executor.reconcile(action.pk, "executed", **statement)

    assert code(again) == (403, "not_permitted")


@pytest.mark.parametrize(("name", "is_taken"), [("alice", True), ("ada", True), ("bob", False)])
def test_who_may_state_what_happened(
    executor: Executor, cast: Cast, name: str, is_taken: bool
) -> None:
    action = executor.action(executor.unknown())
    statement = Evidence(EvidenceKind.HUMAN_STATEMENT, "seen in the bank's list")

    outcome = settle_outcome(action, Found(Finding.EXECUTED, statement), by=getattr(cast, name))

    assert isinstance(outcome, Action) is is_taken


def test_a_stop_is_asked_for_while_something_is_under_way(executor: Executor) -> None:
    action_id, token = executor.in_flight()

    told = executor.http.post(f"/runs/{executor.run}/cancel", {"reason": "enough"})

    assert (told.status_code, told.json()["state"]) == (200, "IN_FLIGHT")
    assert told.json()["cancel_requested"] is True and "cancel" not in told.json()["can"]
    renewed = executor.http.post(f"/runs/{executor.run}/lease/renew", {"fencing_token": token})
    assert renewed.json()["cancel_requested"] is True
    assert code(executor.http.post(f"/runs/{executor.run}/lease/release", {"fencing_token": token}))
    assert executor.result(action_id, token).status_code == 200
    assert executor.state[0] == "CANCELLED"
    events = Event.objects.filter(type="run.cancel_requested")
    assert [event.to_state for event in events] == ["IN_FLIGHT"]


def test_a_stopping_run_with_an_unknown_outcome_stops_when_that_is_known(
    executor: Executor,
) -> None:
    action_id = executor.unknown()
    executor.http.post(f"/runs/{executor.run}/cancel")
    assert executor.state[0] == "UNKNOWN"

    executor.reconcile(action_id, "executed", **RECEIPT)

    assert executor.state[0] == "CANCELLED"


def test_a_late_result_in_a_stopped_run_is_refused_and_kept(executor: Executor) -> None:
    action_id, token = executor.in_flight()
    executor.http.post(f"/runs/{executor.run}/cancel")
    executor.result(action_id, token)

    again = executor.result(action_id, token)
    other = executor.result(action_id, token, "failed")

    assert again.status_code == 200
    assert code(other) == (409, "run_closed") and other.json()["kept"] is True
    assert executor.state[0] == "CANCELLED"


def test_the_same_unknown_again_changes_nothing(executor: Executor) -> None:
    action_id = executor.unknown()
    token = executor.action(action_id).fencing_token
    events = Event.objects.count()

    again = executor.http.post(f"/actions/{action_id}/unknown", {"fencing_token": token})

    assert again.status_code == 200 and Event.objects.count() == events


def test_nothing_is_dispatched_or_asked_while_an_outcome_is_unknown(executor: Executor) -> None:
    second = executor.approved(call_id="call-2")
    executor.unknown()

    lease = {"holder": "worker-2", "ttl_s": 60}
    body = {"interrupt_id": second, "args": PAYMENT, "lease": lease}
    assert code(executor.http.post(f"/runs/{executor.run}/dispatch", body)) == (
        409,
        "outcome_unknown",
    )
    taken = executor.http.post(f"/runs/{executor.run}/lease", lease)
    assert code(taken) == (409, "outcome_unknown")


def test_a_lease_is_exclusive_renewed_and_given_back(executor: Executor) -> None:
    path = f"/runs/{executor.run}/lease"
    first = executor.http.post(path, {"holder": "one", "ttl_s": 60}).json()

    held = executor.http.post(path, {"holder": "one", "ttl_s": 60})
    shorter = executor.http.post(f"{path}/renew", {"fencing_token": 1, "ttl_s": 10}).json()
    released = executor.http.post(f"{path}/release", {"fencing_token": 1})
    second = executor.http.post(path, {"holder": "two", "ttl_s": 60}).json()
    stale = executor.http.post(f"{path}/renew", {"fencing_token": 1})

    assert code(held) == (409, "lease_held")
    assert shorter == first
    assert released.json()["expires_at"] is None
    assert (first["fencing_token"], second["fencing_token"]) == (1, 2)
    assert code(stale) == (409, "lease_lost")


def test_a_holder_alone_asks_and_finishes(executor: Executor) -> None:
    token = executor.take()
    path = f"/runs/{executor.run}"
    body = {"interrupts": [{"call_id": "c", "tool": "t", "args": {}}]}

    assert code(executor.http.post(f"{path}/interrupts", body)) == (409, "lease_held")
    wrong = {**body, "fencing_token": token + 1}
    assert code(executor.http.post(f"{path}/interrupts", wrong)) == (409, "lease_lost")
    assert code(executor.http.post(f"{path}/finish", {"outcome": "failed"})) == (409, "lease_held")
    done = executor.http.post(f"{path}/finish", {"outcome": "failed", "fencing_token": token})
    assert (done.status_code, done.json()["lease"]) == (200, None)


def test_seconds_of_the_grant_are_whole(executor: Executor) -> None:
    action = executor.action(executor.in_flight()[0])

    assert action.grant_ends_at - action.dispatched_at <= timedelta(seconds=300)
    assert action.grant_ends_at.microsecond == 0


def test_what_an_executor_can_be_asked_by_is_not_lost_with_its_lease(executor: Executor) -> None:
    action_id, token = executor.in_flight()
    executor.lapse()
    body = {"fencing_token": token, "detail": "no answer", "refs": {"bank": "tx-9"}}

    told = executor.http.post(f"/actions/{action_id}/unknown", body)

    assert (told.status_code, told.json()["state"]) == (200, "UNKNOWN")
    assert executor.http.post(f"/actions/{action_id}/unknown", body).json() == told.json()
    (kept,) = told.json()["late_reports"]
    assert (kept["detail"], kept["refs"]) == ("no answer", {"bank": "tx-9"})
    assert executor.state == ("UNKNOWN", 4)


def test_a_report_says_that_it_is_kept_only_where_it_is(executor: Executor) -> None:
    action_id, token = executor.in_flight()
    executor.lapse()
    for number in range(LATE_REPORTS_MAX):
        late = executor.result(action_id, token, result={"try": number})
        assert late.json()["kept"] is True

    other = executor.result(action_id, token, result={"try": "one more"})
    again = executor.result(action_id, token, result={"try": 3})

    assert code(other) == code(again) == (409, "outcome_unknown")
    assert ("kept" in other.json(), again.json()["kept"]) == (False, True)
    assert len(executor.action(action_id).late_values) == LATE_REPORTS_MAX
