"""Who reaches which page: foreign and missing are one answer, and looking changes nothing."""

import pytest
from django.test import Client

from approvals.models import Decision, Interrupt, PolicyVersion
from audit.models import Event
from identity.management.reporting import OPERATOR
from identity.models import User
from runs.models import Run
from tests.cast import Cast, question
from tests.owner import fall_due
from tests.web.browser import answer, browser, codes, hidden, look, words

pytestmark = pytest.mark.django_db

NOWHERE = "int_00000000000000000000000000"
POSTS = ("decide/", "reveal/", "preview/")
NO_RUN = "run_00000000000000000000000000"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("get", ""),
        ("head", ""),
        *((method, path) for method in ("get", "post") for path in POSTS),
    ],
)
def test_a_foreign_question_is_like_a_missing_one(cast: Cast, method: str, path: str) -> None:
    """H-03, H-34: one status, one body, one set of headers; nothing changes over there."""
    foreign = cast.ask(cast.other_run())
    before = Event.objects.filter(tenant_id=cast.other_tenant.pk).count()
    rae = browser(cast.rae)

    pages = [
        getattr(rae, method)(f"/interrupts/{pk}/{path}")
        for pk in (foreign.pk, NOWHERE, "malformed")
    ]

    if method != "post" and path:
        assert [page.status_code for page in pages] == [303] * 3
    else:
        assert [page.status_code for page in pages] == [404] * 3
        assert len({page.content for page in pages}) == 1
        assert len({str(sorted(page.headers.items())) for page in pages}) == 1
    assert Event.objects.filter(tenant_id=cast.other_tenant.pk).count() == before
    assert not Decision.objects.exists()


def test_a_foreign_form_decides_nothing(cast: Cast) -> None:
    """H-03: a reviewer of another tenant posts with everything but the right to be there."""
    interrupt = cast.ask(cast.run())
    form = hidden(look(browser(cast.rae), interrupt))
    mallory = browser(cast.mallory)

    page = mallory.post(f"/interrupts/{interrupt.pk}/decide/", form | {"decision": "approve"})
    missing = mallory.post(f"/interrupts/{NOWHERE}/decide/", form | {"decision": "approve"})

    assert (page.status_code, page.content) == (404, missing.content)
    assert codes(page) == ["not_found"]
    assert interrupt.pk not in mallory.get("/").content.decode()
    interrupt.refresh_from_db()
    assert interrupt.state == "PENDING"
    told = Event.objects.filter(type="command.refused", tenant_id=cast.other_tenant.pk)
    assert [event.code for event in told] == ["not_found", "not_found"]


@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize("path", ["", "cancel/"])
def test_a_foreign_run_is_like_a_missing_one(cast: Cast, method: str, path: str) -> None:
    """H-34: the same for runs."""
    foreign = cast.other_run()
    rae = browser(cast.rae)

    pages = [getattr(rae, method)(f"/runs/{pk}/{path}") for pk in (foreign.pk, NO_RUN, "x")]

    assert len({page.status_code for page in pages}) == 1
    if (method, path) != ("get", "cancel/"):
        assert len({(page.status_code, page.content) for page in pages}) == 1
    foreign.refresh_from_db()
    assert foreign.state == "READY"


def test_lists_leave_other_tenants_out(cast: Cast) -> None:
    """H-03: neither rows nor counts nor the record of another tenant."""
    foreign = cast.ask(cast.other_run())
    assert "Nothing waits for you." in words(browser(cast.rae).get("/"))
    assert "There are no runs that you can see." in words(browser(cast.ada).get("/runs/"))
    assert "Secret plan" not in words(browser(cast.otto).get("/audit/"))
    exported = b"".join(browser(cast.otto).get("/audit/export/").streaming_content)  # type: ignore[attr-defined]
    assert foreign.pk.encode() not in exported and foreign.run_id.encode() not in exported


def test_bob_of_the_same_tenant_sees_nothing_of_alices_run(cast: Cast) -> None:
    interrupt = cast.ask(cast.run())
    bob = browser(cast.bob)

    assert look(bob, interrupt).status_code == 404
    assert bob.get(f"/runs/{interrupt.run_id}/").status_code == 404
    assert "Nothing waits for you." in words(bob.get("/"))
    assert "There are no runs that you can see." in words(bob.get("/runs/"))


def test_who_only_answers_sees_the_header_and_their_questions(cast: Cast) -> None:
    """Contract §11: whoever may answer sees only those interrupts, with their events."""
    rules = [
        {"id": "ops", "tools": ["deploy"], "approvals": [{"from": {"users": ["ada"]}}]},
        {"id": "rest", "approvals": [{"from": {"users": ["rae"]}}]},
    ]
    PolicyVersion.set(cast.tenant, rules, by=OPERATOR)
    run = cast.run(context={"secret": "of the run"})
    mine = cast.ask(run)
    cast.ask(run, question(call_id="other", tool="deploy", args={"env": "production"}))

    said = words(browser(cast.rae).get(f"/runs/{run.pk}/"))
    whole = words(browser(cast.alice).get(f"/runs/{run.pk}/"))

    assert "Pay the vendor" in said and "pay_vendor" in said
    for hidden_part in ("deploy", "production", "of the run", "began the run", "Cancel the run"):
        assert hidden_part not in said
        assert hidden_part in whole
    answer(browser(cast.rae), mine, decision="approve")
    after = words(browser(cast.rae).get(f"/runs/{run.pk}/"))
    assert "rae approved it" in after and "deploy" not in after


