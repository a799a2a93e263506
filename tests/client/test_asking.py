"""Asking, answering, acting and finishing, against the real server."""

from typing import Any

import pytest

import placet
from placet.protocol.digest import asked_sha256
from tests.cast import EDITABLE, PAYMENT
from tests.client.site import Aside, People

pytestmark = pytest.mark.django_db(transaction=True)

Given = list[dict[str, Any]]


def pay(given: Given) -> Any:
    """A work that notes what it was given."""

    def pay(args: dict[str, Any], *, idempotency_key: str, grant: str) -> dict[str, Any]:
        given.append({"args": args, "idempotency_key": idempotency_key, "grant": grant})
        return {"receipt": "R-1"}

    return pay


def test_what_is_asked_and_approved_is_done_once_and_told(
    client: placet.Client, run: placet.Run, people: People
) -> None:
    given: Given = []
    asked = run.ask("pay_vendor", PAYMENT, call_id="call-1", description="The June invoice")
    assert (asked.state, run.state, asked.created) == ("PENDING", "WAIT_USER", True)
    people.answer(asked.id)

    asked = run.wait(asked)
    with run.lease(holder="worker-1") as lease:
        result = lease.execute(asked, pay(given))
    view = run.finish("succeeded")

    assert asked.is_approved and asked.decision is not None
    assert result == {"receipt": "R-1"}
    assert [each["args"] for each in given] == [PAYMENT]
    assert given[0]["idempotency_key"] == asked.decision.idempotency_key
    (action,) = view.actions
    assert (action.state, action.result, action.grant) == (
        "SUCCEEDED",
        {"receipt": "R-1"},
        given[0]["grant"],
    )
    assert (view.state, view.outcome, view.lease) == ("DONE", "succeeded", None)
    assert client.get_action(action.id) == action


def test_the_work_gets_what_a_person_made_of_it(run: placet.Run, people: People) -> None:
    given: Given = []
    asked = run.ask("pay_vendor", PAYMENT, call_id="call-1", args_schema=EDITABLE)
    people.answer(asked.id, "edit", args={**PAYMENT, "amount_paise": 7})

    with run.lease(holder="worker-1") as lease:
        lease.execute(asked, pay(given))

    assert [each["args"] for each in given] == [{**PAYMENT, "amount_paise": 7}]


def test_the_same_asked_again_is_given_back_with_its_decision(
    run: placet.Run, people: People
) -> None:
    asked = run.ask("pay_vendor", PAYMENT, call_id="call-1")
    people.answer(asked.id, "reject", reason="We do not know this vendor.")

    again = run.ask("pay_vendor", PAYMENT, call_id="call-1")

    assert (again.id, again.created, again.is_approved) == (asked.id, False, False)
    assert again.decision is not None
    assert (again.decision.kind, again.decision.reason) == ("reject", "We do not know this vendor.")
    assert again.decision.decided_by.name == "rae"


def test_several_questions_are_asked_in_one_step(run: placet.Run) -> None:
    questions = [
        placet.Question(tool="pay_vendor", args=PAYMENT, call_id="one"),
        {"tool": "send_mail", "args": {"to": "a@b.example"}, "call_id": "two", "target": {"k": 1}},
    ]

    asked = run.ask_all(questions)

    assert [(each.call_id, each.tool) for each in asked] == [
        ("one", "pay_vendor"),
        ("two", "send_mail"),
    ]
    assert asked[1].asked_sha256 == asked_sha256(
        tool="send_mail", args={"to": "a@b.example"}, target={"k": 1}
    )


def test_a_refusal_says_why_and_how_things_stand(run: placet.Run) -> None:
    run.cancel(reason="no longer needed")

    with pytest.raises(placet.Refused) as refused:
        run.ask("pay_vendor", PAYMENT, call_id="call-1")

    error = refused.value
    assert (error.code, error.status, error.kept) == (placet.RefusalCode.RUN_CLOSED, 409, False)
    assert error.current["state"] == "CANCELLED"


