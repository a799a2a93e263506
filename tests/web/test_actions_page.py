"""What people see of actions, and how they say what became of one of unknown outcome."""

import re
from typing import Any

import pytest
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext

from approvals.models import Interrupt, PolicyVersion
from audit.models import Event
from identity.management.reporting import OPERATOR
from identity.models import User
from runs.ids import new_id
from runs.models import Action, Run
from tests.approvals.acting import Executor
from tests.cast import PAYMENT, PAYMENT_SHA256, Cast
from tests.web.browser import browser, codes, look, words

pytestmark = pytest.mark.django_db

NOWHERE = "act_00000000000000000000000000"
LOOKUP = {"kind": "idempotency_lookup", "reference": "GET /payments?key=…: none"}
RECEIPT = {"kind": "target_object", "reference": "receipt 77"}


@pytest.fixture
def executor(cast: Cast) -> Executor:
    return Executor(cast)


def reconcile(client: Client, action_id: str, outcome: str, **evidence: str) -> HttpResponse:
    return client.post(f"/actions/{action_id}/reconcile/", {"outcome": outcome, **evidence})


def page_of(client: Client, action_id: str) -> HttpResponse:
    return client.get(f"/actions/{action_id}/reconcile/")


def rule(cast: Cast, **members: Any) -> None:
    approvals = [{"from": {"roles": ["reviewer"]}, "count": 1}]
    rules = [{"id": "pay", "tools": ["pay_vendor"], "approvals": approvals, **members}]
    assert isinstance(PolicyVersion.set(cast.tenant, rules, by=OPERATOR), PolicyVersion)


# ---- The run's page --------------------------------------------------------------------------


def test_a_run_tells_who_controls_it_and_what_it_was_permitted_to_do(executor: Executor) -> None:
    action_id, token = executor.in_flight()
    action = executor.action(action_id)

    page = browser(executor.cast.alice).get(f"/runs/{executor.run}/")

    said = words(page)
    assert "In control worker-1 until" in said
    assert "Under way" in said and "vendor_id" in said and "40000000" in said
    assert f"Idempotency key {action.idempotency_key}" in said
    assert "rae approved this: call-1, attempt 1" in said
    assert f"worker-1, fencing token {token}" in said
    assert "A tool takes it until" in said and f"jti {action_id} · kid " in said
    assert action.grant not in page.content.decode()
    assert action.grant.split(".")[2] not in page.content.decode()


def test_a_run_tells_what_became_of_its_actions(executor: Executor) -> None:
    action_id, token = executor.in_flight()
    executor.result(action_id, token, result={"payment": "P-1"})

    said = words(browser(executor.cast.alice).get(f"/runs/{executor.run}/"))

    assert "Carried out" in said and "P-1" in said
    assert "executor was permitted to carry it out, once" in said
    assert "executor reported that it was carried out" in said


def test_a_lease_that_ran_out_controls_nothing_on_the_page(executor: Executor) -> None:
    executor.take()
    executor.lapse()

    assert "In control no executor" in words(
        browser(executor.cast.alice).get(f"/runs/{executor.run}/")
    )


def test_what_is_masked_in_the_question_is_masked_in_the_action(executor: Executor) -> None:
    asked = executor.ask(sensitive=["/invoice"])["id"]
    executor.answer(asked)
    executor.dispatch(asked, executor.take())
    action = Action.objects.get()
    executor.lapse()
    Run.objects.get(pk=executor.run).settle()

    for path in (f"/runs/{executor.run}/", "/unknown/", f"/actions/{action.pk}/reconcile/"):
        page = browser(executor.cast.alice).get(path)
        assert "invoice masked" in words(page), path
        assert "INV-88412" not in page.content.decode(), path


def test_who_only_answers_sees_the_actions_of_those_questions(executor: Executor) -> None:
    """Contract §11: the run's header, and only those interrupts with their actions."""
    rules = [
        {"id": "ops", "tools": ["deploy"], "approvals": [{"from": {"users": ["rob"]}, "count": 1}]},
        {"id": "rest", "approvals": [{"from": {"users": ["rae"]}, "count": 1}]},
    ]
    PolicyVersion.set(executor.cast.tenant, rules, by=OPERATOR)
    mine, token = executor.in_flight()
    executor.result(mine, token)

    assert mine in browser(executor.cast.rae).get(f"/runs/{executor.run}/").content.decode()
    assert page_of(browser(executor.cast.rae), mine).status_code == 200
    assert browser(executor.cast.rob).get(f"/runs/{executor.run}/").status_code == 404
    assert page_of(browser(executor.cast.rob), mine).status_code == 404


