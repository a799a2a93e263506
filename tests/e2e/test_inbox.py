"""The inbox in a browser: live without moving anything, by keys, and without JavaScript."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from approvals.models import Decision, Interrupt
from identity.models import User
from placet.protocol.states import DecisionKind
from tests.cast import PAYMENT, Cast, question
from tests.e2e.conftest import SignIn
from tests.owner import fall_due

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def three(cast: Cast) -> list[Interrupt]:
    """Three questions of one run, with a day each."""
    run = cast.run()
    return [cast.ask(run, question(call_id=f"c{n}", args={"n": n})) for n in range(3)]


def boxes(page: Page) -> list[object]:
    """Where each row of the list stands."""
    return [row.bounding_box() for row in page.locator(".rows > .row").all()]


def is_live(page: Page) -> None:
    """Wait until the stream is open and has said its first words."""
    expect(page.locator("[data-live-on]")).to_be_visible()


def seconds_left(page: Page) -> int:
    """What the first row says, as "9 min 58 s left"."""
    minutes, _, seconds, *_ = page.locator("[data-row-left]").first.inner_text().split()
    return int(minutes) * 60 + int(seconds)


def reject(cast: Cast, interrupt: Interrupt, user: User) -> None:
    """Let somebody else answer meanwhile."""
    cast.decide(interrupt, user, decision=DecisionKind.REJECT, reason="no")


def test_new_rows_collect_under_a_button_and_nothing_moves(
    cast: Cast, sign_in: SignIn, three: list[Interrupt]
) -> None:
    page = sign_in(cast.rae)
    is_live(page)
    page.locator(".row .to").nth(1).focus()
    before = boxes(page)

    urgent = cast.ask(cast.run(), question(call_id="u", tool="urgent", expires_in_s=600))
    button = page.locator("[data-new]")
    expect(button).to_have_text("1 new")
    cast.ask(cast.run(), question(call_id="v", args={"v": 1}))
    expect(button).to_have_text("2 new")

    assert boxes(page) == before
    expect(page.locator(".row .to").nth(1)).to_be_focused()
    expect(page).to_have_title("(5) Inbox · Placet")
    button.click()
    expect(page.locator(".rows > .row")).to_have_count(5)
    expect(page.locator(".rows > .row").first).to_have_attribute("data-row", urgent.pk)
    expect(page.locator(".row.new")).to_have_count(2)
    expect(page.locator(".row.new .to").first).to_be_focused()
    expect(button).to_be_hidden()


def test_a_row_that_ended_is_marked_in_place_and_decides_nothing(
    cast: Cast, sign_in: SignIn, three: list[Interrupt]
) -> None:
    """H-37: what is under the pointer stays there; its link leads to how it ended."""
    page = sign_in(cast.rae)
    is_live(page)
    row = page.locator(f'.row[data-row="{three[1].pk}"]')
    row.hover()
    before = boxes(page)

    reject(cast, three[1], cast.rob)

    expect(row).to_have_class(re.compile(r"\bended\b"))
    expect(row).to_contain_text("Rejected by rob")
    assert boxes(page) == before
    expect(page).to_have_title("(2) Inbox · Placet")
    row.get_by_role("link").click()
    expect(page.get_by_text("rob rejected this").first).to_be_visible()
    assert Decision.objects.count() == 1


def test_a_deadline_that_passes_is_told_in_place(
    cast: Cast, sign_in: SignIn, three: list[Interrupt]
) -> None:
    """H-35: the countdown is the server's, and at its end the row says so."""
    fall_due(three[0].pk, in_s=4)
    page = sign_in(cast.rae)
    row = page.locator(f'.row[data-row="{three[0].pk}"]')
    expect(row).to_contain_text(re.compile(r"[1-4] s left"))
    expect(row).to_contain_text(re.compile("time is over|Expired"))
    assert not Decision.objects.exists()


def test_after_going_back_the_inbox_is_live_and_its_clock_right(
    cast: Cast, sign_in: SignIn, three: list[Interrupt]
) -> None:
    cast.ask(cast.run(), question(call_id="soon", expires_in_s=600))
    page = sign_in(cast.rae)
    is_live(page)
    for _ in range(3):
        page.locator(".row .to").first.click()
        expect(page.locator("article.question")).to_be_visible()
        page.wait_for_timeout(2000)
        page.go_back()
        is_live(page)

    cast.ask(cast.run(), question(call_id="after", args={"n": 9}))

    expect(page.locator("[data-new]")).to_have_text("1 new")
    page.wait_for_timeout(1100)
    after_back = seconds_left(page)
    page.reload()
    is_live(page)
    assert abs(after_back - seconds_left(page)) <= 4


