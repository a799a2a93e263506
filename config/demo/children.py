"""The processes of the demo: each started in a session of its own, ended in order, none left.

Ctrl-C in a terminal therefore reaches the demo alone, which ends the others, the newest first.
All carry a mark in their environment: a demo that was killed leaves processes behind, and the
next one finds them by it.
"""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

END_WITHIN_S = 25
_POLL_S = 0.05
_MARK = "PLACET_DEMO"
_LOG_LINES = 15

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Child:
    """One process; `log` is the file of what it says, None where that is told at once."""

    name: str
    process: subprocess.Popen[str]
    log: Path | None
    echo: threading.Thread | None

    @property
    def code(self) -> int | None:
        """Give the exit code, None while it lives."""
        code = self.process.poll()
        if code is not None and self.echo is not None:
            self.echo.join(1)
        return code

    def last_words(self) -> str:
        """Give the end of the log."""
        if self.log is None:
            return ""
        lines = self.log.read_text(errors="replace").splitlines()[-_LOG_LINES:]
        return "\n".join([f"The end of {self.log}:", *lines])


class Children:
    """Starts processes and ends them; `is_hurried` says that whoever waits wants no more."""

    def __init__(self, folder: Path, *, tell: Tell, is_hurried: Callable[[], bool]) -> None:
        self._folder = folder
        self._tell = tell
        self._is_hurried = is_hurried
        self._all: list[Child] = []

    def start(
        self,
        name: str,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        is_told: bool = False,
    ) -> Child:
        """Start a process; what it says is told with its name before it, or goes to a log."""
        log = None if is_told else self._folder / f"{name}.log"
        with ExitStack() as opened:
            output = subprocess.PIPE if log is None else opened.enter_context(log.open("w"))
            process = subprocess.Popen(
                command,
                env={**environment, _MARK: str(self._folder)},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                text=True,
                errors="replace",
            )
        echo = self._echoing(name, process) if log is None else None
        child = Child(name, process, log, echo)
        self._all.append(child)
        return child

    def end(self) -> None:
        """End all, the newest first; at once where it is hurried or takes too long."""
        if self._all:
            self._tell("Ending")
        while self._all:
            child = self._all.pop()
            _signal(child.process.pid, signal.SIGTERM)
            deadline = time.monotonic() + END_WITHIN_S
            while child.code is None:
                if self._is_hurried() or time.monotonic() > deadline:
                    _signal(child.process.pid, signal.SIGKILL)
                    child.process.wait()
                time.sleep(_POLL_S)

    def end_leftovers(self) -> None:
        """End what a killed demo of this folder left behind."""
        left = [process for process in psutil.process_iter() if self._is_marked(process)]
        if not left:
            return
        self._tell("Ending what an earlier demo left running")
        for process in left:
            with suppress(psutil.NoSuchProcess):
                process.terminate()
        _, alive = psutil.wait_procs(left, timeout=END_WITHIN_S)
        for process in alive:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(alive)

    def _is_marked(self, process: psutil.Process) -> bool:
        with suppress(psutil.Error, OSError):
            return process.environ().get(_MARK) == str(self._folder)
        return False

    def _echoing(self, name: str, process: subprocess.Popen[str]) -> threading.Thread:
        def echo() -> None:
            assert process.stdout is not None
            for line in process.stdout:
                self._tell(f"{name} │ {line.rstrip()}")

        thread = threading.Thread(target=echo, daemon=True)
        thread.start()
        return thread


def _signal(pid: int, number: signal.Signals) -> None:
    """Signal a child and all that it started: its number is that of its group, too."""
    with suppress(ProcessLookupError):
        os.killpg(pid, number)