def test_a_run_with_something_dispatched_is_asked_to_stop_and_nothing_is_claimed(
    executor: Executor,
) -> None:
    action_id, token = executor.in_flight()
    alice = browser(executor.cast.alice)
    before = words(alice.get(f"/runs/{executor.run}/"))

    alice.post(f"/runs/{executor.run}/cancel/", {"reason": "wrong vendor"})

    after = words(alice.get(f"/runs/{executor.run}/"))
    assert "Ask it to stop" in before and "Cancel the run" not in before
    assert "This calls nothing back: what was dispatched may have happened." in before
    assert "Asked to stop" in after and "may have happened" in after
    assert "alice asked the run to stop" in after and "wrong vendor" in after
    assert "Ask it to stop" not in after
    executor.result(action_id, token)
    assert executor.state[0] == "CANCELLED"


# ---- The list of unknown outcomes ------------------------------------------------------------


def test_unknown_outcomes_are_listed_with_the_facts_at_hand(executor: Executor) -> None:
    action_id, token = executor.in_flight()
    body = {"fencing_token": token, "detail": "timeout", "refs": {"batch": "B-9"}}
    executor.http.post(f"/actions/{action_id}/unknown", body)
    executor.result(action_id, token, result={"payment": "P-1"})

    said = words(browser(executor.cast.alice).get("/unknown/"))

    assert "Outcome unknown" in said and "pay_vendor" in said and "40000000" in said
    assert executor.action(action_id).idempotency_key in said
    assert "B-9" in said and "A tool takes it until" in said
    assert "A report that came too late to count" in said
    assert "It was carried out says executor" in said and "P-1" in said


@pytest.mark.parametrize(
    ("name", "listed", "offered"),
    [
        ("alice", True, True),
        ("ada", True, True),
        ("rae", True, True),
        ("otto", True, False),
        ("bob", False, False),
        ("mallory", False, False),
    ],
)
def test_the_list_is_for_those_who_may_find_out(
    executor: Executor, name: str, listed: bool, offered: bool
) -> None:
    action_id = executor.unknown()
    client = browser(User.objects.get(username=name))

    page = client.get("/unknown/")

    assert (action_id in page.content.decode()) == listed
    assert ("Say what became of it" in words(page)) == offered
    assert ("Unknown 1" in words(client.get("/"))) == listed


def test_the_way_to_the_list_is_there_only_while_there_is_something_on_it(
    executor: Executor,
) -> None:
    alice = browser(executor.cast.alice)
    assert 'href="/unknown/"' not in alice.get("/").content.decode()

    action_id = executor.unknown()
    assert 'href="/unknown/"' in alice.get("/").content.decode()

    executor.reconcile(action_id, "executed", **RECEIPT)
    assert 'href="/unknown/"' not in alice.get("/").content.decode()
    assert "The outcome of everything is known." in words(alice.get("/unknown/"))


def test_the_list_costs_the_same_for_one_and_for_many(executor: Executor) -> None:
    alice = browser(executor.cast.alice)
    executor.unknown()
    with CaptureQueriesContext(connection) as few:
        alice.get("/unknown/")
    first = Action.objects.get()
    copies = [_copy(first, number) for number in range(30)]

    with CaptureQueriesContext(connection) as many:
        page = alice.get("/unknown/")

    assert len(copies) == 30
    assert page.content.decode().count('class="action ') == 20
    assert "Older →" in words(page)
    assert len(many) == len(few)


def _copy(action: Action, number: int) -> Action:
    """The same once more, of a question of its own."""
    asked = Interrupt.objects.get(pk=action.interrupt_id)
    asked.pk, asked.call_id = new_id("int"), f"copy-{number}"
    asked.state, asked.ended_at = "CANCELLED", asked.created_at
    asked.save(force_insert=True)
    action.pk, action.interrupt_id = new_id("act"), asked.pk
    action.save(force_insert=True)
    return action


# ---- Saying what became of it ----------------------------------------------------------------


def test_a_person_says_that_it_was_carried_out_and_what_shows_it(executor: Executor) -> None:
    action_id = executor.unknown()
    alice = browser(executor.cast.alice)

    page = reconcile(alice, action_id, "executed", **RECEIPT, note="asked Bo")

    assert (page.status_code, page["Location"]) == (303, f"/actions/{action_id}/reconcile/")
    assert executor.action(action_id).state == "SUCCEEDED"
    assert executor.state[0] == "READY"
    said = words(page_of(alice, action_id))
    assert "What became of it is known" in said and "Carried out" in said
    assert "alice, " in said and "receipt 77" in said and "asked Bo" in said
    assert "Put it on record" not in said
    assert "alice found out that it was carried out" in said


