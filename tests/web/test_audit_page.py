"""The record on a page and as a file: everything, found by what one knows, masked, verifiable."""

import io
import json
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from approvals.models import Decision
from approvals.templatetags.texts import when
from audit import lag
from audit.chain import event_hash
from audit.export import read_head
from audit.lag import last_seal
from audit.models import Event
from audit.numbering import number_events
from audit.sealing import seal_events
from audit.verify import verify
from identity.models import User
from placet.protocol.states import DecisionKind
from tests.cast import PAYMENT_SHA256, Cast, question
from tests.web.browser import answer, browser, codes, look, words
from tests.web.test_lists import pages

pytestmark = pytest.mark.django_db


def search(cast: Cast, **fields: str) -> str:
    """What the auditor finds, in words, without the form."""
    page = browser(cast.otto).get("/audit/", fields)
    assert page.status_code == 200
    return words(page).partition("Export as JSON Lines")[2]


def exported(cast: Cast, **fields: str) -> list[dict[str, Any]]:
    """The lines of an export."""
    response = browser(cast.ada).get("/audit/export/", fields)
    assert response.headers["Content-Type"] == "application/jsonl; charset=utf-8"
    assert response.headers["Cache-Control"] == "no-store"
    text = b"".join(response.streaming_content).decode()  # type: ignore[attr-defined]
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def told(cast: Cast) -> Cast:
    """A payment that Rae approved after Rob was refused, and a deployment that Rob rejected."""
    payment = cast.ask(cast.run())
    cast.decide(payment, cast.rob, asked_sha256="0" * 64)
    answer(browser(cast.rae), payment, decision="approve")
    deployment = cast.ask(cast.run(title="Ship"), question(tool="deploy", args={"env": "prod"}))
    cast.decide(deployment, cast.rob, decision=DecisionKind.REJECT, reason="Freeze until Monday")
    number_events()
    return cast


def test_a_decision_stands_with_what_was_asked_shown_and_answered(told: Cast) -> None:
    said = search(told, type="interrupt.decided", person="rae")

    assert "rae approved it · pay_vendor" in said
    assert "amount_paise 40000000 invoice INV-88412 vendor_id V-2291" in said
    seen = Event.objects.filter(type="interrupt.shown", actor_name="rae").order_by("id")
    assert f"Shown rae {when(seen[0].at)}" in said
    assert PAYMENT_SHA256 in said


def test_an_edit_stands_with_what_was_approved_instead(cast: Cast) -> None:
    interrupt = cast.ask(cast.run(), question(args_schema={}))
    cast.decide(
        interrupt, cast.rae, decision=DecisionKind.EDIT, args={"to": "B"}, reason="Wrong account"
    )
    number_events()

    said = search(cast, type="interrupt.decided")

    approved = Decision.objects.get().approved_sha256
    assert "rae approved it with other arguments" in said
    assert "Wrong account" in said
    assert f"Approved to B {approved}" in said


def test_a_refusal_stands_with_its_code_and_what_was_asked(told: Cast) -> None:
    said = search(told, code="digest_mismatch")

    assert "rob was refused: The content you named is not" in said
    assert "digest_mismatch · pay_vendor" in said
    assert "Shown to nobody before" in said


@pytest.mark.parametrize(
    ("fields", "is_payment", "is_deployment"),
    [
        ({}, True, True),
        ({"tool": "deploy"}, False, True),
        ({"digest": PAYMENT_SHA256.upper()}, True, False),
        ({"person": "rob", "type": "interrupt.decided"}, False, True),
        ({"agent": "payer"}, True, True),
        ({"code": "digest_mismatch"}, True, False),
        ({"type": "interrupt.shown"}, True, False),
        ({"since": "2000-01-01T00:00"}, True, True),
        ({"until": "2000-01-01T00:00"}, False, False),
        ({"since": "2999-01-01T00:00:00+00:00"}, False, False),
    ],
)
def test_the_record_is_searched_by_what_one_knows(
    told: Cast, fields: dict[str, str], is_payment: bool, is_deployment: bool
) -> None:
    said = search(told, **fields)

    assert ("pay_vendor" in said, "deploy" in said) == (is_payment, is_deployment)


