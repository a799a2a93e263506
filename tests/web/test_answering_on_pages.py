"""Answers posted from pages: taken, or refused with status, code and reason on the page itself."""

import json
from typing import Any

import pytest
from django.core import signing
from django.test import Client

from approvals.models import Decision, Interrupt, PolicyVersion
from approvals.templatetags.texts import when
from approvals.web import view_token
from audit.models import Event
from identity.management.reporting import OPERATOR
from identity.models import User
from placet.protocol.digest import sha256_hex
from placet.protocol.states import DecisionKind, InterruptKind
from runs.models import Run
from tests.cast import EDITABLE, PAYMENT, PAYMENT_SHA256, Cast, question
from tests.owner import fall_due
from tests.web.browser import answer, browser, buttons, codes, hidden, look, send, typed, words

pytestmark = pytest.mark.django_db

TYPES = {"cents": 4900, "dry_run": False, "ids": [1, 2], "note": None, "zip": "01234"}


def refused(interrupt: Interrupt) -> list[str | None]:
    """The codes of the refusals on record for a question."""
    events = Event.objects.filter(interrupt_id=interrupt.pk, type="command.refused")
    return list(events.order_by("id").values_list("code", flat=True))


def test_an_approval_leads_back_to_the_page_that_tells_it(cast: Cast) -> None:
    interrupt = cast.ask(cast.run())
    rae = browser(cast.rae)

    done = answer(rae, interrupt, decision="approve")

    assert (done.status_code, done.headers["Location"]) == (303, f"/interrupts/{interrupt.pk}/")
    page = look(rae, interrupt)
    assert "rae approved this" in words(page) and buttons(page) == []
    decision = Decision.objects.get(interrupt=interrupt)
    assert (decision.kind, decision.approved_sha256) == ("approve", PAYMENT_SHA256)


def test_an_edit_changes_only_what_was_changed_and_keeps_every_type(cast: Cast) -> None:
    """H-33: the edit box holds JSON, so numbers, booleans, lists and null stay what they are."""
    interrupt = cast.ask(cast.run(), question(args=TYPES, args_schema={"type": "object"}))
    rae = browser(cast.rae)
    page = look(rae, interrupt)
    box = typed(page)["args"]
    assert json.loads(box) == TYPES

    edited = box.replace("4900", "5000").replace("\n", "\r\n")
    form = hidden(page)
    preview = rae.post(f"/interrupts/{interrupt.pk}/preview/", form | {"args": edited})
    done = send(rae, interrupt, form, decision="edit", args=edited)

    decision = Decision.objects.get(interrupt=interrupt)
    assert done.status_code == 303
    assert decision.kind == "edit"
    assert decision.args == TYPES | {"cents": 5000}
    assert decision.approved_asked == (
        '{"args":{"cents":5000,"dry_run":false,"ids":[1,2],"note":null,"zip":"01234"},'
        '"target":null,"tool":"pay_vendor"}'
    )
    said = words(preview)
    assert "What you change /args/cents 4900 → 5000" in said
    assert str(decision.approved_sha256) in said
    assert "Changed before approving /args/cents 4900 → 5000" in words(look(rae, interrupt))


def test_hidden_characters_survive_an_edit_of_something_else(cast: Cast) -> None:
    """H-32: they stand in the edit box as escapes of the same value."""
    args = {"path": "a\u202eb\u200b", "n": 1}
    interrupt = cast.ask(cast.run(), question(args=args, args_schema={"type": "object"}))
    rae = browser(cast.rae)
    box = typed(look(rae, interrupt))["args"]
    assert "\\u202e" in box and "\u202e" not in box

    answer(rae, interrupt, decision="edit", args=box.replace("1", "2"))

    assert Decision.objects.get(interrupt=interrupt).args == args | {"n": 2}


def test_a_preview_stores_nothing(cast: Cast) -> None:
    interrupt = cast.ask(cast.run(), question(args_schema=EDITABLE))
    rae = browser(cast.rae)
    form = hidden(look(rae, interrupt))
    before = Event.objects.count()

    bad = rae.post(f"/interrupts/{interrupt.pk}/preview/", form | {"args": '{"amount_paise":"x"}'})

    assert (bad.status_code, codes(bad)) == (422, ["invalid_edit"])
    assert "/amount_paise" in words(bad)
    assert Event.objects.count() == before


def test_changed_arguments_are_not_approved_by_the_button_for_those_asked(cast: Cast) -> None:
    interrupt = cast.ask(cast.run(), question(args_schema=EDITABLE))

    page = answer(
        browser(cast.rae), interrupt, decision="approve", args='{"amount_paise": 1, "x": 2}'
    )

    assert (page.status_code, codes(page)) == (422, ["invalid_edit"])
    assert typed(page)["args"] == '{"amount_paise": 1, "x": 2}'
    assert not Decision.objects.exists()


