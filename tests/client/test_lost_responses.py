"""An effect whose answer got lost: never a failure, and never done twice."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client as Browser

import placet
from approvals.models import PolicyVersion
from approvals.sweeping import sweep
from audit.models import Event
from identity.management.reporting import OPERATOR
from identity.models import User
from runs.models import Action
from tests.cast import PAYMENT, Cast
from tests.client.site import People

pytestmark = pytest.mark.django_db(transaction=True)

ONCE = {
    "id": "pay",
    "idempotent": True,
    "approvals": [{"from": {"roles": ["reviewer"]}, "count": 1}],
}
BACKEND = "django.contrib.auth.backends.ModelBackend"


class Bank:
    """A target that makes one record for one idempotency key, and whose first answer gets lost."""

    def __init__(self) -> None:
        self.records: dict[str, dict[str, Any]] = {}
        self.calls: Counter[str] = Counter()

    def pay(self, args: dict[str, Any], *, idempotency_key: str, grant: str) -> str:
        self.calls[idempotency_key] += 1
        self.records.setdefault(idempotency_key, args)
        if sum(self.calls.values()) == 1:
            raise ConnectionResetError("the answer got lost")
        return f"receipt of {self.records[idempotency_key]['invoice']}"


def says(user: User, action: Action, **form: str) -> int:
    """Post the form of the action's page; the status of the answer."""
    browser = Browser()
    browser.force_login(user, backend=BACKEND)
    return browser.post(f"/actions/{action.pk}/reconcile/", form).status_code


@pytest.fixture
def bank() -> Bank:
    return Bank()


@pytest.fixture
def lose(run: placet.Run, people: People, bank: Bank) -> Callable[[], Action]:
    """Pay once under an approval, and hear no answer."""

    def lose() -> Action:
        asked = run.ask("pay_vendor", PAYMENT, call_id="pay")
        people.answer(asked.id)
        with run.lease(holder="one") as lease, pytest.raises(ConnectionResetError):
            lease.execute(run.wait(asked), bank.pay)
        return people.action(run.id)

    return lose


def test_an_idempotent_target_is_sent_the_same_again_by_a_person_s_order(
    run: placet.Run, cast: Cast, bank: Bank, lose: Callable[[], Action]
) -> None:
    """H-14: not a failure and not a retry; the record at the target is one."""
    assert isinstance(PolicyVersion.set(cast.tenant, [ONCE], by=OPERATOR), PolicyVersion)
    lost = lose()
    assert (lost.state, run.refresh().state) == ("UNKNOWN", "UNKNOWN")

    assert says(cast.rae, lost, outcome="resend") == 303
    again = run.ask("pay_vendor", PAYMENT, call_id="pay")
    with run.lease(holder="two") as lease:
        result = lease.execute(again, bank.pay)

    assert result == "receipt of INV-88412"
    assert bank.records == {lost.idempotency_key: PAYMENT}
    assert bank.calls == {lost.idempotency_key: 2}
    states = Action.objects.order_by("pk").values_list("state", "resent_as", "fencing_token")
    assert list(states) == [("RESENT", again.id, 1), ("SUCCEEDED", None, 2)]
    assert run.finish("succeeded").state == "DONE"


def test_what_a_target_cannot_be_asked_stays_unknown_until_a_person_decides(
    run: placet.Run, client: placet.Client, cast: Cast, bank: Bank, lose: Callable[[], Action]
) -> None:
    """H-14: no time, sweep, other executor, new question or late word clears it."""
    lost = lose()
    statement = {"kind": "human_statement", "reference": "I called the bank"}

    sweep()
    codes = [
        refused(lambda: run.lease(holder="two").__enter__()),
        refused(lambda: run.ask("pay_vendor", PAYMENT, call_id="another")),
        refused(lambda: run.ask("pay_vendor", {**PAYMENT, "amount_paise": 1}, call_id="pay")),
        refused(lambda: run.finish("failed")),
    ]
    assert codes == [placet.RefusalCode.OUTCOME_UNKNOWN] * 4
    assert run.ask("pay_vendor", PAYMENT, call_id="pay").action_id == lost.pk
    assert says(cast.rae, lost, outcome="resend") == 409
    assert says(cast.alice, lost, outcome="executed", kind="", reference="") == 422
    assert says(cast.alice, lost, outcome="not_executed", **statement) == 409
    assert says(cast.bob, lost, outcome="executed", **statement) in (403, 404)
    assert says(cast.alice, lost, outcome="still_unknown", reference="nobody answers") == 303
    assert (run.refresh().state, bank.calls) == ("UNKNOWN", {lost.idempotency_key: 1})

    assert says(cast.alice, lost, outcome="executed", **statement) == 303

    assert client.get_action(lost.pk).state == "SUCCEEDED"
    assert run.refresh().state == "READY"
    told = Event.objects.filter(type="action.reconciled").order_by("run_seq")
    assert [event.actor_name for event in told] == ["alice", "alice"]
    assert bank.calls == {lost.idempotency_key: 1}


def refused(call: Callable[[], Any]) -> placet.RefusalCode:
    """The code of the refusal."""
    with pytest.raises(placet.Refused) as told:
        call()
    return told.value.code
