"""People at a browser: with and without JavaScript, in two windows, with a bad connection."""

import json
import sys
import threading
import time
import urllib.request

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from approvals.models import Decision, Interrupt
from approvals.web import question as question_views
from placet.protocol.states import DecisionKind
from tests.cast import PAYMENT, Cast, question
from tests.e2e.conftest import SignIn
from tests.owner import fall_due

pytestmark = pytest.mark.django_db(transaction=True)

TYPES = {"cents": 4900, "dry_run": False, "ids": [1, 2], "note": None, "zip": "01234"}


def open_question(page: Page, interrupt: Interrupt) -> None:
    """Go to a question's page and leave a mark that a reload would wipe out."""
    page.goto(f"/interrupts/{interrupt.pk}/")
    page.evaluate("window.isSamePage = true")


def edit_as_json(page: Page) -> Locator:
    """Open the edit box."""
    page.get_by_text("Change the arguments").click()
    switch = page.get_by_role("radio", name="JSON")
    if switch.is_visible():
        switch.check(force=True)
    return page.get_by_label("Arguments as JSON")


def is_same_page(page: Page) -> bool:
    """Whether the page was not loaded anew since the mark."""
    return bool(page.evaluate("window.isSamePage === true"))


def panel(page: Page, code: str) -> None:
    """Wait for the panel of a refusal."""
    expect(page.locator(f'main [data-code="{code}"]')).to_be_visible()


def test_a_question_is_found_read_and_approved_without_a_reload(
    cast: Cast, sign_in: SignIn
) -> None:
    interrupt = cast.ask(cast.run())
    page = sign_in(cast.rae, by_form=True)
    page.evaluate("window.isSamePage = true")

    page.get_by_role("link", name="pay_vendor").click()
    expect(page.get_by_role("heading", name="pay_vendor")).to_be_visible()
    page.get_by_role("button", name="Approve").click()

    expect(page.get_by_text("rae approved this")).to_be_visible()
    expect(page.get_by_role("button", name="Approve")).to_have_count(0)
    assert is_same_page(page)
    assert Decision.objects.get(interrupt=interrupt).by_name == "rae"


def test_everything_works_without_javascript(cast: Cast, sign_in: SignIn) -> None:
    run = cast.run()
    edited = cast.ask(run, question(args=TYPES, args_schema={"type": "object"}))
    stale = cast.ask(run, question(call_id="second"))
    plain = cast.ask(run, question(call_id="third", args={"n": 3}))
    page = sign_in(cast.rae, by_form=True, java_script_enabled=False)

    page.get_by_role("link", name="pay_vendor").first.click()
    box = edit_as_json(page)
    box.fill(box.input_value().replace("4900", "5000"))
    page.get_by_role("button", name="Show what changes").click()
    expect(page.locator("#changes")).to_contain_text("/args/cents")
    page.get_by_role("button", name="Edit", exact=True).click()
    expect(page.get_by_text("rae approved this with other arguments")).to_be_visible()
    assert Decision.objects.get(interrupt=edited).args == TYPES | {"cents": 5000}

    page.goto(f"/interrupts/{plain.pk}/")
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_text("rae approved this")).to_be_visible()
    assert Decision.objects.get(interrupt=plain).kind == "approve"

    page.goto(f"/interrupts/{stale.pk}/")
    new = cast.ask(run, question(call_id="second", args=PAYMENT | {"amount_paise": 1}))
    page.get_by_role("button", name="Approve").click()
    panel(page, "superseded")
    expect(page.locator("main .panel")).to_contain_text("40000000")
    page.get_by_role("link", name="Open the new question").first.click()
    expect(page.locator("[name=asked_sha256]")).to_have_value(new.asked_sha256)
    page.get_by_label("Reason").fill("Not so little")
    page.get_by_role("button", name="Reject").click()
    expect(page.get_by_text("rae rejected this")).to_be_visible()
    assert Decision.objects.get(interrupt=new).reason == "Not so little"