def test_how_long_ago_it_was_asked_goes_on_in_one_unit(
    cast: Cast, sign_in: SignIn, three: list[Interrupt]
) -> None:
    page = sign_in(cast.rae)
    shown = page.locator("[data-row-since]").first
    expect(shown).to_have_text(re.compile(r"^asked \d+ s ago$"))
    first = shown.inner_text()

    expect(shown).not_to_have_text(first)

    expect(shown).to_have_text(re.compile(r"^asked \d+ s ago$"))
    shown.evaluate("shown => { shown.dataset.rowSince = 625 }")
    expect(shown).to_have_text("asked 10 min ago")


def test_the_filter_of_deadlines_says_what_it_is_about(
    cast: Cast, sign_in: SignIn, three: list[Interrupt]
) -> None:
    page = sign_in(cast.rae)

    due = page.get_by_role("list", name="Due", exact=True)

    expect(page.get_by_text("Due", exact=True)).to_be_visible()
    expect(due.get_by_role("link", name="Within 1 h")).to_be_visible()


def test_of_two_tabs_both_are_told(cast: Cast, sign_in: SignIn, three: list[Interrupt]) -> None:
    """One of them has the stream."""
    first = sign_in(cast.rae)
    is_live(first)
    second = first.context.new_page()
    second.goto("/")
    is_live(second)

    cast.ask(cast.run(), question(call_id="n", args={"new": 1}))

    for page in (first, second):
        expect(page.locator("[data-new]")).to_have_text("1 new")
    first.close()
    cast.ask(cast.run(), question(call_id="m", args={"new": 2}))
    expect(second.locator("[data-new]")).to_have_text("2 new")


def test_an_ended_session_leads_away_from_the_inbox_by_itself(
    cast: Cast, sign_in: SignIn, three: list[Interrupt]
) -> None:
    page = sign_in(cast.rae)
    is_live(page)

    cast.rae.deactivate(by=cast.ada.as_actor())
    cast.ask(cast.run(), question(call_id="n", args={"new": 1}))

    page.wait_for_url("**/login/**")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_without_a_stream_the_page_says_so_and_stays_right(
    cast: Cast, sign_in: SignIn, three: list[Interrupt]
) -> None:
    page = sign_in(cast.rae)
    page.route("**/inbox/live/", lambda route: route.abort())
    page.goto("/")

    expect(page.locator("[data-live-off]")).to_have_text("Not live: reload to see what is new")
    expect(page.locator(".rows > .row")).to_have_count(3)


def test_keys_lead_from_row_to_row_into_the_question_and_back(
    cast: Cast, sign_in: SignIn, three: list[Interrupt]
) -> None:
    page = sign_in(cast.rae)
    links = page.locator(".row .to")
    page.goto("/?tool=pay_vendor")

    for key, at in (("j", 0), ("j", 1), ("j", 2), ("j", 2), ("k", 1)):
        page.keyboard.press(key)
        expect(links.nth(at)).to_be_focused()
    page.keyboard.press("o")
    page.wait_for_url(f"**/interrupts/{three[1].pk}/")
    expect(page.get_by_role("heading", name="pay_vendor")).to_be_visible()
    page.keyboard.press("u")
    page.wait_for_url("**/?tool=pay_vendor")
    page.keyboard.press("g")
    page.keyboard.press("r")
    expect(page.get_by_role("heading", name="Runs")).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("i")
    expect(page.get_by_role("heading", name="Inbox")).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/interrupts/{three[0].pk}/")
    assert not Decision.objects.exists()


def test_the_help_lists_the_keys_and_closes(
    cast: Cast, sign_in: SignIn, three: list[Interrupt]
) -> None:
    page = sign_in(cast.rae)

    page.keyboard.press("?")

    help_ = page.get_by_role("dialog", name="Keys")
    expect(help_).to_be_visible()
    expect(help_).to_contain_text("next and previous row")
    page.keyboard.press("j")
    expect(help_).to_be_visible()
    page.keyboard.press("Escape")
    expect(help_).to_be_hidden()


def test_no_key_does_anything_while_one_types(
    cast: Cast, sign_in: SignIn, three: list[Interrupt]
) -> None:
    page = sign_in(cast.rae)
    page.goto(f"/interrupts/{three[0].pk}/")

    box = page.get_by_label("Reason").first
    box.fill("")
    box.press_sequentially("ujgi?o")

    expect(box).to_have_value("ujgi?o")
    assert page.url.endswith(f"/interrupts/{three[0].pk}/")


