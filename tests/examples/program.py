"""A program of ours as its user runs it: started, read line by line, interrupted, killed."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeVar
from urllib.error import URLError

ROOT = Path(__file__).parents[2]
PATIENCE_S = 90

T = TypeVar("T")


class Program:
    """A running program, and all that it has said so far."""

    def __init__(self, *words: str, env: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, *words],
            cwd=ROOT,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.pid = self._process.pid
        self._said: list[str] = []
        self._reading = threading.Thread(target=self._read)
        self._reading.start()

    @property
    def said(self) -> str:
        """Everything that the program has printed."""
        return "".join(self._said)

    def says(self, text: str) -> str:
        """Wait until the program has printed this; give all that it has printed."""
        self.until(lambda: text in self.said)
        return self.said

    def until(self, condition: Callable[[], T]) -> T:
        """Wait until a condition holds while the program runs, and give what it gave."""
        deadline = time.monotonic() + PATIENCE_S
        while not (found := condition()):
            assert self._reading.is_alive() or condition(), self.said
            assert time.monotonic() < deadline, self.said
            time.sleep(0.05)
        return found

    def ended(self, number: signal.Signals | None = None) -> int:
        """Wait for the end, after this signal if there is one; give the exit code."""
        if number is not None:
            self.send(number)
        code = self._process.wait(PATIENCE_S)
        self._reading.join(PATIENCE_S)
        return code

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the program alone."""
        self._process.send_signal(number)

    def kill(self) -> None:
        """End the program now, if it lives."""
        self._process.kill()
        self._process.wait()
        self._reading.join(PATIENCE_S)

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as stdout:
            for line in stdout:
                self._said.append(line)


def free_port() -> int:
    """A port that nobody uses now."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def answers(url: str) -> bool:
    """Whether a server gives this page."""
    with suppress(URLError, OSError), urllib.request.urlopen(url, timeout=5):
        return True
    return False


def surroundings(**members: str) -> dict[str, str]:
    """This environment without the databases that the tests themselves use, with these members."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("DATABASE_")}
    return {**kept, "PYTHONUNBUFFERED": "1", **members}