def test_a_rejection_keeps_its_reason_for_the_agent(cast: Cast) -> None:
    interrupt = cast.ask(cast.run())

    answer(browser(cast.rae), interrupt, decision="reject", reason="Not this month.\r\nAsk later.")

    decision = Decision.objects.get(interrupt=interrupt)
    assert (decision.kind, decision.reason) == ("reject", "Not this month.\nAsk later.")


def test_a_response_is_text_or_json_as_the_schema_wants(cast: Cast) -> None:
    ask = question(kind=InterruptKind.QUESTION, args={"q": "How many?"})
    free = cast.ask(cast.run(), ask)
    counted = cast.ask(
        cast.run(),
        question(kind=InterruptKind.QUESTION, args={"q": "?"}, response_schema={"type": "integer"}),
    )
    rae = browser(cast.rae)
    assert buttons(look(rae, free)) == ["respond", "reject"]

    answer(rae, free, decision="respond", response="42")
    wrong = answer(rae, counted, decision="respond", response="many")
    answer(rae, counted, decision="respond", response="42")

    assert Decision.objects.get(interrupt=free).response_value == "42"
    assert (wrong.status_code, codes(wrong)) == (422, ["invalid_edit"])
    assert typed(wrong)["response"] == "many"
    assert Decision.objects.get(interrupt=counted).response_value == 42


def test_unknown_fields_change_nothing(cast: Cast) -> None:
    interrupt = cast.ask(cast.run())

    answer(browser(cast.rae), interrupt, decision="approve", allowed="true", tool="other", user="1")

    decision = Decision.objects.get(interrupt=interrupt)
    assert (decision.by_name, decision.approved_sha256) == ("rae", PAYMENT_SHA256)


@pytest.mark.parametrize(
    ("fields", "status", "code"),
    [
        ({"decision": "perhaps"}, 422, "invalid_request"),
        ({"decision": None}, 422, "invalid_request"),
        ({"revision": None}, 422, "invalid_request"),
        ({"revision": "one"}, 422, "invalid_request"),
        ({"revision": "9999999999999999999"}, 422, "invalid_request"),
        ({"asked_sha256": None}, 422, "invalid_request"),
        ({"asked_sha256": "a\x00"}, 422, "invalid_request"),
        ({"revision": "7"}, 409, "stale_revision"),
        ({"asked_sha256": "0" * 64}, 409, "digest_mismatch"),
        ({"view": None}, 409, "not_shown"),
        ({"view": "x:y:z"}, 409, "not_shown"),
        ({"view": "\x00"}, 409, "not_shown"),
        ({"decision": "respond", "response": "hello"}, 409, "decision_not_allowed"),
        ({"decision": "done"}, 409, "decision_not_allowed"),
        ({"decision": "reject", "reason": " \r\n "}, 422, "reason_required"),
        ({"decision": "reject", "reason": "é" * 4097}, 413, "too_large"),
        ({"decision": "reject", "reason": "a\x00b"}, 422, "invalid_request"),
        ({"decision": "edit", "args": '{"a":1,"a":2}'}, 400, "invalid_json"),
        ({"decision": "edit", "args": '{"a":9007199254740993}'}, 400, "invalid_json"),
        ({"decision": "edit", "args": "[]"}, 422, "invalid_edit"),
        ({"decision": "edit", "args": ""}, 422, "invalid_edit"),
        ({"decision": "edit", "args": '{"amount_paise":"1"}'}, 422, "invalid_edit"),
        ({"decision": "edit", "args": '{"x":"' + "a" * 270_000 + '"}'}, 413, "too_large"),
    ],
)
def test_a_refused_form_says_why_in_place_and_decides_nothing(
    cast: Cast, fields: dict[str, Any], status: int, code: str
) -> None:
    """H-37: status, code and panel on the question's own page, which can still be answered."""
    interrupt = cast.ask(cast.run(), question(args_schema=EDITABLE))
    rae = browser(cast.rae)

    page = answer(rae, interrupt, **({"decision": "approve", "reason": "because"} | fields))

    assert (page.status_code, codes(page)) == (status, [code])
    assert buttons(page) == ["edit", "approve", "reject"]
    assert 'class="onward"' in page.content.decode()
    if fields.get("reason") is None:
        assert typed(page)["reason"] == "because"
    assert not Decision.objects.exists()
    recorded = Event.objects.filter(type="command.refused", actor_id=cast.rae.public_id)
    assert [event.code for event in recorded] == ([] if code == "too_large" else [code])


