"""The tutorial is run as it is written, against a real server, and its outputs compared."""

import json
import re
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.browser import Browser, Page
from tests.docs.pages import ROOT, text_of
from tests.docs.shell import Shell

TEXT = text_of("docs/tutorial/first-approval.md")
STEP = re.compile(
    r"^```(?P<word>sh|json|text)(?: (?P<how>\w+))?\n(?P<block>.*?)^```$"
    r"|^<!-- test: theo (?P<does>\w+) (?P<what>\w+)(?:: (?P<code>\w+))? -->$",
    re.MULTILINE | re.DOTALL,
)
PASSWORD = "correct horse battery"
REASON = "We do not know this vendor."
STARTED_WITHIN_S = 30


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder for the database that every account can pass through."""
    made = Path(tempfile.mkdtemp(prefix="placet-tutorial-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


def test_the_tutorial_does_what_it_says(folder: Path) -> None:
    port = free_port()
    site = f"http://localhost:{port}"
    environment = {
        "PLACET_DATA_DIR": str(folder / "data"),
        "PLACET_BASE_URL": site,
        "DATABASE_URL": "",
        "DATABASE_OWNER_URL": "",
        "no_proxy": "localhost",
    }

    with Shell(cwd=ROOT, environment=environment, log=folder / "shell.log") as shell:
        printed = Reader(shell, Browser(site), port).follow(TEXT)

    assert re.fullmatch(r"tutorial: intact, [0-9]+ events", printed[-1])


class Reader:
    """Somebody who follows the tutorial: gives each block, clicks, and compares."""

    def __init__(self, shell: Shell, browser: Browser, port: int) -> None:
        self._shell, self._browser, self._port = shell, browser, port
        self._opened: dict[str, Page] = {}
        self._ids: dict[str, str] = {}
        self._is_waiting = self._is_signed_in = False
        self._printed: list[str] = []

    def follow(self, text: str) -> list[str]:
        """Do every step in its order, and give what the blocks printed."""
        for step in STEP.finditer(text):
            match step["word"], step["how"]:
                case "sh", "terminal":
                    self._shell.open_terminal(self._here(step["block"]))
                    if "serve" in step["block"]:
                        self._wait_for_server()
                case "sh", how:
                    self._give(step["block"], is_waiting=how == "waits")
                case "json", "stable":
                    assert json.loads(self._output()) == json.loads(step["block"])
                case "text", "stable":
                    assert self._output() == step["block"].strip()
                case None, _:
                    self._click(step["does"], step["what"], step["code"] or "")
        return self._printed

    def _give(self, block: str, *, is_waiting: bool) -> None:
        if is_waiting:
            self._shell.begin(self._here(block))
            self._is_waiting = True
            return
        self._printed.append(self._shell.run(self._here(block)))
        for name in re.findall(r"^([A-Z]+)=", block, re.MULTILINE):
            self._ids[name] = self._shell.run(f'echo "${name}"')

    def _output(self) -> str:
        if self._is_waiting:
            self._printed.append(self._shell.read())
            self._is_waiting = False
        return self._printed[-1]

    def _click(self, does: str, what: str, code: str) -> None:
        if not self._is_signed_in:
            self._browser.sign_in("theo", PASSWORD)
            self._is_signed_in = True
        path = f"/interrupts/{self._ids[what]}/"
        page = self._opened.get(what) or self._browser.open(path)
        self._opened[what] = page
        assert page.status == 200, page.text
        match does:
            case "opens":
                return
            case "approves":
                answered = self._browser.answer(page, "approve")
            case "rejects":
                answered = self._browser.answer(page, "reject", REASON)
            case _:
                raise AssertionError(does)
        assert answered.status == (409 if code else 200), answered.text
        assert not code or code in answered.codes

    def _here(self, block: str) -> str:
        """The block with this run's interpreter and port instead of the reader's."""
        block = block.replace(
            "bootstrap.py serve", f"bootstrap.py manage serve --port {self._port}"
        )
        block = block.replace("python3 bootstrap.py manage", f"'{sys.executable}' manage.py")
        return block.replace("localhost:8000", f"localhost:{self._port}")

    def _wait_for_server(self) -> None:
        deadline = time.monotonic() + STARTED_WITHIN_S
        while True:
            with socket.socket() as trying:
                if trying.connect_ex(("127.0.0.1", self._port)) == 0:
                    return
            assert time.monotonic() < deadline, "the server did not start"
            time.sleep(0.05)


def free_port() -> int:
    """A port that nobody serves."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])
