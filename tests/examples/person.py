"""A person who works in the very browser that the example agent drives, through its debug port."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from playwright.sync_api import Browser, BrowserContext, CDPSession, Page, sync_playwright


class Person:
    """Hands at a browser. They have a thread of their own: Django wants none with an event loop."""

    def __init__(self, port: int) -> None:
        self._hands = ThreadPoolExecutor(max_workers=1)
        self._playwright = self._hands.submit(sync_playwright().start).result()
        self._browser: Browser = self._do(self._connect, port)

    def log_in(self, account: str, password: str, *, in_another_tab: bool = False) -> None:
        """Log in at the bank as its page asks, and wait until the next page is there."""
        self._do(self._log_in, account, password, in_another_tab)

    def log_out(self) -> None:
        """Forget all sessions, and look at the bank as a stranger."""
        self._do(self._log_out)

    def go(self, path: str) -> None:
        """Open another page of the bank in the tab that the agent controls."""
        self._do(self._go, path)

    def cut_off(self) -> None:
        """Take the network away from that tab."""
        self._do(self._cut_off)

    def leave(self) -> None:
        """Take the hands off; the browser stays."""
        self._do(self._playwright.stop)
        self._hands.shutdown()

    def _do(self, what: Callable[..., Any], *args: Any) -> Any:
        return self._hands.submit(partial(what, *args)).result(60)

    def _connect(self, port: int) -> Browser:
        return self._playwright.chromium.connect_over_cdp(f"http://127.0.0.1:{port}")

    @property
    def _window(self) -> BrowserContext:
        return self._browser.contexts[0]

    @property
    def _tab(self) -> Page:
        return self._window.pages[0]

    def _log_in(self, account: str, password: str, in_another_tab: bool) -> None:
        tab = self._tab
        if in_another_tab:
            tab = self._window.new_page()
            tab.goto(self._tab.url)
        tab.get_by_label("Account").fill(account)
        tab.get_by_label("Password").fill(password)
        tab.get_by_role("button", name="Log in").click()
        tab.wait_for_url("**/transfer")

    def _log_out(self) -> None:
        self._window.clear_cookies()
        self._go("/transfer")
        self._tab.wait_for_url("**/login")

    def _go(self, path: str) -> None:
        self._tab.evaluate("path => { location.pathname = path }", path)
        self._tab.wait_for_url(lambda url: url.endswith(path) or url.endswith("/login"))

    def _cut_off(self) -> None:
        self._line: CDPSession = self._window.new_cdp_session(self._tab)
        offline = {"offline": True, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        self._line.send("Network.enable")
        self._line.send("Network.emulateNetworkConditions", offline)
