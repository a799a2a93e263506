"""The browser: one tab that the agent controls, and that a person can take over.

The person works in this very browser, so what they log in to is what the agent sees. Nobody
tells the agent a password, and the agent asks for none.
"""

import hashlib
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
PATIENCE_MS = 5_000
SESSION = "thread"
"""Whose login it is: the profile serves one order. One for a person's orders would be "user"."""

READ = """() => ({
  origin: location.origin,
  page: location.pathname,
  account: document.querySelector("#account")?.textContent ?? null,
  html: document.documentElement.outerHTML,
})"""


@dataclass(frozen=True, slots=True)
class Look:
    """What the tab shows at one moment, read from the page itself."""

    origin: str
    account: str | None
    page: str
    session: str
    snapshot_sha256: str
    observed_at: str

    def shows(self, target: dict[str, str]) -> bool:
        """Whether it is the page that a target names; Placet compares in the same way."""
        return all(getattr(self, name) == value for name, value in target.items())

    def body(self) -> dict[str, Any]:
        """Give it as an observation; what was not seen is left out."""
        return {name: value for name, value in asdict(self).items() if value is not None}


class BankRefused(Exception):
    """The bank said no: it is certain that nothing was transferred."""


class Tab:
    """The controlled tab."""

    def __init__(self, page: Page, port: int) -> None:
        self._page, self._port = page, port
        page.set_default_timeout(PATIENCE_MS)

    @property
    def takeover_url(self) -> str:
        """Where a person sees this tab and works in it: Chromium's own DevTools.

        It is a secret: whoever has it has the session. It works on this computer alone.
        """
        info = self._page.context.new_cdp_session(self._page).send("Target.getTargetInfo")
        at = f"127.0.0.1:{self._port}"
        tab = info["targetInfo"]["targetId"]
        return f"http://{at}/devtools/inspector.html?ws={at}/devtools/page/{tab}"

    def go(self, url: str) -> None:
        """Open a page."""
        self._page.goto(url)

    def look(self) -> Look:
        """Read the tab anew; nothing from before the handover is used again.

        It neither reloads nor navigates: what counts is what is there.
        """
        self._page.wait_for_load_state()
        seen = self._page.evaluate(READ)  # all at one moment, of one page
        return Look(
            origin=seen["origin"],
            account=seen["account"],
            page=seen["page"],
            session=SESSION,
            snapshot_sha256=hashlib.sha256(seen["html"].encode()).hexdigest(),
            observed_at=datetime.now(UTC).isoformat(),
        )

    def fill_in(self, payee: str, amount_cents: int, key: str) -> None:
        """Fill in the transfer, with the key that the bank honors once; nothing is sent yet."""
        self._page.get_by_label("Payee").fill(payee)
        self._page.get_by_label("Amount").fill(f"{amount_cents / 100:.2f}")
        self._page.locator("[name=key]").evaluate("(field, key) => { field.value = key }", key)

    def submit(self) -> str:
        """Send the form and give the number of the receipt that the bank shows."""
        self._page.get_by_role("button", name="Transfer").click()
        answer = self._page.locator("#receipt, #refusal")
        words = answer.inner_text()
        if answer.get_attribute("id") == "refusal":
            raise BankRefused(words)
        return words


@contextmanager
def open_tab(profile: Path, *, is_headless: bool, port: int = 0) -> Iterator[Tab]:
    """Start Chromium with a profile of its own, and give its tab.

    The debugging port is how a person reaches the tab where there is no window. It listens on
    this computer only; everybody who can use this computer can use it.
    """
    found = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if found is None:
        raise SystemExit(f"browser_handoff: none of {', '.join(CHROMIUM)} is installed.")
    port = port or free_port()
    flags = [
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        f"--remote-debugging-port={port}",
        f"--remote-allow-origins=http://127.0.0.1:{port}",
    ]
    with (
        sync_playwright() as playwright,
        playwright.chromium.launch_persistent_context(
            profile, executable_path=found, headless=is_headless, args=flags
        ) as context,
    ):
        yield Tab(context.pages[0], port)


def free_port() -> int:
    """Give a port that nobody uses now."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])