def test_an_edit_shows_its_difference_while_one_types(cast: Cast, sign_in: SignIn) -> None:
    """H-33: only cents changes, and the difference is seen before anything is sent."""
    interrupt = cast.ask(cast.run(), question(args=TYPES, args_schema={"type": "object"}))
    page = sign_in(cast.rae)
    open_question(page, interrupt)

    box = edit_as_json(page)
    box.fill(box.input_value().replace("4900", "5000"))
    changed = page.locator("#changes")
    expect(changed).to_contain_text("/args/cents")
    expect(changed.locator("ins")).to_have_text("5000")
    box.fill(box.input_value().replace("null", '"a", "note": 1'))
    expect(changed).to_contain_text("appears more than once")
    box.fill(json.dumps(TYPES | {"cents": 5000}))
    expect(changed.locator("ins")).to_have_text("5000")
    page.get_by_role("button", name="Edit", exact=True).click()

    expect(page.get_by_text("rae approved this with other arguments")).to_be_visible()
    assert is_same_page(page)
    decision = Decision.objects.get(interrupt=interrupt)
    assert decision.args == TYPES | {"cents": 5000}


def test_of_two_windows_the_second_is_told_in_place(cast: Cast, sign_in: SignIn) -> None:
    """H-37: what happened, who and when; the buttons are gone; the panel has the focus."""
    interrupt = cast.ask(cast.run())
    first, second = sign_in(cast.rae), sign_in(cast.rob)
    open_question(first, interrupt)
    open_question(second, interrupt)

    first.get_by_role("button", name="Approve").click()
    expect(first.get_by_text("rae approved this")).to_be_visible()
    second.get_by_label("Reason").fill("No")
    second.get_by_role("button", name="Reject").click()

    panel(second, "already_decided")
    told = second.locator("main .panel")
    expect(told).to_contain_text("rae approved this")
    expect(told).to_be_focused()
    expect(second.locator("button[name=decision]")).to_have_count(0)
    assert is_same_page(second)
    assert Decision.objects.count() == 1


def test_refusals_keep_what_was_typed(cast: Cast, sign_in: SignIn) -> None:
    """H-37: a 422 is shown in place, and nothing has to be typed again."""
    interrupt = cast.ask(cast.run(), question(args_schema={"type": "object"}))
    page = sign_in(cast.rae)
    open_question(page, interrupt)

    page.get_by_label("Reason").fill("so that it is right")
    edit_as_json(page).fill("[1]")
    expect(page.locator("#changes")).to_contain_text("have to be an object")
    page.get_by_role("button", name="Edit", exact=True).click()

    panel(page, "invalid_edit")
    expect(page.get_by_label("Reason")).to_have_value("so that it is right")
    expect(page.get_by_label("Arguments as JSON")).to_have_value("[1]")
    assert is_same_page(page)


def test_a_forgotten_form_and_a_lost_right_are_told_in_place(cast: Cast, sign_in: SignIn) -> None:
    """H-37: 403 and 404 leave the page as it is and say why."""
    interrupt = cast.ask(cast.run())
    page = sign_in(cast.rae)
    open_question(page, interrupt)
    page.evaluate("document.querySelector('#answer [name=csrfmiddlewaretoken]').value = 'x'")

    page.get_by_role("button", name="Approve").click()

    expect(page.locator("#notice")).to_contain_text("This form can no longer be sent")
    expect(page.get_by_role("button", name="Approve")).to_be_enabled()
    open_question(page, interrupt)
    elsewhere = page.url.replace(interrupt.pk, "int_" + "0" * 26) + "decide/"
    page.route("**/decide/", lambda route: route.continue_(url=elsewhere))
    page.get_by_role("button", name="Approve").click()
    expect(page.locator("#notice")).to_contain_text("There is nothing here that you can see")
    assert is_same_page(page)


def test_an_ended_session_is_told_in_place(cast: Cast, sign_in: SignIn) -> None:
    """H-37: with the way to sign in; no login page goes into a part, nothing typed is lost."""
    interrupt = cast.ask(cast.run())
    page = sign_in(cast.rae)
    open_question(page, interrupt)
    cookies = [cookie for cookie in page.context.cookies() if cookie["name"] == "csrftoken"]
    page.context.clear_cookies()
    page.context.add_cookies(cookies)  # type: ignore[arg-type]

    page.get_by_label("Reason").fill("as agreed")
    page.get_by_role("button", name="Approve").click()

    told = page.locator("#notice")
    expect(told).to_contain_text("You are no longer signed in")
    expect(told.get_by_role("link", name="Sign in")).to_have_attribute(
        "href", f"/login/?next=%2Finterrupts%2F{interrupt.pk}%2F"
    )
    expect(page.get_by_label("Login name")).to_have_count(0)
    expect(page.get_by_label("Reason")).to_have_value("as agreed")
    assert is_same_page(page)
    assert not Decision.objects.exists()


