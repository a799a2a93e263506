"""The page of one question at a browser: what opens approving, what never hides, what is told."""

import threading

import pytest
from playwright.sync_api import Page, Route, expect

from approvals.models import Decision, Interrupt
from audit.models import Event
from placet.protocol.states import DecisionKind
from tests.cast import PASSWORD, PAYMENT, Cast, question
from tests.e2e.conftest import SignIn

pytestmark = pytest.mark.django_db(transaction=True)

PHONE = {"width": 390, "height": 844}
LONG = {f"member_{number:03}": f"value {number}" for number in range(120)}
TALL = {"script": "\n".join(f"line {number}" for number in range(200)), "zz": "the end"}

OVERLAPS = """() => {
    const bar = document.querySelector("[data-bar]").getBoundingClientRect();
    return [...document.querySelectorAll("[data-whole] .line")].filter((line) => {
        const box = line.getBoundingClientRect();
        return box.bottom > bar.top && box.top < bar.bottom && box.height > 0;
    }).length;
}"""


def go(page: Page, interrupt: Interrupt) -> None:
    """Open a question and leave a mark that a reload would wipe out."""
    page.goto(f"/interrupts/{interrupt.pk}/")
    page.evaluate("window.isSamePage = true")


def is_same_page(page: Page) -> bool:
    """Whether the page was not loaded anew since the mark."""
    return bool(page.evaluate("window.isSamePage === true"))


def is_shut(page: Page, name: str) -> bool:
    """Whether a button is told to be not yet possible."""
    return (
        page.get_by_role("button", name=name, exact=True).get_attribute("aria-disabled") == "true"
    )


def read_to_the_end(page: Page) -> None:
    """Turn the wheel until the bar has come."""
    page.mouse.move(100, 300)
    for _ in range(100):
        if page.locator("[data-gate].done").count():
            return
        page.mouse.wheel(0, 300)
        page.evaluate("new Promise((done) => setTimeout(done, 160))")
    pytest.fail("the end was never reached")


def stays_empty(page: Page) -> bool:
    """Whether the browser keeps nothing for later."""
    return bool(page.evaluate("localStorage.length + sessionStorage.length === 0"))


@pytest.mark.parametrize("args", [LONG, TALL], ids=["many", "tall"])
def test_approving_opens_when_all_of_the_arguments_were_on_screen(
    cast: Cast, sign_in: SignIn, args: dict[str, str]
) -> None:
    """A jump to the end opens nothing; rejecting is never shut."""
    interrupt = cast.ask(cast.run(), question(args=args, args_schema={"type": "object"}))
    page = sign_in(cast.rae, viewport=PHONE)
    go(page, interrupt)

    page.evaluate("window.scrollTo(0, document.documentElement.scrollHeight)")
    gate = page.locator("[data-gate]")
    expect(gate).to_contain_text("Scroll to the end of the arguments to approve.")
    page.evaluate("new Promise((done) => setTimeout(done, 500))")
    assert is_shut(page, "Approve")
    assert not is_shut(page, "Reject")
    page.get_by_text("Change the arguments").click()
    page.locator("#fields .box").first.fill("another")
    expect(page.get_by_role("button", name="Edit", exact=True)).to_be_visible()
    assert is_shut(page, "Edit")
    for name in ("Approve", "Edit"):
        page.get_by_role("button", name=name, exact=True).evaluate("(button) => button.click()")
    assert not Event.objects.filter(type="command.refused").exists()
    page.evaluate("window.scrollTo(0, 0)")
    read_to_the_end(page)

    assert is_shut(page, "Approve") and not is_shut(page, "Edit")
    page.get_by_role("button", name="Undo your changes").click()
    assert not is_shut(page, "Approve")
    expect(gate).to_contain_text("All of it has been on screen.")
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_text("rae approved this")).to_be_visible()
    assert Decision.objects.get().kind == "approve"


def test_short_arguments_can_be_approved_at_once(cast: Cast, sign_in: SignIn) -> None:
    interrupt = cast.ask(cast.run())
    page = sign_in(cast.rae, viewport=PHONE)
    go(page, interrupt)

    expect(page.locator("[data-gate]")).to_be_hidden()
    assert not is_shut(page, "Approve")
    expect(page.get_by_role("button", name="Approve")).to_be_in_viewport(ratio=1)