def test_the_record_is_searched_by_run(told: Cast) -> None:
    run_id = Event.objects.filter(tool="deploy").values_list("run_id", flat=True)[0]

    said = search(told, run=str(run_id))

    assert "Freeze until Monday" in said and "pay_vendor" not in said


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("person", "mallory", "Nobody here has this login name."),
        ("agent", "nobody", "No agent here has this name."),
        ("since", "yesterday", "Write a date and a time"),
        ("until", "2026-02-31T00:00", "Write a date and a time"),
        ("since", "0001-01-01T00:00+23:59", "Write a date and a time"),
        ("until", "9999-12-31T23:59-23:59", "Write a date and a time"),
        ("tool", "a\x00", "This cannot be searched for."),
        ("digest", "f" * 300, "This cannot be searched for."),
    ],
)
def test_what_cannot_be_searched_for_is_said_at_its_field(
    told: Cast, field: str, value: str, sentence: str
) -> None:
    page = browser(told.otto).get("/audit/", {field: value})

    assert page.status_code == 422
    assert sentence in words(page)
    assert browser(told.otto).get("/audit/export/", {field: value}).status_code == 422


def test_the_record_has_every_event_once_in_both_directions(cast: Cast) -> None:
    """H-39: the audit page by its keys."""
    for number in range(12):
        cast.ask(cast.run(), question(call_id=f"c{number}"))
    number_events()
    otto = browser(cast.otto)

    def numbers(html: str) -> list[int]:
        return [int(part.split("<")[0]) for part in html.split('record">')[1:]]

    found = pages(otto, "/audit/?agent=payer", "next")
    listed = [number for html in found for number in numbers(html)]

    wanted = Event.objects.filter(agent_id=cast.agent.pk).order_by("-numbered__n")
    assert listed == list(wanted.values_list("numbered__n", flat=True))
    oldest = numbers(found[-1])[0]
    event_id = Event.objects.get(numbered__n=oldest, tenant_id=cast.tenant.pk).pk
    back = pages(otto, f"/audit/?agent=payer&after={event_id}", "prev")
    assert sorted({n for html in back for n in numbers(html)}) == sorted(
        number for number in listed if number > oldest
    )


def test_secrets_are_masked_on_the_page_and_in_the_export(cast: Cast) -> None:
    """H-36: in the record, too, at every depth, with the masked paths named."""
    args = {"config": {"password": "hunter2"}, "to": "me"}
    interrupt = cast.ask(
        cast.run(), question(args=args, sensitive=("/config/password",), args_schema={})
    )
    rae = browser(cast.rae)
    rae.post(f"/interrupts/{interrupt.pk}/reveal/")
    cast.decide(
        interrupt,
        cast.rae,
        decision=DecisionKind.EDIT,
        args={"config": {"password": "swordfish"}, "to": "you"},
    )
    number_events()

    lines = exported(cast)
    page = browser(cast.otto).get("/audit/")

    asked = next(line for line in lines if line.get("type") == "interrupt.asked")
    decided = next(line for line in lines if line.get("type") == "interrupt.decided")
    assert asked["content"]["args"] == {"config": {"password": "masked"}, "to": "me"}
    assert asked["content"]["masked"] == ["/config/password"]
    assert decided["content"]["args"] == {"config": {"password": "masked"}, "to": "you"}
    assert asked["digest"] == interrupt.asked_sha256
    everywhere = json.dumps(lines) + page.content.decode() + look(rae, interrupt).content.decode()
    assert "hunter2" not in everywhere and "swordfish" not in everywhere
    assert "rae saw it with the masked values" in words(page)


def test_the_whole_export_ends_with_the_head_that_the_verifier_reads(told: Cast) -> None:
    lines = exported(told)

    head = read_head(io.StringIO(json.dumps(lines[-1])))
    assert verify(told.tenant.pk, exported=head).is_intact
    assert head.n == len(lines) - 1 == Event.objects.filter(tenant_id=told.tenant.pk).count()
    assert [line["n"] for line in lines[:-1]] == list(range(1, len(lines)))
    first = Event.objects.get(hash=lines[0]["hash"])
    assert event_hash(first.members()) == first.hash