def test_a_fault_in_the_edited_json_is_named_by_its_pointer(cast: Cast) -> None:
    interrupt = cast.ask(cast.run(), question(args_schema=EDITABLE))

    page = answer(
        browser(cast.rae), interrupt, decision="edit", args='{"b":{"a":1,"a":2}}', reason="so"
    )

    assert "/args/b/a The member" in words(page)
    assert typed(page) == {"reason": "so", "args": '{"b":{"a":1,"a":2}}'}


def test_a_page_far_too_large_is_refused_as_too_large(cast: Cast) -> None:
    interrupt = cast.ask(cast.run())
    client = Client(raise_request_exception=False)
    client.force_login(cast.rae, backend="django.contrib.auth.backends.ModelBackend")

    page = client.post(
        f"/interrupts/{interrupt.pk}/decide/", {"decision": "approve", "args": "x" * 1_200_000}
    )

    assert (page.status_code, codes(page)) == (413, ["too_large"])


def test_the_second_answer_learns_who_was_first_and_when(cast: Cast) -> None:
    """H-37: of two windows the slower one is told what happened."""
    interrupt = cast.ask(cast.run())
    rae, rob = browser(cast.rae), browser(cast.rob)
    form = hidden(look(rob, interrupt))
    answer(rae, interrupt, decision="approve")

    page = send(rob, interrupt, form, decision="reject", reason="No")

    assert (page.status_code, codes(page), buttons(page)) == (409, ["already_decided"], [])
    assert "rae approved this" in words(page) and "By rae, " in words(page)
    assert refused(interrupt) == ["already_decided"]


def test_a_proof_from_before_the_answer_reveals_nothing_after_it(cast: Cast) -> None:
    """H-36: who may no longer answer sees the masks again."""
    interrupt = cast.ask(cast.run(), question(args={"k": "hunter2"}, sensitive=("/k",)))
    rae, rob = browser(cast.rae), browser(cast.rob)
    form = hidden(rob.post(f"/interrupts/{interrupt.pk}/reveal/"))
    revealed = hidden(rae.post(f"/interrupts/{interrupt.pk}/reveal/"))
    send(rae, interrupt, revealed, decision="approve")

    late = send(rob, interrupt, form, decision="approve")

    assert codes(late) == ["already_decided"]
    assert "hunter2" not in late.content.decode()


def test_repeating_ones_own_answer_says_when_it_was_recorded(cast: Cast) -> None:
    """H-38: the repeat decides nothing and is no riddle."""
    interrupt = cast.ask(cast.run())
    rae = browser(cast.rae)
    form = hidden(look(rae, interrupt))
    send(rae, interrupt, form, decision="approve")

    page = send(rae, interrupt, form, decision="approve")

    at = Decision.objects.get(interrupt=interrupt).decided_at
    assert (page.status_code, codes(page)) == (409, ["already_decided"])
    assert f"Your answer was recorded at {when(at)}" in words(page)
    assert Decision.objects.count() == 1


def test_an_answer_to_a_superseded_question_sees_the_difference_and_the_way_on(
    cast: Cast,
) -> None:
    """H-13, H-25: the answer to the old content never reaches the new one."""
    run = cast.run()
    old = cast.ask(run)
    rae = browser(cast.rae)
    form = hidden(look(rae, old))
    new = cast.ask(run, question(args=PAYMENT | {"amount_paise": 90_000_000}))

    page = send(rae, old, form, decision="approve")

    assert (page.status_code, codes(page), buttons(page)) == (409, ["superseded"], [])
    said = words(page)
    assert "What is different now /args/amount_paise 40000000 → 90000000" in said
    assert "By payer, " in said
    assert f'href="/interrupts/{new.pk}/">Open the new question' in page.content.decode()
    assert not Decision.objects.exists()


def test_hidden_fields_of_the_old_question_do_not_answer_the_new_one(cast: Cast) -> None:
    """H-25: same run, same revision, another digest: refused whatever a browser restored."""
    run = cast.run()
    old = cast.ask(run)
    rae = browser(cast.rae)
    form = hidden(look(rae, old))
    new = cast.ask(run, question(args=PAYMENT | {"amount_paise": 90_000_000}))
    look(rae, new)

    page = send(rae, new, form, decision="approve")

    assert (page.status_code, codes(page)) == (409, ["digest_mismatch"])
    assert hidden(page)["asked_sha256"] == new.asked_sha256
    mixed = send(
        rae, new, form | {"asked_sha256": new.asked_sha256}, decision="approve", reason="x"
    )
    assert (mixed.status_code, codes(mixed)) == (409, ["not_shown"])
    assert not Decision.objects.exists()