def test_a_button_leads_through_what_is_left_by_keyboard_alone(cast: Cast, sign_in: SignIn) -> None:
    interrupt = cast.ask(cast.run(), question(args=LONG))
    page = sign_in(cast.rae)
    go(page, interrupt)
    more = page.get_by_role("button", name="Show what is left")
    more.focus()

    for _ in range(40):
        if not is_shut(page, "Approve"):
            break
        more.focus()
        page.keyboard.press("Enter")
        expect(page.locator("[data-whole] .line:focus")).to_have_count(1)
        page.evaluate("new Promise((done) => setTimeout(done, 300))")

    approve = page.get_by_role("button", name="Approve")
    assert not is_shut(page, "Approve")
    approve.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("rae approved this")).to_be_visible()


def test_the_exact_text_is_one_key_away_and_counts_as_seen(cast: Cast, sign_in: SignIn) -> None:
    interrupt = cast.ask(cast.run(), question(args={f"m{n:02}": n for n in range(40)}))
    page = sign_in(cast.rae)
    go(page, interrupt)
    exact, tree = page.locator("[data-exact]"), page.locator("[data-whole] .tree")
    assert is_shut(page, "Approve")
    expect(exact).to_be_hidden()

    page.keyboard.press("t")
    expect(exact).to_have_text(interrupt.asked)
    expect(exact).to_be_visible()
    expect(tree).to_be_hidden()
    expect(page.get_by_role("button", name="Approve")).not_to_have_attribute(
        "aria-disabled", "true"
    )
    page.keyboard.press("t")
    expect(tree).to_be_visible()
    expect(exact).to_be_hidden()
    page.get_by_label("Reason").press("t")
    expect(page.get_by_label("Reason")).to_have_value("t")
    expect(tree).to_be_visible()


def test_the_exact_text_needs_no_javascript(cast: Cast, sign_in: SignIn) -> None:
    interrupt = cast.ask(cast.run(), question(args=LONG))
    page = sign_in(cast.rae, java_script_enabled=False)
    page.goto(f"/interrupts/{interrupt.pk}/")
    assert not is_shut(page, "Approve")
    expect(page.locator("[data-gate]")).to_be_hidden()

    page.get_by_text("Exact text", exact=False).first.click()

    expect(page.locator("[data-exact]")).to_be_visible()
    expect(page.locator("[data-whole] .tree")).to_be_hidden()


@pytest.mark.parametrize("size", [PHONE, {"width": 1280, "height": 800}], ids=["phone", "desk"])
def test_the_bar_covers_no_argument_wherever_one_scrolls(
    cast: Cast, sign_in: SignIn, size: dict[str, int]
) -> None:
    """H-30: by the boxes of every line, from the top to the end of the page."""
    interrupt = cast.ask(cast.run(), question(args=LONG, target={"origin": "https://a.example"}))
    page = sign_in(cast.rae, viewport=size)
    go(page, interrupt)
    height = page.evaluate("document.documentElement.scrollHeight")

    covered = []
    for top in range(0, height, 150):
        page.evaluate("(top) => window.scrollTo(0, top)", top)
        covered.append(page.evaluate(OVERLAPS))

    assert covered == [0] * len(covered)
    bar = page.locator("[data-bar]").bounding_box()
    assert bar and bar["y"] + bar["height"] <= size["height"] + 1
    page.get_by_label("Reason").focus()
    field = page.get_by_label("Reason").bounding_box()
    bar = page.locator("[data-bar]").bounding_box()
    assert field and bar and field["y"] + field["height"] <= bar["y"]


def test_what_was_seen_is_still_seen_after_a_refusal(cast: Cast, sign_in: SignIn) -> None:
    interrupt = cast.ask(cast.run(), question(args=LONG))
    page = sign_in(cast.rae)
    go(page, interrupt)
    read_to_the_end(page)

    page.locator("#answer").evaluate(
        """(form) => {
            form.querySelector("[name=reason]").value = "x";
            document.addEventListener("htmx:configRequest", (event) => {
                event.detail.parameters.reason = "";
            }, { once: true });
        }"""
    )
    page.get_by_role("button", name="Reject").click()
    expect(page.locator('[data-code="reason_required"]')).to_be_focused()

    assert not is_shut(page, "Approve")
    page.get_by_role("link", name="Write the reason").click()
    expect(page.get_by_label("Reason")).to_be_focused()
    page.get_by_label("Reason").fill("too many")
    page.get_by_role("button", name="Reject").click()
    expect(page.get_by_text("rae rejected this")).to_be_visible()
    expect(page.locator(".panel")).to_have_count(0)


