"""Getting told, in a real browser: without JavaScript, and as an app that is woken."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from notices.courier import Courier
from notices.models import Address
from notices.rules.channels import EMAIL_CHANNEL
from notices.rules.smtp import Smtp, Tls
from notices.senders.vapid import VapidKey, new_key
from placet.protocol.canonical import canonical
from tests.cast import Cast
from tests.e2e.conftest import SignIn
from tests.e2e.test_pages_for_everybody import faults, sideways
from tests.notices.conftest import code_in, reach
from tests.notices.receivers import Mailbox, mail_server

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = "/settings/notices/"
SHOWN = """async () => {
    const worker = await navigator.serviceWorker.ready;
    for (let tries = 0; tries < 40; tries += 1) {
        const [one] = await worker.getNotifications();
        if (one) return [one.title, one.body, one.tag, one.data.url];
        await new Promise((done) => setTimeout(done, 50));
    }
    return [];
}"""


@pytest.fixture
def mailbox(settings: Any) -> Iterator[Mailbox]:
    """The operator set up e-mail and Web Push."""
    with mail_server() as box:
        settings.PLACET_SMTP = Smtp(
            host="127.0.0.1",
            port=box.port,
            user="",
            password="",
            tls=Tls.NONE,
            sender="p@example.com",
        )
        settings.PLACET_NOTICE_CHANNELS = {"email": EMAIL_CHANNEL}
        settings.PLACET_WEBPUSH_KEY = VapidKey.read(new_key())
        yield box


def deliver() -> None:
    """Let everything that is due leave."""
    courier = Courier()
    courier.step()
    courier.settle()
    courier.close()


def test_an_address_is_confirmed_and_wishes_are_kept_without_javascript(
    cast: Cast, sign_in: SignIn, mailbox: Mailbox
) -> None:
    page = sign_in(cast.rae, java_script_enabled=False)
    page.goto("/settings/you/")
    page.get_by_role("link", name="Getting told").click()
    email = page.get_by_role("article", name="E-mail")

    email.get_by_label("Address").fill("rae@example.com")
    email.get_by_role("button", name="Send a code there").click()
    deliver()
    email.get_by_label("The code that came there").fill(code_in(mailbox.bodies[0]))
    email.get_by_role("button", name="Confirm").click()
    expect(page.get_by_role("status").filter(has_text="confirmed")).to_be_visible()
    page.get_by_label("From").fill("22:00")
    page.get_by_label("Until").fill("07:00")
    page.get_by_role("button", name="Save").click()

    expect(page.get_by_role("status").filter(has_text="Saved")).to_be_visible()
    expect(page.get_by_label("From")).to_have_value("22:00")
    assert Address.objects.get().is_used


def test_a_code_that_is_wrong_is_told_at_its_field(
    cast: Cast, sign_in: SignIn, mailbox: Mailbox
) -> None:
    Address.put(cast.rae, "email", "rae@example.com")
    page = sign_in(cast.rae)
    page.goto(PAGE)

    page.get_by_label("The code that came there").fill("12345678")
    page.get_by_role("button", name="Confirm").click()

    field = page.get_by_label("The code that came there")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_have_accessible_description("This is not the code that was sent.")


def test_axe_finds_nothing_and_nothing_is_out_of_sight(
    cast: Cast, sign_in: SignIn, mailbox: Mailbox
) -> None:
    reach(cast.rae)
    page = sign_in(cast.rae, color_scheme="dark", viewport={"width": 320, "height": 600})

    page.goto(PAGE)

    assert faults(page) == []
    assert sideways(page) == 0


def test_a_push_is_shown_with_what_it_says_and_leads_into_the_app(
    cast: Cast, sign_in: SignIn, mailbox: Mailbox, chromium: Browser, live: str
) -> None:
    page = sign_in(cast.rae)
    page.context.grant_permissions(["notifications"], origin=live)
    page.goto("/")
    registered: dict[str, str] = page.evaluate(
        "navigator.serviceWorker.ready.then((r) => ({scope: r.scope, state: r.active.state}))"
    )
    assert registered["scope"] == f"{live}/"
    devtools = page.context.new_cdp_session(page)
    found: list[str] = []
    devtools.on(
        "ServiceWorker.workerRegistrationUpdated",
        lambda told: found.extend(one["registrationId"] for one in told["registrations"]),
    )
    devtools.send("ServiceWorker.enable")
    until = time.monotonic() + 10
    while not found and time.monotonic() < until:
        page.evaluate("navigator.serviceWorker.ready.then(() => 1)")  # lets events come in
    told = {
        "title": "pay_vendor waits for your answer",
        "body": "For alice",
        "path": "https://evil.example/",
        "tag": "int_1",
        "waiting": 2,
    }

    push = {"origin": live, "registrationId": found[0], "data": canonical(told)}
    shown: list[str] = []
    until = time.monotonic() + 30
    while not shown and time.monotonic() < until:
        # One for a worker that the browser has not stored yet is dropped, and the next is shown.
        devtools.send("ServiceWorker.deliverPushMessage", push)
        shown = page.evaluate(SHOWN)

    assert shown == ["pay_vendor waits for your answer", "For alice", "int_1", f"{live}/"]


def test_nothing_of_a_page_is_kept_in_the_browser(
    cast: Cast, sign_in: SignIn, mailbox: Mailbox
) -> None:
    cast.ask(cast.run())
    page = sign_in(cast.rae)
    page.evaluate("navigator.serviceWorker.ready.then(() => true)")
    page.reload()

    kept = page.evaluate("caches.keys().then((keys) => [keys, localStorage.length])")

    assert kept == [[], 0]