def test_a_cancelled_question_says_by_whom(cast: Cast) -> None:
    interrupt = cast.ask(cast.run())
    rae = browser(cast.rae)
    form = hidden(look(rae, interrupt))
    interrupt.cancel(agent=cast.agent)

    page = send(rae, interrupt, form, decision="approve")

    assert (page.status_code, codes(page)) == (409, ["cancelled"])
    assert "By payer, " in words(page)


@pytest.mark.django_db(transaction=True)
def test_an_answer_after_the_deadline_is_refused_without_a_sweeper(cast: Cast) -> None:
    """H-35: at and after the instant it is late."""
    interrupt = cast.ask(cast.run())
    rae = browser(cast.rae)
    form = hidden(look(rae, interrupt))
    fall_due(interrupt.pk)

    page = send(rae, interrupt, form, decision="approve")

    assert (page.status_code, codes(page), buttons(page)) == (409, ["expired"], [])
    interrupt.refresh_from_db()
    assert interrupt.state == "EXPIRED"
    assert Run.objects.get(pk=interrupt.run_id).state == "EXPIRED"


@pytest.mark.parametrize(("name", "code"), [("otto", "not_permitted"), ("ada", "not_permitted")])
def test_who_may_look_and_not_answer_is_refused(cast: Cast, name: str, code: str) -> None:
    interrupt = cast.ask(cast.run())
    form = hidden(look(browser(cast.rae), interrupt))

    page = send(browser(User.objects.get(username=name)), interrupt, form, decision="approve")

    assert (page.status_code, codes(page)) == (403, [code])
    assert refused(interrupt) == [code]


def test_self_approval_is_refused_with_the_reason_shown(cast: Cast) -> None:
    """H-04: the owner, where the policy wants others."""
    rule = {"id": "x", "approvals": [{"from": {"roles": ["reviewer"]}}], "owner_counts": False}
    PolicyVersion.set(cast.tenant, [rule], by=OPERATOR)
    interrupt = cast.ask(cast.run())

    page = answer(browser(cast.alice), interrupt, decision="approve")

    assert (page.status_code, codes(page)) == (403, ["self_approval"])


def test_the_same_person_never_counts_twice(cast: Cast) -> None:
    rule = {"id": "two", "approvals": [{"from": {"roles": ["reviewer"]}, "count": 2}]}
    PolicyVersion.set(cast.tenant, [rule], by=OPERATOR)
    interrupt = cast.ask(cast.run())
    rae = browser(cast.rae)
    form = hidden(look(rae, interrupt))
    send(rae, interrupt, form, decision="approve")

    page = send(rae, interrupt, form, decision="approve")

    assert (page.status_code, codes(page)) == (403, ["duplicate_approver"])


def test_an_edit_that_a_rule_forbids_is_refused(cast: Cast) -> None:
    rules = [
        {
            "id": "never",
            "deny": True,
            "when": {"properties": {"args": {"properties": {"amount_paise": {"minimum": 10**8}}}}},
        }
    ]
    PolicyVersion.set(cast.tenant, rules, by=OPERATOR)
    interrupt = cast.ask(cast.run(), question(args_schema=EDITABLE))

    page = answer(
        browser(cast.rae), interrupt, decision="edit", args=json.dumps({"amount_paise": 10**8})
    )

    assert (page.status_code, codes(page)) == (403, ["tool_not_allowed"])


def test_an_edit_under_another_rule_leads_to_the_next_attempt(cast: Cast) -> None:
    rules = [
        {
            "id": "large",
            "when": {"properties": {"args": {"properties": {"amount_paise": {"minimum": 10**8}}}}},
            "approvals": [{"from": {"users": ["ada"]}}],
        }
    ]
    PolicyVersion.set(cast.tenant, rules, by=OPERATOR)
    interrupt = cast.ask(cast.run(), question(args_schema=EDITABLE))

    done = answer(
        browser(cast.rae),
        interrupt,
        decision="edit",
        args=json.dumps(PAYMENT | {"amount_paise": 10**8}),
    )

    interrupt.refresh_from_db()
    assert interrupt.state == "SUPERSEDED"
    assert done.headers["Location"] == f"/interrupts/{interrupt.superseded_by_id}/"


