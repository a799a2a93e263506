"""A real server over the test database, and a real browser in front of it."""

import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from django.conf import settings
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from identity.models import User
from tests.cast import PASSWORD, Cast, Template
from tests.contract.test_default_deny import browser

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
UNWANTED = ("WebUIOmniboxPopup", "WebUIOmniboxAimPopup")
"""Pages of the browser's own, for the popup of an address bar that nobody sees, in each window."""
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--in-process-gpu",
    "--disable-features=" + ",".join(UNWANTED),
)


@pytest.fixture(scope="session")
def live(django_db_setup: None) -> Iterator[str]:
    """The address of the whole application, long polls included, served as in production."""
    from config.asgi import application, hub
    from config.server import Server, server_config

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = Server(server_config(application, host="127.0.0.1", port=port), hub=hub)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the server did not start"
        time.sleep(0.005)
    yield f"http://localhost:{port}"
    server.should_exit = True
    thread.join(20)
    assert not thread.is_alive()


@pytest.fixture
def cast(template: Template, transactional_db: None) -> Cast:
    """The cast, committed, so that the server sees it."""
    return template.make()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One browser for the whole run."""
    path = next(found for name in CHROMIUM if (found := shutil.which(name)))
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=[*FLAGS])
        yield launched
        launched.close()


SignIn = Callable[..., Page]


@pytest.fixture
def sign_in(live: str, chromium: Browser, cast: Cast) -> Iterator[SignIn]:
    """Give a function that lets a person sign in at a window of their own and gives its page.

    They have signed in already, unless it is to be done by the form. A page that the browser
    complains about fails the test.
    """
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def sign_in(user: User, *, by_form: bool = False, **options: object) -> Page:
        window: dict[str, object] = {"viewport": {"width": 1280, "height": 800}, **options}
        context = chromium.new_context(base_url=live, **window)  # type: ignore[arg-type]
        context.set_default_timeout(10_000)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "console",
            lambda line: (
                complaints.append(line.text) if "Content Security Policy" in line.text else None
            ),
        )
        if not by_form:
            session = browser(user).cookies[settings.SESSION_COOKIE_NAME]
            context.add_cookies([{"name": session.key, "value": session.value, "url": live}])
        page.goto("/")
        if by_form:
            page.get_by_label("Login name").fill(user.username)
            page.get_by_label("Password").fill(PASSWORD)
            page.get_by_role("button", name="Sign in").click()
        page.get_by_role("heading", name="Inbox").wait_for()
        return page

    yield sign_in
    for context in contexts:
        context.close()
    assert complaints == []