def test_rejecting_without_a_reason_sends_nothing_and_asks_for_it(
    cast: Cast, sign_in: SignIn
) -> None:
    interrupt = cast.ask(cast.run(), question())
    page = sign_in(cast.rae)
    posts: list[str] = []
    page.on("request", lambda request: posts.append(request.method))
    go(page, interrupt)
    reason, bar = page.get_by_label("Reason"), page.locator("[data-bar]")

    page.get_by_role("button", name="Reject").click()
    expect(reason).to_be_focused()
    expect(page.locator("#reason-hint")).to_have_text("Say why, then press Reject again.")
    expect(reason).to_have_attribute("aria-invalid", "true")
    expect(bar).to_have_attribute("data-rejecting", "")
    page.locator("#args, summary").first.focus()
    expect(bar).not_to_have_attribute("data-rejecting", "")
    expect(page.locator("#reason-hint")).to_be_empty()
    reason.fill("  ")
    page.get_by_role("button", name="Reject").click()
    assert "POST" not in posts
    reason.fill("too much")
    expect(bar).to_have_attribute("data-rejecting", "")
    page.get_by_role("button", name="Reject").click()

    expect(page.get_by_text("rae rejected this")).to_be_visible()
    assert Decision.objects.get().reason == "too much"


def test_the_later_of_two_tabs_learns_the_difference(cast: Cast, sign_in: SignIn) -> None:
    """H-25: the panel is heard, says what differs, and has one main way on."""
    run = cast.run()
    old = cast.ask(run)
    page = sign_in(cast.rae)
    go(page, old)
    other = page.context.new_page()
    other.goto(f"/interrupts/{old.pk}/")
    new = cast.ask(run, question(args=PAYMENT | {"amount_paise": 90_000_000}))
    other.reload()
    other.get_by_role("link", name="Open the new question").click()
    other.get_by_role("button", name="Approve").click()
    expect(other.get_by_text("rae approved this")).to_be_visible()

    page.get_by_role("button", name="Approve").click()

    panel = page.get_by_role("alert", name="Your answer did not count.")
    expect(panel).to_be_focused()
    expect(panel.locator("del")).to_have_text("40000000")
    expect(panel.locator("ins")).to_have_text("90000000")
    expect(panel.locator(".onward")).to_have_count(1)
    expect(page.locator("button[name=decision]")).to_have_count(0)
    panel.get_by_role("link", name="Open the new question").click()
    expect(page.get_by_text("rae approved this")).to_be_visible()
    expect(page.locator(".panel")).to_have_count(0)
    assert Decision.objects.get().interrupt_id == new.pk


def test_a_double_click_sends_once(cast: Cast, sign_in: SignIn) -> None:
    interrupt = cast.ask(cast.run())
    page = sign_in(cast.rae)
    go(page, interrupt)
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.method))
    sent.clear()

    page.get_by_role("button", name="Approve").dblclick()
    expect(page.get_by_text("rae approved this")).to_be_visible()

    assert sent.count("POST") == 1
    assert not Event.objects.filter(type="command.refused").exists()


def test_an_answer_leads_to_the_next_question(cast: Cast, sign_in: SignIn) -> None:
    first = cast.ask(cast.run(), question(expires_in_s=600))
    second = cast.ask(cast.run(), question(tool="send_mail", expires_in_s=900))
    page = sign_in(cast.rae)
    go(page, first)

    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("region", name="Your approval is recorded")).to_be_focused()
    expect(page.get_by_text("1 question waits for you.")).to_be_visible()
    page.get_by_role("link", name="Next question").click()

    expect(page.get_by_role("heading", name="send_mail")).to_be_visible()
    assert page.url.endswith(f"/interrupts/{second.pk}/")
    assert is_same_page(page)


def test_going_back_after_signing_out_shows_nothing(cast: Cast, sign_in: SignIn) -> None:
    secret = cast.ask(cast.run(), question(args={"iban": "DE02-SECRET"}))
    page = sign_in(cast.rae)
    go(page, secret)
    expect(page.locator(".value", has_text="DE02-SECRET")).to_be_visible()
    assert stays_empty(page)

    page.get_by_role("link", name="Sign out").click()
    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("Login name").wait_for()
    for _ in range(3):
        page.go_back()
        expect(page.locator("main")).not_to_contain_text("DE02-SECRET")
        assert "DE02-SECRET" not in page.content()

    assert stays_empty(page)