def test_a_reload_sends_nothing_old(cast: Cast, sign_in: SignIn) -> None:
    """H-25: hidden fields and the edit box are those of the page shown."""
    run = cast.run()
    old = cast.ask(run, question(args_schema={"type": "object"}))
    page = sign_in(cast.rae)
    open_question(page, old)
    edit_as_json(page).fill('{"old": "text"}')
    new = cast.ask(
        run, question(args=PAYMENT | {"amount_paise": 1}, args_schema={"type": "object"})
    )

    page.reload()
    expect(page.locator("button[name=decision]")).to_have_count(0)
    page.get_by_role("link", name="Open the new question").click()

    expect(page.locator("[name=asked_sha256]")).to_have_value(new.asked_sha256)
    box = edit_as_json(page)
    assert json.loads(box.input_value()) == PAYMENT | {"amount_paise": 1}
    page.reload()
    expect(page.locator("[name=asked_sha256]")).to_have_value(new.asked_sha256)
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_text("rae approved this")).to_be_visible()
    assert Decision.objects.get().approved_sha256 == new.asked_sha256


def test_buttons_are_off_while_under_way_and_back_after_a_failure(
    cast: Cast, sign_in: SignIn
) -> None:
    """H-38: 503, and the text says that the outcome is not known; the repeat decides once."""
    interrupt = cast.ask(cast.run())
    page = sign_in(cast.rae)
    open_question(page, interrupt)
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/decide/", hold)
    page.get_by_label("Reason").fill("kept")

    approve, reject = (page.get_by_role("button", name=name) for name in ("Approve", "Reject"))
    approve.click()
    expect(approve).to_be_disabled()
    expect(reject).to_be_disabled()
    held[0].fulfill(status=503, body="<html><body>Bad gateway</body></html>")

    expect(page.locator("#notice")).to_contain_text("Something went wrong on the server")
    expect(page.locator("#notice")).to_contain_text("Nothing was recorded. Answer again")
    expect(approve).to_be_enabled()
    expect(page.get_by_label("Reason")).to_have_value("kept")
    assert "Bad gateway" not in page.content()
    assert len(held) == 1
    page.unroute("**/decide/")
    approve.click()
    expect(page.get_by_text("rae approved this")).to_be_visible()
    expect(page.locator("#notice")).to_be_empty()
    assert Decision.objects.count() == 1