def test_a_filtered_export_has_what_was_found_and_no_head(told: Cast) -> None:
    lines = exported(told, tool="deploy")

    assert [line["type"] for line in lines] == ["interrupt.asked", "interrupt.decided"]
    assert lines[0]["content"]["args"] == {"env": "prod"}
    assert lines[1]["content"]["reason"] == "Freeze until Monday"


def test_the_page_tells_the_last_verification_and_what_is_not_numbered(cast: Cast) -> None:
    otto = browser(cast.otto)
    assert "This record has not been verified yet." in words(otto.get("/audit/"))

    number_events()
    verify(cast.tenant.pk)
    cast.ask(cast.run())

    said = words(otto.get("/audit/"))
    assert "nothing was altered." in said
    assert "3 events not yet numbered, the oldest since " in said
    assert "Sealed" not in said

    number_events()
    seal_events()
    said = words(otto.get("/audit/"))
    seal = last_seal(cast.tenant.pk)
    assert seal is not None
    assert "All events are numbered." in said
    assert f"Sealed up to number {seal.last_n}, " in said
    assert seal.hash in said


def test_events_that_wait_too_long_for_their_number_show_that_no_worker_runs(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "No worker seems to run: ask the operator."
    number_events()
    cast.ask(cast.run())
    assert said not in words(browser(cast.otto).get("/audit/"))

    monkeypatch.setattr(lag, "LATE", timedelta(0))
    assert said in words(browser(cast.otto).get("/audit/"))


def test_an_altered_record_is_told_with_its_first_bad_place(cast: Cast) -> None:
    """H-26: on the page as by the command."""
    from audit.models import Verification

    Verification.objects.create(
        tenant_id=cast.tenant.pk,
        at=cast.tenant.created_at,
        ok=False,
        events=7,
        first_bad={"flaw": "hash", "run_id": "run_x", "run_seq": 3, "n": None},
    )

    said = words(browser(cast.ada).get("/audit/"))

    assert "the record was altered. First bad place: flaw hash run_id run_x run_seq 3" in said


def test_an_auditor_reads_every_run_and_changes_nothing(told: Cast) -> None:
    otto = browser(told.otto)
    run_id = Event.objects.filter(tool="deploy").values_list("run_id", flat=True)[0]

    page = otto.get(f"/runs/{run_id}/")

    assert "Freeze until Monday" in words(page) and "Cancel the run" not in words(page)
    assert codes(otto.post(f"/runs/{run_id}/cancel/")) == ["not_permitted"]


def test_a_repeated_refusal_says_how_often(cast: Cast) -> None:
    run = cast.run()
    for _ in range(3):
        browser(cast.rae)
        cast.decide(cast.ask(run), cast.bob)
    otto = browser(cast.otto)
    number_events()

    assert words(otto.get("/audit/", {"code": "not_permitted"})).count("bob was refused") == 1
    assert User.objects.get(username="bob").is_active


def test_times_are_searched_for_in_the_zone_in_which_they_are_shown(told: Cast) -> None:
    first = Event.objects.filter(tenant_id=told.tenant.pk).earliest("id").at
    last = Event.objects.filter(tenant_id=told.tenant.pk).latest("id").at
    told.otto.read_in(language="", time_zone="Asia/Shanghai")
    window = {
        name: at.astimezone(ZoneInfo("Asia/Shanghai")).replace(tzinfo=None).isoformat()
        for name, at in (("since", first), ("until", last + timedelta(seconds=1)))
    }

    page = browser(told.otto).get("/audit/", window)

    assert "From (Asia/Shanghai)" in words(page)
    assert "Nothing was found." not in words(page)
    told.otto.read_in(language="", time_zone="")
    assert "Nothing was found." in words(browser(told.otto).get("/audit/", window))
