"""One shell that lives as long as a tutorial, and the processes of its other terminals."""

import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Self

END = "-- end of the block --"


class Shell:
    """A bash in which blocks are given one after the other, as a reader would."""

    def __init__(self, *, cwd: Path, environment: Mapping[str, str], log: Path) -> None:
        self._cwd, self._environment = cwd, {**os.environ, **environment}
        self._log = log.open("w+")
        self._processes: list[subprocess.Popen[str]] = []
        self._bash = self._start("bash", "--noprofile", "--norc")
        self._give("set -eu -o pipefail")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._processes):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
                process.wait(60)
            assert process.stdin and process.stdout
            process.stdin.close()
            process.stdout.close()
        self._log.close()

    def open_terminal(self, command: str) -> None:
        """Run a command that does not end by itself."""
        self._start("bash", "-c", f"exec {command.strip()}")

    def begin(self, block: str) -> None:
        """Give a block; `read` gives what it printed, once it has ended."""
        self._give(f"{block}\nprintf '\\n%s\\n' '{END}'")

    def read(self) -> str:
        """What the block that was begun printed; fails where the shell ended instead."""
        assert self._bash.stdout
        lines = []
        for line in self._bash.stdout:
            if line.rstrip("\n") == END:
                return "".join(lines).strip()
            lines.append(line)
        self._log.seek(0)
        raise AssertionError(f"The shell ended: {''.join(lines)}{self._log.read()}")

    def run(self, block: str) -> str:
        """What a block prints."""
        self.begin(block)
        return self.read()

    def _give(self, text: str) -> None:
        assert self._bash.stdin
        self._bash.stdin.write(f"{text}\n")
        self._bash.stdin.flush()

    def _start(self, *command: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            command,
            cwd=self._cwd,
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            start_new_session=True,
        )
        self._processes.append(process)
        return process
