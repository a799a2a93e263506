"""Handoffs on a phone, whose page tells by itself how the check ended, and a finding on record."""

import pytest
from playwright.sync_api import APIResponse, Route, expect

from approvals.models import Interrupt
from tests.approvals.acting import Executor
from tests.approvals.test_handoffs import URL, handed_over, observe, seen
from tests.cast import Cast
from tests.e2e.conftest import SignIn

pytestmark = pytest.mark.django_db(transaction=True)

PHONE = {"width": 390, "height": 844}
COUNT_HEARD = """
    const Real = EventSource;
    let heard = 0;
    const count = () => { document.documentElement.dataset.heard = heard += 1; };
    window.EventSource = class extends Real {
        constructor(url) { super(url); this.addEventListener("inbox", count); }
    };"""


def test_a_person_takes_over_hands_back_and_hears_what_was_seen(
    cast: Cast, sign_in: SignIn
) -> None:
    executor = Executor(cast)
    asked = handed_over(executor, description="Please sign in to the bank.")
    token = executor.take()
    page = sign_in(cast.alice, viewport=PHONE)
    page.goto(f"/interrupts/{asked}/")

    link = page.get_by_role("link", name="Take over the page")
    expect(link).to_have_attribute("href", URL)
    done = page.get_by_role("button", name="Done")
    expect(done).to_be_in_viewport()
    done.click()
    expect(page.get_by_role("heading", name="Waiting for the check of the page")).to_be_visible()
    assert Interrupt.objects.get(pk=asked).state == "HANDED_BACK"

    observe(executor, asked, seen(token, account="bob@acme"))
    unlike = page.get_by_role("alert").filter(has_text="Not accepted")
    expect(unlike).to_be_visible()
    expect(unlike).to_contain_text("bob@acme")
    expect(unlike).to_be_focused()

    page.get_by_role("button", name="Done").click()
    expect(page.get_by_role("heading", name="Waiting for the check of the page")).to_be_visible()
    observe(executor, asked, seen(token, 2))
    expect(page.get_by_role("heading", name="Your answer is recorded")).to_be_visible()
    assert Interrupt.objects.get(pk=asked).state == "DECIDED"


def test_a_check_that_ends_while_the_page_is_read_is_told_all_the_same(
    cast: Cast, sign_in: SignIn
) -> None:
    executor = Executor(cast)
    asked = handed_over(executor)
    token = executor.take()
    page = sign_in(cast.alice)
    page.add_init_script(COUNT_HEARD)
    page.goto(f"/interrupts/{asked}/")
    held: list[tuple[Route, APIResponse]] = []

    def hold(route: Route) -> None:
        """Answer with the page as it is now, but later."""
        held.append((route, route.fetch()))

    page.route(f"**/interrupts/{asked}/", hold, times=1)
    page.get_by_role("button", name="Done").click()
    heard = page.locator("html")
    expect(heard).to_have_attribute("data-heard", "1")
    for _ in range(1000):
        if held:
            break
        page.wait_for_timeout(5)
    observe(executor, asked, seen(token, account="bob@acme"))
    expect(heard).to_have_attribute("data-heard", "2")
    route, response = held[0]
    route.fulfill(response=response)

    expect(page.get_by_role("alert").filter(has_text="Not accepted")).to_be_focused()


def test_a_finding_goes_on_record_and_the_way_to_the_list_is_gone(
    cast: Cast, sign_in: SignIn
) -> None:
    executor = Executor(cast)
    action_id = executor.unknown()
    page = sign_in(cast.alice)

    page.get_by_role("link", name="Unknown 1").click()
    page.get_by_role("link", name="Say what became of it").click()
    page.get_by_role("radio", name="was carried out").first.check()
    page.get_by_role("button", name="Put it on record").click()
    expect(page.locator('[data-code="evidence_required"]')).to_be_visible()
    expect(page.get_by_role("radio", name="was carried out").first).to_be_checked()
    page.get_by_label("Evidence", exact=True).select_option("target_object")
    page.get_by_label("Which record, object or statement").fill("Receipt 77")
    page.get_by_role("button", name="Put it on record").click()

    expect(page.get_by_role("heading", name="What became of it is known")).to_be_visible()
    expect(page.get_by_role("navigation", name="Pages").get_by_text("Unknown 1")).to_have_count(0)
    assert executor.action(action_id).state == "SUCCEEDED"
