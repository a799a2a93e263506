"""Asking over HTTP: shapes, the table of asking again, refusals with their pointers."""

from typing import Any

import pytest

from approvals.models import Interrupt
from audit.models import Event
from placet.protocol.states import DecisionKind
from runs.models import Run
from tests.approvals.acting import Executor
from tests.approvals.api import AgentHTTP, ask_body, asked, code
from tests.cast import PAYMENT, PAYMENT_SHA256, Cast

pytestmark = pytest.mark.django_db


@pytest.fixture
def http(cast: Cast) -> AgentHTTP:
    return AgentHTTP(cast.key)


def test_a_question_is_stored_with_the_digest_of_the_contract(http: AgentHTTP) -> None:
    run = http.run()

    response = http.post(f"/runs/{run['id']}/interrupts", ask_body())

    assert response.status_code == 201
    told = response.json()
    interrupt = told["interrupts"][0]
    assert told["run"]["state"] == "WAIT_USER"
    assert interrupt["asked_sha256"] == PAYMENT_SHA256
    assert (interrupt["state"], interrupt["round"], interrupt["created"]) == ("PENDING", 1, True)
    assert interrupt["policy"] == {"rule": "default", "version": 0}
    assert http.get(f"/interrupts/{interrupt['id']}").json() == {**interrupt, "created": False}


def test_the_same_question_again_is_the_same_interrupt(http: AgentHTTP) -> None:
    run = http.run()
    first = http.post(f"/runs/{run['id']}/interrupts", ask_body()).json()["interrupts"][0]
    events = Event.objects.count()

    again = http.post(
        f"/runs/{run['id']}/interrupts", ask_body(args=dict(reversed(PAYMENT.items())))
    )

    assert again.status_code == 200
    assert again.json()["interrupts"][0] == {**first, "created": False}
    assert Event.objects.count() == events


def test_another_content_under_the_call_id_supersedes_in_one_step(
    http: AgentHTTP, cast: Cast
) -> None:
    run = http.run()
    first = http.post(f"/runs/{run['id']}/interrupts", ask_body()).json()["interrupts"][0]

    response = http.post(f"/runs/{run['id']}/interrupts", ask_body(args={"vendor_id": "V-9"}))

    second = response.json()["interrupts"][0]
    assert (response.status_code, second["attempt"]) == (201, 2)
    assert (response.json()["run"]["state"], response.json()["run"]["revision"]) == ("WAIT_USER", 1)
    old = http.get(f"/interrupts/{first['id']}").json()
    assert (old["state"], old["superseded_by"]) == ("SUPERSEDED", second["id"])


def test_a_restarted_agent_gets_its_answer_also_after_the_run_ended(
    http: AgentHTTP, cast: Cast
) -> None:
    run = http.run()
    first = http.post(f"/runs/{run['id']}/interrupts", ask_body()).json()["interrupts"][0]
    cast.decide(Interrupt.objects.get(pk=first["id"]), cast.rae)
    http.post(f"/runs/{run['id']}/finish", {"outcome": "succeeded"})

    again = http.post(f"/runs/{run['id']}/interrupts", {**ask_body(), "expected_revision": 1})

    assert again.status_code == 200
    decision = again.json()["interrupts"][0]["decision"]
    assert (decision["kind"], decision["decided_by"]["name"]) == ("approve", "rae")
    assert decision["args"] == PAYMENT
    assert decision["approved_sha256"] == PAYMENT_SHA256


def test_an_unused_approval_is_outdated_by_another_content(http: AgentHTTP, cast: Cast) -> None:
    run = http.run()
    first = http.post(f"/runs/{run['id']}/interrupts", ask_body()).json()["interrupts"][0]
    cast.decide(Interrupt.objects.get(pk=first["id"]), cast.rae)

    second = http.post(f"/runs/{run['id']}/interrupts", ask_body(args={"to": "B"})).json()

    old = http.get(f"/interrupts/{first['id']}").json()
    assert (old["state"], old["superseded_by"]) == ("DECIDED", second["interrupts"][0]["id"])
    assert second["run"]["state"] == "WAIT_USER"


