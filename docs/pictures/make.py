#!/usr/bin/env python3
"""Makes the pictures of the documents, and on demand a picture of every page.

    .venv/bin/python docs/pictures/make.py            the pictures that documents show
    .venv/bin/python docs/pictures/make.py FOLDER     every page, into FOLDER

Every page is taken at the width of a desk and of a phone, light and dark, a few in Chinese too.
The application runs as it does in production, with the people of the tests in a database of its
own that is thrown away. Chromium has to be installed.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT))

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from docs.pictures.scenes import Scene

DESK = (1280, 800)
PHONE = (390, 844)
SCHEMES = ("light", "dark")


@dataclass(frozen=True, slots=True)
class Shot:
    """How one picture of a scene is taken: of the whole page, or of what a window shows of it."""

    size: tuple[int, int]
    scheme: str
    language: str = "en-US"
    is_whole: bool = True

    @property
    def name(self) -> str:
        """What tells this picture from others of the scene."""
        width = {DESK: "desk", PHONE: "phone"}[self.size]
        return "-".join([width, self.scheme, *(["zh"] if self.language == "zh-CN" else [])])


SHOWN = {
    "question.png": ("question", Shot(DESK, "light")),
    "question-dark.png": ("question", Shot(DESK, "dark")),
    "question-phone.png": ("question", Shot(PHONE, "light", is_whole=False)),
    "question-phone-dark.png": ("question", Shot(PHONE, "dark", is_whole=False)),
    "inbox.png": ("inbox", Shot(DESK, "light")),
    "inbox-dark.png": ("inbox", Shot(DESK, "dark")),
    "statistics.png": ("statistics", Shot(DESK, "light")),
    "statistics-dark.png": ("statistics", Shot(DESK, "dark")),
    "parts.png": ("parts", Shot(DESK, "light")),
    "hostile.png": ("hostile", Shot(DESK, "light")),
    "hostile-dark.png": ("hostile", Shot(DESK, "dark")),
}
"""The pictures that documents show, each with the scene and how it is taken."""


def main(arguments: list[str]) -> int:
    """Take the pictures; 2 for a wrong call."""
    if len(arguments) > 1 or arguments[:1] == ["--help"]:
        print(__doc__)
        return 2
    folder = Path(arguments[0]).resolve() if arguments else None
    with tempfile.TemporaryDirectory(prefix="placet-pictures-") as data:
        Path(data).chmod(0o755)  # the account of the database passes through
        with site(Path(data)) as address, chromium() as browser:
            from docs.pictures.scenes import scenes

            studio = Studio(browser, address)
            taken = scenes()
            if folder is None:
                studio.for_documents(taken)
            else:
                studio.for_looking(taken, folder)
    return 0


@contextmanager
def site(data: Path) -> Iterator[str]:
    """The application over a database of its own; gives its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    address = f"http://localhost:{port}"
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DJANGO_ALLOW_ASYNC_UNSAFE": "1",
        "DATABASE_URL": "",
        "DATABASE_OWNER_URL": "",
        "PLACET_DATA_DIR": str(data),
        "PLACET_BASE_URL": address,
        "PLACET_RATE_LOGIN": "1000/m",
    }
    from config.database import database_running
    from config.env import Env

    with database_running(Env(os.environ)):
        subprocess.run([sys.executable, ROOT / "manage.py", "migrate", "-v0"], check=True)
        import django

        django.setup()
        with _served(port):
            yield address


@contextmanager
def _served(port: int) -> Iterator[None]:
    from django.db import connections

    from config.asgi import application, hub
    from config.server import Server, server_config
    from runs.waiting.notifier import NOTIFIER

    server = Server(server_config(application, host="127.0.0.1", port=port), hub=hub)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()
        NOTIFIER.close()
        connections.close_all()


@contextmanager
def chromium() -> Iterator[Browser]:
    """The installed Chromium."""
    from playwright.sync_api import sync_playwright

    from bootstrap import CHROMIUM

    path = next(found for name in CHROMIUM if (found := shutil.which(name)))
    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=path, args=flags)
        try:
            yield browser
        finally:
            browser.close()


class Studio:
    """A browser in front of the site, and the sessions of whoever signed in."""

    def __init__(self, browser: Browser, address: str) -> None:
        self._browser, self._address = browser, address
        self._sessions: dict[str, object] = {}

    def for_documents(self, scenes: dict[str, Scene]) -> None:
        """Take the pictures that documents show, in few colors, into this folder."""
        from docs.pictures.palette import in_palette

        for file, (name, shot) in SHOWN.items():
            (HERE / file).write_bytes(in_palette(self._browser, self.take(scenes[name], shot)))
            print(file)

    def for_looking(self, scenes: dict[str, Scene], folder: Path) -> None:
        """Take every scene in every way, into that folder."""
        folder.mkdir(parents=True, exist_ok=True)
        ways = [Shot(size, scheme) for size in (DESK, PHONE) for scheme in SCHEMES]
        chinese = [Shot(DESK, "light", "zh-CN"), Shot(PHONE, "dark", "zh-CN")]
        for name, scene in scenes.items():
            for shot in [*ways, *(chinese if scene.is_in_chinese else [])]:
                if picture := self.take(scene, shot):
                    (folder / f"{name}-{shot.name}.png").write_bytes(picture)
            print(name)

    def take(self, scene: Scene, shot: Shot) -> bytes:
        """One picture of the page; none where there turns out to be no page."""
        context = self._browser.new_context(
            base_url=self._address,
            viewport={"width": shot.size[0], "height": shot.size[1]},
            color_scheme=shot.scheme,  # type: ignore[arg-type]
            locale=shot.language,
            timezone_id="UTC",
            storage_state=self._session(scene.who),  # type: ignore[arg-type]
            reduced_motion="reduce",
        )
        try:
            page = context.new_page()
            # A browser shows no page for an error without a body, so this is asked before.
            if scene.is_perhaps_no_page and not context.request.get(scene.path).ok:
                return b""
            page.goto(scene.path)
            if scene.then is not None:
                scene.then(page)
            if shot.is_whole:
                # A window as high as the page, so that what sticks to its end stands at the end.
                page.set_viewport_size({"width": shot.size[0], "height": _height(page)})
            return page.screenshot()
        finally:
            context.close()

    def _session(self, who: str) -> object:
        from tests.cast import PASSWORD

        if who and who not in self._sessions:
            context = self._browser.new_context(base_url=self._address)
            page = context.new_page()
            page.goto("/login/")
            page.locator("input[name=login]").fill(who)
            page.locator("input[name=password]").fill(PASSWORD)
            page.locator("main form button").click()
            page.wait_for_url("**/")
            self._sessions[who] = context.storage_state()
            context.close()
        return self._sessions.get(who)


def _height(page: Page) -> int:
    return int(page.evaluate("document.documentElement.scrollHeight"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