def test_without_evidence_what_was_typed_stays(executor: Executor) -> None:
    action_id = executor.unknown()

    page = reconcile(browser(executor.cast.alice), action_id, "executed", reference="P-1")

    assert (page.status_code, codes(page)) == (422, ["evidence_required"])
    assert "Say what shows it." in words(page)
    html = page.content.decode()
    assert 'value="executed" required checked' in html
    assert re.search(r'name="reference"[^>]*>\nP-1</textarea>', html)
    assert executor.action(action_id).state == "UNKNOWN"


def test_that_nothing_was_found_does_not_show_that_nothing_was_done(
    executor: Executor, settings: Any
) -> None:
    settings.PLACET_GRANT_TTL_S = 0
    action_id = executor.unknown()
    alice = browser(executor.cast.alice)

    refused = reconcile(alice, action_id, "not_executed", **RECEIPT)
    taken = reconcile(alice, action_id, "not_executed", **LOOKUP)

    assert (refused.status_code, codes(refused)) == (422, ["evidence_required"])
    assert "That no object was found does not show that nothing was done." in words(refused)
    assert taken.status_code == 303
    assert executor.action(action_id).state == "NOT_EXECUTED"


def test_while_the_grant_holds_nobody_says_that_nothing_happened(executor: Executor) -> None:
    action_id = executor.unknown()

    page = reconcile(browser(executor.cast.alice), action_id, "not_executed", **LOOKUP)

    assert (page.status_code, codes(page)) == (409, ["wrong_state"])
    assert 290 <= int(page["Retry-After"]) <= 301
    said = words(page)
    assert "Its grant has not run out: it could still be carried out." in said
    assert "can be said from that time on" in said
    assert executor.action(action_id).state == "UNKNOWN"


def test_still_unknown_is_kept_for_whoever_looks_next(executor: Executor) -> None:
    action_id = executor.unknown()
    alice = browser(executor.cast.alice)

    reconcile(alice, action_id, "still_unknown", reference="The bank answers on Monday")

    said = words(page_of(browser(executor.cast.ada), action_id))
    assert "alice, " in said and "It is still not known" in said
    assert "The bank answers on Monday" in said
    assert "Put it on record" in said
    assert executor.state[0] == "UNKNOWN"


@pytest.mark.parametrize(("name", "status"), [("otto", 403), ("bob", 404), ("mallory", 404)])
def test_who_may_not_find_out_changes_nothing(executor: Executor, name: str, status: int) -> None:
    """H-34: who may not see gets the answer of a missing id; who may look and no more, 403."""
    action_id = executor.unknown()
    client = browser(User.objects.get(username=name))

    pages = [page_of(client, action_id), reconcile(client, action_id, "executed", **RECEIPT)]

    assert [page.status_code for page in pages] == [status] * 2
    assert executor.action(action_id).state == "UNKNOWN"
    if status == 403:
        assert [codes(page) for page in pages] == [["not_permitted"]] * 2
        assert "Put it on record" not in words(pages[0])
    else:
        missing = [page_of(client, NOWHERE), reconcile(client, NOWHERE, "executed", **RECEIPT)]
        assert [page.content for page in pages] == [page.content for page in missing]


def test_the_first_finding_stands(executor: Executor) -> None:
    action_id = executor.unknown()
    reconcile(browser(executor.cast.alice), action_id, "executed", **RECEIPT)

    late = reconcile(browser(executor.cast.ada), action_id, "not_executed", **LOOKUP)

    assert (late.status_code, codes(late)) == (409, ["wrong_state"])
    assert "It is known by now what became of it" in words(late)
    assert executor.action(action_id).state == "SUCCEEDED"


@pytest.mark.parametrize("fields", [{}, {"outcome": "retry"}])
def test_an_outcome_that_is_none_is_refused_in_place(
    executor: Executor, fields: dict[str, str]
) -> None:
    action_id = executor.unknown()

    page = browser(executor.cast.alice).post(f"/actions/{action_id}/reconcile/", fields)

    assert (page.status_code, codes(page)) == (422, ["invalid_request"])
    assert "Say what became of it." in words(page)
    assert Event.objects.filter(type="command.refused", code="invalid_request").exists()