@pytest.mark.parametrize("name", ["alice", "rae", "bob"])
@pytest.mark.parametrize("path", ["/audit/", "/audit/export/"])
def test_the_record_is_for_admins_and_auditors(cast: Cast, name: str, path: str) -> None:
    page = browser(User.objects.get(username=name)).get(path)

    assert (page.status_code, codes(page)) == (403, ["not_permitted"])


@pytest.mark.parametrize(
    "path",
    ["/", "/runs/", "/audit/", "/audit/export/", f"/interrupts/{NOWHERE}/", f"/runs/{NO_RUN}/"],
)
def test_a_stranger_is_led_to_the_sign_in_page(db: None, path: str) -> None:
    page = Client().get(path)

    assert (page.status_code, page.headers["Location"]) == (302, f"/login/?next={path}")


def test_no_get_head_or_options_changes_anything(cast: Cast) -> None:
    """H-24: but the record that a question was shown."""
    run = cast.run()
    interrupt = cast.ask(run)
    paths = [
        "/",
        "/runs/",
        f"/runs/{run.pk}/",
        f"/runs/{run.pk}/cancel/",
        f"/interrupts/{interrupt.pk}/",
        f"/interrupts/{interrupt.pk}/decide/",
        f"/interrupts/{interrupt.pk}/reveal/",
        f"/interrupts/{interrupt.pk}/preview/",
        "/audit/",
        "/audit/export/",
        "/logout/",
    ]
    before = Interrupt.objects.values().get(), Run.objects.values().get()

    for user in (cast.rae, cast.ada, cast.mallory):
        client = browser(user)
        for path in paths:
            for method in (client.head, client.options):
                method(path)
    assert (Interrupt.objects.values().get(), Run.objects.values().get()) == before
    for user in (cast.rae, cast.ada, cast.mallory):
        for path in paths:
            browser(user).get(path)

    unlike = {"event_seq", "chain_hash", "updated_at"}
    after = Run.objects.values().get()
    assert Interrupt.objects.values().get() == before[0]
    assert {name for name in after if after[name] != before[1][name]} <= unlike
    assert list(Event.objects.filter(run_id=run.pk).order_by("-id").values_list("type")[:1]) == [
        ("interrupt.shown",)
    ]


@pytest.mark.django_db(transaction=True)
def test_looking_at_a_question_does_not_end_what_is_due_beside_it(cast: Cast) -> None:
    run = cast.run()
    shown, late = cast.ask(run), cast.ask(run, question(call_id="call-2"))
    fall_due(late.pk)

    browser(cast.rae).get(f"/interrupts/{shown.pk}/")

    late.refresh_from_db()
    assert late.state == "PENDING"
    last = Event.objects.filter(run_id=run.pk).order_by("-id").values_list("type", "interrupt_id")
    assert last[0] == ("interrupt.shown", shown.pk)


@pytest.mark.parametrize(("name", "status"), [("alice", 303), ("ada", 303), ("rae", 403)])
def test_the_owner_or_an_admin_cancels_a_run(cast: Cast, name: str, status: int) -> None:
    interrupt = cast.ask(cast.run())
    client = browser(User.objects.get(username=name))

    page = client.post(f"/runs/{interrupt.run_id}/cancel/", {"reason": "No longer needed"})

    assert page.status_code == status
    interrupt.refresh_from_db()
    assert interrupt.state == ("CANCELLED" if status == 303 else "PENDING")
    if status == 403:
        assert codes(page) == ["not_permitted"]
    else:
        said = words(client.get(f"/runs/{interrupt.run_id}/"))
        assert "Cancelled" in said and "No longer needed" in said
        assert "Cancel the run" not in said


def test_an_auditor_cancels_nothing(cast: Cast) -> None:
    run = cast.run(owner=cast.otto)

    page = browser(cast.otto).post(f"/runs/{run.pk}/cancel/")

    assert (page.status_code, codes(page)) == (403, ["not_permitted"])


def test_a_finished_run_is_not_cancelled_and_says_so(cast: Cast) -> None:
    run = cast.run()
    run.finish("succeeded", agent=cast.agent)  # type: ignore[arg-type]

    page = browser(cast.alice).post(f"/runs/{run.pk}/cancel/", {"reason": "late"})

    assert (page.status_code, codes(page)) == (409, ["run_closed"])


def test_a_reason_too_long_or_unreadable_cancels_nothing(cast: Cast) -> None:
    run = cast.run()
    alice = browser(cast.alice)

    long = alice.post(f"/runs/{run.pk}/cancel/", {"reason": "x" * 8193})
    bad = alice.post(f"/runs/{run.pk}/cancel/", {"reason": "a\x00"})

    assert (long.status_code, codes(long)) == (413, ["too_large"])
    assert (bad.status_code, codes(bad)) == (422, ["invalid_request"])
    run.refresh_from_db()
    assert run.state == "READY"


def test_every_page_is_kept_by_nobody_and_loads_nothing_from_elsewhere(cast: Cast) -> None:
    interrupt = cast.ask(cast.run())
    ada = browser(cast.ada)

    for path in ("/", "/runs/", f"/runs/{interrupt.run_id}/", "/audit/", "/x/"):
        page = ada.get(path)
        assert page.headers["Cache-Control"] == "no-store"
        assert "default-src 'none'" in page.headers["Content-Security-Policy"]
        html = page.content.decode()
        assert " style=" not in html and "<style" not in html
        assert html.count("<script") == html.count("<script src=")
        assert "hx-on" not in html