def test_every_fault_of_a_request_comes_with_its_pointer(run: placet.Run) -> None:
    with pytest.raises(placet.Refused) as refused:
        run.ask("pay vendor", PAYMENT, call_id="call-1")

    assert (refused.value.code, refused.value.status) == ("invalid_request", 422)
    assert [fault.pointer for fault in refused.value.faults] == ["/interrupts/0/tool"]


def test_what_has_no_digest_is_not_even_sent(run: placet.Run) -> None:
    with pytest.raises(placet.NotCanonical):
        run.ask("pay_vendor", {"amount": 2**60}, call_id="call-1")


def test_a_key_that_is_none_is_refused(client: placet.Client, run: placet.Run) -> None:
    other = placet.Client(client.base_url, "plk_nothing")

    with other, pytest.raises(placet.Refused) as refused:
        other.get_run(run.id)

    assert (refused.value.code, refused.value.status) == ("unauthenticated", 401)


def test_who_the_key_is(client: placet.Client) -> None:
    me = client.me()

    assert (me.tenant, me.agent.name, me.owners) == ("acme", "executor", None)
    assert set(me.scopes) == {"ask", "execute", "observe", "reconcile"}


def test_runs_are_found_by_their_name_and_by_page(client: placet.Client) -> None:
    begun = [
        client.create_run(title="Pay", owner="alice", external_id=f"order-{n}") for n in range(53)
    ]
    again = client.create_run(title="Pay", owner="alice", external_id="order-7")

    assert again.id == begun[7].id
    assert [found.id for found in client.find_runs(external_id="order-7")] == [again.id]
    assert [found.id for found in client.find_runs()] == [each.id for each in reversed(begun)]


def test_a_question_can_be_taken_back(run: placet.Run) -> None:
    asked = run.ask("pay_vendor", PAYMENT, call_id="call-1")

    assert run.take_back(asked).state == "CANCELLED"
    assert run.refresh().state == "READY"


def test_while_it_holds_a_lease_the_handle_asks_and_finishes_under_it(
    client: placet.Client, run: placet.Run
) -> None:
    other = client.get_run(run.id)

    with run.lease(holder="worker-1"):
        asked = run.ask("pay_vendor", PAYMENT, call_id="call-1")
        with pytest.raises(placet.Refused, match="lease_held"):
            other.ask("pay_vendor", PAYMENT, call_id="call-2")
        run.take_back(asked)
        assert run.finish("rejected").outcome == "rejected"


def test_a_hand_back_is_checked_by_what_was_seen(run: placet.Run, people: People) -> None:
    target = {"origin": "https://bank.example", "account": "alice"}
    asked = run.ask("log_in", {}, call_id="log-in", kind="handoff", target=target)
    seen = {"origin": "https://bank.example", "snapshot_sha256": "0" * 64}

    with run.lease(holder="browser-1"):
        people.answer(asked.id, "done", user=people.cast.alice)
        asked = run.wait(asked)
        assert (asked.state, asked.handback) == ("HANDED_BACK", 1)
        told = run.observe(**seen, account="mallory", handed_back=asked)
        assert (told.matched, told.differs) == (False, ("account",))
        people.answer(asked.id, "done", user=people.cast.alice)
        told = run.observe(**seen, account="alice", handed_back=run.wait(asked))
        assert told.matched

    decided = run.wait(asked)
    assert decided.decision is not None and decided.decision.kind == "done"


def test_an_observation_needs_a_lease(run: placet.Run) -> None:
    with pytest.raises(ValueError, match="lease"):
        run.observe(origin="https://bank.example", snapshot_sha256="0" * 64)


def test_an_answer_is_heard_while_waiting(run: placet.Run, people: People, served: Any) -> None:
    from tests.client.site import until

    asked = run.ask("pay_vendor", PAYMENT, call_id="call-1")
    waiting = Aside(lambda: run.wait(asked))
    until(lambda: served.hub.waiting == 1)

    people.answer(asked.id)

    assert waiting.join().is_approved