def test_a_rejected_question_is_given_back_with_its_reason(http: AgentHTTP, cast: Cast) -> None:
    run = http.run()
    first = http.post(f"/runs/{run['id']}/interrupts", ask_body()).json()["interrupts"][0]
    row = Interrupt.objects.get(pk=first["id"])
    cast.decide(row, cast.rae, decision=DecisionKind.REJECT, reason="Wrong vendor")

    again = http.post(f"/runs/{run['id']}/interrupts", ask_body())

    assert again.status_code == 200
    assert again.json()["interrupts"][0]["decision"]["reason"] == "Wrong vendor"


def test_all_questions_of_a_request_or_none(http: AgentHTTP) -> None:
    run = http.run(allowed_tools=["pay_vendor"])
    body = {"interrupts": [asked(), asked(call_id="call-2", tool="drop_table")]}

    response = http.post(f"/runs/{run['id']}/interrupts", body)

    assert code(response) == (403, "tool_not_allowed")
    assert response.json()["current"] == {"question": 1, "rule": "default"}
    assert not Interrupt.objects.exists()
    assert Run.objects.get(pk=run["id"]).state == "READY"


@pytest.mark.parametrize(
    ("question", "pointer"),
    [
        ({"tool": "pay vendor"}, "/interrupts/0/tool"),
        ({"args": [1]}, "/interrupts/0/args"),
        ({"args": None}, "/interrupts/0/args"),
        ({"target": "x"}, "/interrupts/0/target"),
        ({"call_id": ""}, "/interrupts/0/call_id"),
        ({"kind": "party"}, "/interrupts/0/kind"),
        ({"expires_in_s": 9}, "/interrupts/0/expires_in_s"),
        ({"expires_in_s": "60"}, "/interrupts/0/expires_in_s"),
        ({"expires_in_s": 60.5}, "/interrupts/0/expires_in_s"),
        ({"expires_in_s": True}, "/interrupts/0/expires_in_s"),
        ({"allowed_decisions": []}, "/interrupts/0/allowed_decisions"),
        ({"allowed_decisions": ["maybe"]}, "/interrupts/0/allowed_decisions/0"),
        ({"allowed_decisions": ["respond"], "kind": "approval"}, None),
        ({"sensitive": ["no-slash"]}, "/interrupts/0/sensitive/0"),
        ({"args_schema": {"type": "strange"}}, "/interrupts/0/args_schema/type"),
        ({"args_schema": {"$ref": "https://x.example/"}}, "/interrupts/0/args_schema/$ref"),
        ({"args_schema": {"uniqueItems": True}}, "/interrupts/0/args_schema/uniqueItems"),
        ({"unknown": 1}, "/interrupts/0/unknown"),
        ({"retry_of": "act_1"}, "/interrupts/0/retry_of"),
    ],
)
def test_a_badly_formed_question_is_refused_at_its_place(
    http: AgentHTTP, question: dict[str, Any], pointer: str | None
) -> None:
    run = http.run()

    response = http.post(f"/runs/{run['id']}/interrupts", ask_body(**question))

    if pointer is None:
        assert response.status_code == 201
        return
    assert code(response) == (422, "invalid_request")
    assert pointer in [fault["pointer"] for fault in response.json()["errors"]]
    assert not Interrupt.objects.exists()


def test_the_same_call_id_twice_is_refused(http: AgentHTTP) -> None:
    run = http.run()

    response = http.post(f"/runs/{run['id']}/interrupts", {"interrupts": [asked(), asked()]})

    assert code(response) == (422, "invalid_request")


@pytest.mark.parametrize(
    ("args", "member"),
    [
        (b'{"to":"acct_good","to":"acct_bad"}', "to"),
        (b'{"deep":{"to":1,"\\u0074o":2}}', "to"),
    ],
)
def test_duplicate_names_are_refused_and_named(http: AgentHTTP, args: bytes, member: str) -> None:
    """H-10: two parties must not read different values out of one text."""
    run = http.run()
    raw = b'{"interrupts":[{"call_id":"c","tool":"pay","args":' + args + b"}]}"

    response = http.post(f"/runs/{run['id']}/interrupts", raw)

    assert code(response) == (400, "invalid_json")
    assert f'"{member}"' in response.json()["detail"]
    assert not Interrupt.objects.exists()