def test_fields_that_a_browser_brought_back_cannot_send_an_old_digest(
    cast: Cast, sign_in: SignIn
) -> None:
    """H-25: as Firefox restores them over a reload."""
    run = cast.run()
    old = cast.ask(run)
    page = sign_in(cast.rae)
    go(page, old)
    kept = page.evaluate(
        "Object.fromEntries([...document.querySelectorAll('#answer [type=hidden]')]"
        ".filter((field) => field.name !== 'csrfmiddlewaretoken')"
        ".map((field) => [field.name, field.value]))"
    )
    new = cast.ask(run, question(args=PAYMENT | {"amount_paise": 1}))
    go(page, new)
    page.evaluate(
        "(kept) => { for (const [name, value] of Object.entries(kept))"
        " document.querySelector(`#answer [name=${name}]`).value = value; }",
        kept,
    )

    page.get_by_role("button", name="Approve").click()

    panel = page.locator('main [data-code="digest_mismatch"]')
    expect(panel).to_be_focused()
    expect(panel.locator("del")).to_have_text("40000000")
    expect(page.locator("[name=asked_sha256]")).to_have_value(new.asked_sha256)
    assert not Decision.objects.exists()


def test_signing_in_again_elsewhere_lets_the_open_page_go_on(cast: Cast, sign_in: SignIn) -> None:
    """H-37: nothing typed is lost, and the page says that nothing was recorded."""
    interrupt = cast.ask(cast.run())
    page = sign_in(cast.rae)
    go(page, interrupt)
    page.get_by_label("Reason").fill("as agreed")
    cookies = [cookie for cookie in page.context.cookies() if cookie["name"] == "csrftoken"]
    page.context.clear_cookies()
    page.context.add_cookies(cookies)  # type: ignore[arg-type]
    page.get_by_role("button", name="Approve").click()
    expect(page.locator('#notice [data-notice="unauthenticated"]')).to_be_focused()

    with page.context.expect_page() as opened:
        page.locator("#notice").get_by_role("link", name="Sign in").click()
    door = opened.value
    door.get_by_label("Login name").fill("rae")
    door.get_by_label("Password").fill(PASSWORD)
    door.get_by_role("button", name="Sign in").click()
    door.get_by_role("heading", name="pay_vendor").wait_for()
    door.close()
    page.bring_to_front()
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")

    expect(page.locator("#notice")).to_contain_text("Nothing was recorded. Answer again")
    expect(page.get_by_label("Reason")).to_have_value("as agreed")
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_text("rae approved this")).to_be_visible()
    expect(page.locator("#notice")).to_be_empty()
    assert is_same_page(page)
    assert Decision.objects.get().reason == "as agreed"


def test_an_old_form_is_read_again_in_place(cast: Cast, sign_in: SignIn) -> None:
    """H-37: a 403 keeps what was typed, and its one button brings a form that works."""
    interrupt = cast.ask(cast.run())
    page = sign_in(cast.rae)
    go(page, interrupt)
    page.get_by_label("Reason").fill("as agreed")
    page.evaluate("document.querySelector('#answer [name=csrfmiddlewaretoken]').value = 'x'")
    page.get_by_role("button", name="Approve").click()
    notice = page.locator("#notice")
    expect(notice).to_contain_text("This form can no longer be sent")
    expect(notice.locator(".panel")).to_be_focused()

    notice.get_by_role("link", name="Open the page again").click()

    expect(notice).to_be_empty()
    expect(page.get_by_label("Reason")).to_have_value("as agreed")
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_text("rae approved this")).to_be_visible()
    assert is_same_page(page)


def test_without_a_connection_the_outcome_is_looked_up_when_there_is_one_again(
    cast: Cast, sign_in: SignIn
) -> None:
    """H-38: unknown is said as long as it is unknown."""
    interrupt = cast.ask(cast.run())
    page = sign_in(cast.rae)
    go(page, interrupt)
    took = threading.Event()

    def lose(route: Route) -> None:
        if route.request.method == "POST":
            route.fetch(max_redirects=0)
            took.set()
        route.abort("connectionreset")

    page.route("**/interrupts/**", lose)
    page.get_by_role("button", name="Approve").click()
    notice = page.locator("#notice")
    expect(notice).to_contain_text("It is not known whether your answer was recorded.")
    again = notice.get_by_role("button", name="Look it up again")
    expect(again).to_be_visible()
    assert took.is_set()

    page.unroute("**/interrupts/**")
    again.click()

    expect(notice).to_contain_text("Your approval was recorded at")
    expect(notice).not_to_contain_text("It is not known")
    expect(page.get_by_text("rae approved this")).to_be_visible()
    assert Decision.objects.get().kind == DecisionKind.APPROVE.value
    assert is_same_page(page)