def test_sending_again_is_offered_only_by_the_rule_and_to_who_may_approve(
    executor: Executor,
) -> None:
    rule(executor.cast, idempotent=True)
    action_id = executor.unknown()
    offered = {
        name: "shall be sent again"
        in words(page_of(browser(getattr(executor.cast, name)), action_id))
        for name in ("rae", "alice", "ada")
    }
    refused = reconcile(browser(executor.cast.alice), action_id, "resend")

    assert offered == {"rae": True, "alice": False, "ada": False}
    assert (refused.status_code, codes(refused)) == (403, ["not_permitted"])

    page = reconcile(browser(executor.cast.rae), action_id, "resend")

    assert page.status_code == 303
    again = Interrupt.objects.get(attempt=2)
    assert again.decision.idempotency_key == executor.action(action_id).idempotency_key
    said = words(page_of(browser(executor.cast.alice), action_id))
    assert f"Sent again as {again.pk}" in said


def test_without_such_a_rule_nothing_is_sent_again(executor: Executor) -> None:
    action_id = executor.unknown()
    rae = browser(executor.cast.rae)

    assert "sent again" not in words(page_of(rae, action_id))
    assert codes(reconcile(rae, action_id, "resend")) == ["decision_not_allowed"]


def test_no_page_of_an_unknown_outcome_suggests_to_try_again(executor: Executor) -> None:
    action_id = executor.unknown()
    alice = browser(executor.cast.alice)

    for path in (f"/runs/{executor.run}/", "/unknown/", f"/actions/{action_id}/reconcile/"):
        assert not re.search(
            r"\b(try again|retry|once more|repeat)\b", words(alice.get(path)), re.I
        )


# ---- The same call elsewhere -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "note"),
    [
        ("UNKNOWN", "It is not known whether exactly this was carried out already."),
        ("IN_FLIGHT", "Exactly this is being carried out elsewhere just now."),
        ("SUCCEEDED", "Exactly this was carried out already."),
    ],
)
def test_a_question_says_what_became_of_exactly_this_elsewhere(
    executor: Executor, state: str, note: str
) -> None:
    action_id, token = executor.in_flight()
    if state == "UNKNOWN":
        executor.http.post(f"/actions/{action_id}/unknown", {"fencing_token": token})
    elif state == "SUCCEEDED":
        executor.result(action_id, token)
    asked = executor.cast.ask(executor.cast.run(title="Another run"))
    assert asked.asked_sha256 == PAYMENT_SHA256

    page = look(browser(executor.cast.rae), asked)

    assert note in words(page)
    assert f'href="/runs/{executor.run}/#{action_id}"' in page.content.decode()


def test_it_says_nothing_of_what_the_person_may_not_see(executor: Executor) -> None:
    rule(executor.cast)
    executor.unknown()
    PolicyVersion.set(
        executor.cast.tenant,
        [{"id": "rob", "approvals": [{"from": {"users": ["rob"]}, "count": 1}]}],
        by=OPERATOR,
    )
    asked = executor.cast.ask(executor.cast.run(owner=executor.cast.bob))

    assert "It is not known whether exactly this" not in words(
        look(browser(executor.cast.bob), asked)
    )


def test_who_answers_is_told_of_an_unknown_outcome_that_they_may_not_see(
    executor: Executor,
) -> None:
    """The same payment of somebody else's run could be made twice by an answer here."""
    executor.unknown()
    asked = executor.cast.ask(executor.cast.run(owner=executor.cast.bob))

    page = look(browser(executor.cast.bob), asked)

    assert "It is not known whether exactly this was carried out already." in words(page)
    assert "in a run that you may not see" in words(page)
    assert executor.run not in page.content.decode()


def test_the_worst_of_the_same_elsewhere_is_told_however_many_went_well_since(
    executor: Executor,
) -> None:
    unknown = Action.objects.get(pk=executor.unknown())
    other = executor.cast.run()
    copies = Action.objects.filter(pk=unknown.pk).values().get()
    went_well = {"run_id": other.pk, "state": "SUCCEEDED", "ended_at": unknown.dispatched_at}
    Action.objects.bulk_create(
        Action(**{**copies, **went_well, "id": f"act_z{n:025}", "interrupt_id": f"int_{n}"})
        for n in range(12)
    )
    asked = executor.cast.ask(executor.cast.run(title="Another run"))

    page = look(browser(executor.cast.rae), asked)

    assert "It is not known whether exactly this was carried out already." in words(page)
    assert f'href="/runs/{executor.run}/#{unknown.pk}"' in page.content.decode()


def test_a_used_approval_says_where_it_was_used(executor: Executor) -> None:
    action_id, _ = executor.in_flight()
    asked = Interrupt.objects.get()

    page = look(browser(executor.cast.rae), asked)

    assert "This approval is used" in words(page) and "Under way" in words(page)
    assert f'href="/runs/{executor.run}/#{action_id}"' in page.content.decode()
    assert "The agent may do exactly this, once" not in words(page)
    assert PAYMENT["invoice"] in page.content.decode()