def test_a_large_integer_is_refused_and_as_text_kept_digit_for_digit(http: AgentHTTP) -> None:
    """H-09: never one digest for two ids, never a rounded id."""
    run = http.run()
    digests = []
    for number in ("2512292042121000001", "2512292042121000000"):
        raw = f'{{"interrupts":[{{"call_id":"n","tool":"t","args":{{"invoice_id":{number}}}}}]}}'
        response = http.post(f"/runs/{run['id']}/interrupts", raw.encode())
        assert code(response) == (400, "invalid_json")
        assert response.json()["errors"][0]["pointer"] == "/interrupts/0/args/invoice_id"
        assert "string" in response.json()["detail"]
        body = ask_body(call_id=f"c{number}", args={"invoice_id": number})
        told = http.post(f"/runs/{run['id']}/interrupts", body).json()["interrupts"][0]
        assert told["args"] == {"invoice_id": number}
        digests.append(told["asked_sha256"])
    assert digests[0] != digests[1]


@pytest.mark.parametrize("text", ["x" * 8193, "é" * 4097])
def test_a_text_of_more_than_8_kib_is_too_large_wherever_it_stands(cast: Cast, text: str) -> None:
    executor = Executor(cast)
    action_id, token = executor.in_flight()
    run, action = f"/runs/{executor.run}", f"/actions/{action_id}"
    look = {"fencing_token": token, "snapshot_sha256": "0" * 64, "observed_at": "2026-12-01T00:00Z"}

    replies = [
        executor.http.post(path, body)
        for path, body in (
            ("/runs", {"title": text, "owner": "alice"}),
            (f"{run}/interrupts", ask_body(description=text)),
            (f"{run}/interrupts", ask_body(kind="handoff", handoff_url=text)),
            (f"{run}/cancel", {"reason": text}),
            (f"{run}/observations", {**look, "origin": text}),
            (f"{action}/unknown", {"fencing_token": token, "detail": text}),
            (
                f"{action}/reconcile",
                {
                    "outcome": "still_unknown",
                    "evidence": {"kind": "target_object", "reference": "r", "note": text},
                },
            ),
        )
    ]

    assert [code(reply) for reply in replies] == [(413, "too_large")] * len(replies)


def test_a_body_of_more_than_a_mebibyte_is_too_large(http: AgentHTTP) -> None:
    run = http.run()

    response = http.post(f"/runs/{run['id']}/interrupts", b" " * (1024 * 1024 + 1))

    assert code(response) == (413, "too_large")


def test_what_is_asked_is_at_most_a_quarter_mebibyte(http: AgentHTTP) -> None:
    run = http.run()

    response = http.post(f"/runs/{run['id']}/interrupts", ask_body(args={"x": "a" * 262_144}))

    assert code(response) == (413, "too_large")


def test_beyond_the_cap_of_a_run_the_answer_is_429_with_the_reason(
    http: AgentHTTP, settings: Any
) -> None:
    """H-40: an agent cannot flood the queue; equal calls stay separate questions."""
    settings.PLACET_MAX_PENDING_RUN = 3
    run = http.run()
    for number in range(3):
        response = http.post(f"/runs/{run['id']}/interrupts", ask_body(call_id=f"c{number}"))
        assert response.status_code == 201

    response = http.post(f"/runs/{run['id']}/interrupts", ask_body(call_id="c3"))

    assert code(response) == (429, "rate_limited")
    assert "3 questions of one run" in response.json()["detail"]
    assert response["Retry-After"] == "60"
    assert Interrupt.objects.count() == 3
    replaced = http.post(f"/runs/{run['id']}/interrupts", ask_body(call_id="c0", args={"n": 1}))
    assert replaced.status_code == 201


def test_foreign_and_missing_runs_answer_with_identical_bytes(http: AgentHTTP, cast: Cast) -> None:
    """H-03, H-34: no id of another tenant can be told from a random one."""
    foreign = cast.other_run().pk
    missing = "run_" + "0" * 26

    answers = [
        http.post(f"/runs/{run_id}/interrupts", ask_body()) for run_id in (foreign, missing, "x")
    ]

    assert {code(response) for response in answers} == {(404, "not_found")}
    assert len({response.content for response in answers}) == 1
    assert len({str(sorted(response.items())) for response in answers}) == 1


def test_a_stale_revision_is_refused_with_the_current_one(http: AgentHTTP) -> None:
    run = http.run()

    response = http.post(f"/runs/{run['id']}/interrupts", {**ask_body(), "expected_revision": 5})

    assert code(response) == (409, "stale_revision")
    assert response.json()["current"] == {"state": "READY", "revision": 0, "outcome": None}
    refusal = Event.objects.get(type="command.refused")
    assert (refusal.run_id, refusal.code) == (run["id"], "stale_revision")