def test_a_closed_run_takes_no_answer(cast: Cast) -> None:
    """Stop means stop: the question was cancelled with its run."""
    run = cast.run()
    interrupt = cast.ask(run)
    rae = browser(cast.rae)
    form = hidden(look(rae, interrupt))
    run.cancel(by=cast.alice)

    page = send(rae, interrupt, form, decision="approve")

    assert (page.status_code, codes(page)) == (409, ["cancelled"])


def forged(case: str, cast: Cast, interrupt: Interrupt, other: Interrupt) -> str:
    """A proof that does not prove that Rae was shown this question."""
    members = [cast.rae.pk, interrupt.pk, interrupt.asked_sha256, interrupt.handback]
    match case:
        case "another person's":
            return view_token.proof_of_showing(interrupt, cast.rob)
        case "another question's":
            return view_token.proof_of_showing(other, cast.rae)
        case "another hand-back's":
            return signing.dumps([*members[:3], 1], salt=view_token.SALT)
        case "another salt's":
            return signing.dumps(members, salt="other")
        case "another shape":
            return signing.dumps({"user": cast.rae.pk}, salt=view_token.SALT)
        case _:
            return view_token.proof_of_showing(interrupt, cast.rae)[:-1] + "!"


@pytest.mark.parametrize(
    "case",
    [
        "another person's",
        "another question's",
        "another hand-back's",
        "another salt's",
        "another shape",
        "altered",
    ],
)
def test_a_proof_of_something_else_proves_nothing(cast: Cast, case: str) -> None:
    interrupt = cast.ask(cast.run())
    other = cast.ask(cast.run())
    rae = browser(cast.rae)

    page = answer(rae, interrupt, decision="approve", view=forged(case, cast, interrupt, other))

    assert (page.status_code, codes(page)) == (409, ["not_shown"])
    assert buttons(page) == ["approve", "reject"]


def test_a_proof_is_over_after_a_day(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt = cast.ask(cast.run())
    rae = browser(cast.rae)
    form = hidden(look(rae, interrupt))
    monkeypatch.setattr(view_token, "VALID_S", -1)

    page = send(rae, interrupt, form, decision="approve")

    assert view_token.VALID_S == -1
    assert (page.status_code, codes(page)) == (409, ["not_shown"])


def test_a_refused_answer_keeps_revealed_values_revealed(cast: Cast) -> None:
    interrupt = cast.ask(cast.run(), question(args={"k": "hunter2"}, sensitive=("/k",)))
    rae = browser(cast.rae)
    form = hidden(rae.post(f"/interrupts/{interrupt.pk}/reveal/"))

    page = send(rae, interrupt, form, decision="reject")

    assert (page.status_code, codes(page)) == (422, ["reason_required"])
    assert "hunter2" in page.content.decode() and hidden(page).keys() == form.keys()
    masked = send(rae, interrupt, form, decision="reject", view="")
    assert "hunter2" not in masked.content.decode() and hidden(masked) == {}


def test_htmx_gets_the_part_and_the_status(cast: Cast) -> None:
    """H-37: the same refusal goes into the open page, not a whole page into a part."""
    interrupt = cast.ask(cast.run())
    rae = browser(cast.rae)
    form = hidden(look(rae, interrupt)) | {"decision": "reject"}

    page = rae.post(f"/interrupts/{interrupt.pk}/decide/", form, headers={"HX-Request": "true"})

    assert (page.status_code, codes(page)) == (422, ["reason_required"])
    assert "<html" not in page.content.decode()


def test_a_decision_needs_the_token_against_forgery(cast: Cast) -> None:
    """H-24: a form of another site decides nothing."""
    interrupt = cast.ask(cast.run())
    form = hidden(look(browser(cast.rae), interrupt))
    client = Client(enforce_csrf_checks=True)
    client.force_login(cast.rae, backend="django.contrib.auth.backends.ModelBackend")

    page = client.post(f"/interrupts/{interrupt.pk}/decide/", form | {"decision": "approve"})

    assert page.status_code == 403
    assert "Nothing was changed." in words(page)
    assert not Decision.objects.exists()


def test_an_ended_session_redirects_the_whole_page(cast: Cast) -> None:
    """H-37: no login page goes into a part of a page."""
    interrupt = cast.ask(cast.run())

    page = Client().post(
        f"/interrupts/{interrupt.pk}/decide/",
        {"decision": DecisionKind.APPROVE.value},
        headers={"HX-Request": "true"},
    )

    assert page.headers["HX-Redirect"] == "/login/"
    assert page.content == b""


def test_the_page_digests_what_it_says(cast: Cast) -> None:
    interrupt = cast.ask(cast.run())

    assert hidden(look(browser(cast.rae), interrupt))["asked_sha256"] == sha256_hex(interrupt.asked)