def test_a_fault_of_the_server_is_told_in_place(
    cast: Cast, sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H-37: a 500 says that nothing was recorded once that has been looked up; all typed stays."""
    interrupt = cast.ask(cast.run())
    page = sign_in(cast.rae)
    open_question(page, interrupt)

    def fail(*_given: object, **_members: object) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(question_views, "decide", fail)
    page.get_by_label("Reason").fill("kept")
    page.get_by_role("button", name="Approve").click()

    expect(page.locator("#notice")).to_contain_text("Something went wrong on the server")
    expect(page.locator("#notice")).to_contain_text("Nothing was recorded. Answer again")
    expect(page.get_by_label("Reason")).to_have_value("kept")
    expect(page.get_by_role("button", name="Approve")).to_be_enabled()
    assert "RuntimeError" not in page.content()
    assert is_same_page(page)
    assert not Decision.objects.exists()


def test_a_connection_lost_after_the_commit_shows_the_recorded_answer(
    cast: Cast, sign_in: SignIn
) -> None:
    """H-38: the page reads again how things stand."""
    interrupt = cast.ask(cast.run())
    page = sign_in(cast.rae)
    open_question(page, interrupt)

    def lose(route: Route) -> None:
        route.fetch(max_redirects=0)
        route.abort("connectionreset")

    page.route("**/decide/", lose)
    page.get_by_role("button", name="Approve").click()

    expect(page.locator("#notice")).to_contain_text("The connection was lost")
    expect(page.locator("#notice")).to_contain_text("Your approval was recorded at")
    expect(page.get_by_text("rae approved this")).to_be_visible()
    expect(page.locator("button[name=decision]")).to_have_count(0)
    assert is_same_page(page)
    assert Decision.objects.count() == 1


def test_an_open_page_says_by_itself_that_time_is_over(cast: Cast, sign_in: SignIn) -> None:
    """H-35: the form goes when the deadline has passed."""
    interrupt = cast.ask(cast.run())
    page = sign_in(cast.rae)
    fall_due(interrupt.pk, in_s=2.5)
    open_question(page, interrupt)
    expect(page.get_by_role("button", name="Approve")).to_be_visible()

    expect(page.locator("main")).to_contain_text("Time is over")

    expect(page.get_by_role("button", name="Approve")).to_have_count(0)
    assert is_same_page(page)


def test_masked_values_are_revealed_in_place(cast: Cast, sign_in: SignIn) -> None:
    """H-36: by a press, without a reload; then one can answer."""
    interrupt = cast.ask(cast.run(), question(args={"k": "hunter2"}, sensitive=("/k",)))
    page = sign_in(cast.rae)
    open_question(page, interrupt)
    assert "hunter2" not in page.content()

    page.get_by_role("button", name="Reveal the masked values").click()
    expect(page.locator(".value", has_text="hunter2")).to_be_visible()
    page.get_by_role("button", name="Approve").click()

    expect(page.get_by_text("rae approved this")).to_be_visible()
    assert "hunter2" not in page.content()


def test_a_copy_of_what_is_spelled_out_is_exact(cast: Cast, sign_in: SignIn) -> None:
    """H-32: the copied text is the text, not its labels."""
    value = "/tmp/\u202egpj.exe" + " " * 9 + "\u200bend"
    interrupt = cast.ask(cast.run(), question(args={"path": value}))
    page = sign_in(cast.rae, permissions=["clipboard-read", "clipboard-write"])
    open_question(page, interrupt)

    for selector, text in ((".value.text", value), ("[data-exact]", interrupt.asked)):
        page.evaluate(
            """selector => {
                const place = document.querySelector(selector);
                place.closest("details")?.setAttribute("open", "");
                getSelection().selectAllChildren(place);
            }""",
            selector,
        )
        page.keyboard.press("Control+c")
        assert page.evaluate("navigator.clipboard.readText()") == text


def test_a_waiting_agent_learns_of_the_click_at_once(
    cast: Cast, sign_in: SignIn, live: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The long poll returns within a blink of the person's answer."""
    interrupt = cast.ask(cast.run())
    page = sign_in(cast.rae)
    open_question(page, interrupt)
    told: list[tuple[float, str]] = []

    def wait() -> None:
        request = urllib.request.Request(
            f"{live}/api/v1/interrupts/{interrupt.pk}?wait_s=30",
            headers={"Authorization": f"Bearer {cast.key}"},
        )
        with urllib.request.urlopen(request, timeout=40) as reply:
            state = json.load(reply)["state"]
        told.append((time.monotonic(), state))

    waiting = threading.Thread(target=wait)
    waiting.start()
    waiting.join(0.5)
    assert waiting.is_alive()
    clicked = time.monotonic()
    page.get_by_role("button", name="Approve").click()
    waiting.join(10)

    ((at, state),) = told
    with capsys.disabled():
        sys.stdout.write(f"\nfrom click to long poll: {(at - clicked) * 1000:.0f} ms\n")
    assert state == "DECIDED"
    assert at - clicked < 1.0


def test_a_run_is_cancelled_in_place(cast: Cast, sign_in: SignIn) -> None:
    interrupt = cast.ask(cast.run())
    page = sign_in(cast.alice)
    page.goto(f"/runs/{interrupt.run_id}/")
    page.evaluate("window.isSamePage = true")

    page.get_by_label("Reason").fill("Not needed")
    page.get_by_role("button", name="Cancel the run").click()

    expect(page.locator("main .state").first).to_have_text("Cancelled")
    assert is_same_page(page)
    interrupt.refresh_from_db()
    assert interrupt.state == "CANCELLED"


def test_pages_of_the_inbox_and_back_without_a_reload(cast: Cast, sign_in: SignIn) -> None:
    for number in range(25):
        cast.ask(cast.run(), question(call_id=f"c{number}", args={"n": number}))
    page = sign_in(cast.rae)
    page.evaluate("window.isSamePage = true")

    page.get_by_role("link", name="Less urgent").click()
    expect(page.locator(".row")).to_have_count(5)
    page.go_back()
    expect(page.locator(".row")).to_have_count(20)
    page.get_by_role("link", name="Runs").click()
    expect(page.get_by_role("heading", name="Runs")).to_be_visible()
    expect(page.get_by_role("link", name="Runs", exact=True)).to_have_attribute(
        "aria-current", "page"
    )
    assert is_same_page(page)
    assert Decision.objects.filter(kind=DecisionKind.APPROVE.value).count() == 0