def test_a_filter_is_chosen_and_cleared_and_stands_in_the_address(
    cast: Cast, sign_in: SignIn, three: list[Interrupt]
) -> None:
    mail = cast.ask(cast.run(), question(call_id="m", tool="mail.send"))
    page = sign_in(cast.rae)

    page.get_by_text("Tool", exact=True).click()
    page.get_by_role("link", name="mail.send 1").click()
    page.wait_for_url("**/?tool=mail.send")

    expect(page.locator(".rows > .row")).to_have_count(1)
    page.reload()
    expect(page.locator(".rows > .row")).to_have_attribute("data-row", mail.pk)
    is_live(page)
    cast.ask(cast.run(), question(call_id="p", args={"other": "tool"}))
    expect(page).to_have_title("(5) Inbox · Placet")
    expect(page.locator("[data-new]")).to_be_hidden()
    page.get_by_role("link", name="Clear filters").click()
    expect(page.locator(".rows > .row")).to_have_count(5)


def test_equal_calls_unfold_and_each_is_marked_when_it_ends(cast: Cast, sign_in: SignIn) -> None:
    equal = [cast.ask(cast.run(title=f"Run {n}")) for n in range(3)]
    page = sign_in(cast.rae)
    is_live(page)
    page.get_by_text("3 equal calls").click()
    listed = page.locator(".alike li")
    expect(listed).to_have_count(3)

    reject(cast, equal[2], cast.rob)

    expect(listed.nth(2)).to_contain_text("Rejected by rob")
    expect(page.locator(".rows > .row")).not_to_have_class(re.compile(r"\bended\b"))
    listed.nth(1).get_by_role("link").click()
    page.wait_for_url(f"**/interrupts/{equal[1].pk}/")


def test_the_inbox_works_without_javascript(
    cast: Cast, sign_in: SignIn, three: list[Interrupt]
) -> None:
    for _ in range(2):
        cast.ask(cast.run())
    page = sign_in(cast.rae, java_script_enabled=False)

    expect(page.locator("[data-live]")).to_be_hidden()
    expect(page.locator("[data-new]")).to_be_hidden()
    page.get_by_text("2 equal calls").click()
    expect(page.locator(".alike li")).to_have_count(2)
    page.get_by_role("link", name=re.compile("^Later|^Today")).last.click()
    assert "due=" in page.url
    page.goto("/")
    page.locator(".row .to").first.click()
    expect(page.get_by_role("heading", name="pay_vendor")).to_be_visible()


@pytest.mark.parametrize(("scheme", "width"), [("light", 320), ("dark", 1280)])
def test_axe_finds_nothing_and_nothing_is_cut(
    cast: Cast, sign_in: SignIn, three: list[Interrupt], scheme: str, width: int
) -> None:
    """At every width, with everything unfolded, ended and new."""
    run = cast.run(title="A long title " * 20)
    long = "tool." + "x" * 120
    cast.ask(run, question(call_id="l" * 200, tool=long, args=PAYMENT | {"k": "v" * 200}))
    for _ in range(2):
        cast.ask(cast.run(title="Run " * 30), question(tool="same", expires_in_s=600))
    page = sign_in(cast.rae, color_scheme=scheme, viewport={"width": width, "height": 800})
    is_live(page)
    page.get_by_text("2 equal calls").click()
    reject(cast, three[0], cast.rob)
    cast.ask(cast.run(), question(call_id="n", args={"new": 1}))
    expect(page.locator("[data-new]")).to_be_visible()
    expect(page.locator(".row.ended")).to_have_count(1)
    page.get_by_text("Tool", exact=True).click()

    found = Axe().run(page).response["violations"]

    assert [f"{one['id']}: {node['target']}" for one in found for node in one["nodes"]] == []
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    for other in (320, 390, 640, 1280):
        page.set_viewport_size({"width": other, "height": 800})
        assert page.evaluate(wide) == 0, other


def test_a_burst_of_questions_is_few_readings(cast: Cast, sign_in: SignIn) -> None:
    asked: list[str] = []
    page = sign_in(cast.rae)
    is_live(page)
    page.on("request", lambda request: asked.append(request.url))

    for number in range(30):
        cast.ask(cast.run(), question(call_id=f"b{number}", args={"n": number}))

    expect(page.locator("[data-new]")).to_have_text("30 new")
    assert sum("/inbox/changes/" in url for url in asked) <= 10
