"""Waiting: through restarts, busy servers and edits, and not longer than was asked for."""

from collections.abc import Iterator

import pytest

import placet
from approvals.models import PolicyVersion
from identity.management.reporting import OPERATOR
from tests.cast import EDITABLE, PAYMENT
from tests.client.site import Aside, People, Site, until

pytestmark = pytest.mark.django_db(transaction=True)

LARGE_NEEDS_TWO = [
    {
        "id": "large",
        "tools": ["pay_vendor"],
        "when": {"properties": {"args": {"properties": {"amount_paise": {"minimum": 100}}}}},
        "approvals": [{"from": {"roles": ["reviewer"]}, "count": 2}],
    },
    {
        "id": "small",
        "tools": ["pay_vendor"],
        "approvals": [{"from": {"roles": ["reviewer"]}, "count": 1}],
    },
]


@pytest.fixture
def own(transactional_db: None) -> Iterator[Site]:
    """A server that this test may stop."""
    site = Site()
    site.start()
    yield site
    site.stop()


def test_a_wait_outlives_the_server(own: Site, key: str, people: People) -> None:
    with placet.Client(own.url, key) as client:
        run = client.create_run(title="Pay the vendor", owner="alice")
        asked = run.ask("pay_vendor", PAYMENT, call_id="call-1")
        waiting = Aside(lambda: run.wait(asked))
        until(lambda: own.hub.waiting == 1)

        own.stop()
        people.answer(asked.id)
        own.start()

        assert waiting.join().is_approved


def test_a_call_is_tried_until_the_server_is_back(own: Site, key: str) -> None:
    with placet.Client(own.url, key) as client:
        own.stop()
        begun = Aside(lambda: client.create_run(title="Pay", owner="alice", external_id="order-1"))
        own.start()

        assert begun.join().state == "READY"


def test_a_wait_ends_with_its_time_and_gives_the_question_as_it_stands(run: placet.Run) -> None:
    asked = run.ask("pay_vendor", PAYMENT, call_id="call-1")

    assert run.wait(asked, timeout_s=0).state == "PENDING"
    assert run.wait(asked, timeout_s=0.3).state == "PENDING"


def test_an_edit_under_another_rule_is_waited_for_and_given(
    run: placet.Run, people: People
) -> None:
    PolicyVersion.set(people.cast.tenant, LARGE_NEEDS_TWO, by=OPERATOR)
    small = {**PAYMENT, "amount_paise": 7}
    asked = run.ask("pay_vendor", small, call_id="call-1", args_schema=EDITABLE)
    people.answer(asked.id, "edit", args=PAYMENT)
    following = run.wait(asked, timeout_s=0)
    assert (following.attempt, following.state, following.args) == (2, "PENDING", PAYMENT)

    people.answer(following.id, user=people.cast.rob)
    decided = run.wait(asked)

    assert decided.id == following.id and decided.is_approved
    with run.lease(holder="worker-1") as lease:
        assert lease.execute(decided, lambda args, **_: args) == PAYMENT


def test_a_question_that_the_agent_itself_replaced_is_given_as_superseded(
    run: placet.Run, people: People
) -> None:
    asked = run.ask("pay_vendor", PAYMENT, call_id="call-1")
    newer = run.ask("pay_vendor", {**PAYMENT, "vendor_id": "V-1"}, call_id="call-1")

    told = run.wait(asked)

    assert (told.state, told.superseded_by, told.id) == ("SUPERSEDED", newer.id, asked.id)
