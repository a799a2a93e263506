"""Worker processes of which one numbers, and the killing of that one."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from bench.server import MANAGE

TAKEN = b"audit.numbering_taken"
WITHIN_S = 60.0


@dataclass(slots=True)
class Worker:
    """One process of `manage.py worker`, which says in its log when it begins to number."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def is_active(self) -> bool:
        """Whether it lives and has begun to number."""
        return self.process.poll() is None and TAKEN in self.log.read_bytes()


@dataclass(slots=True)
class Numberers:
    """A number of workers, started again when they are killed."""

    folder: Path
    environment: Mapping[str, str] | None
    workers: list[Worker] = field(default_factory=list)
    started: int = 0

    def start(self) -> None:
        """Start one more."""
        self.started += 1
        log = self.folder / f"worker-{self.started}.log"
        with log.open("wb") as written:
            process = _started(written, self.environment)
        self.workers.append(Worker(process, log))

    def active(self) -> list[Worker]:
        """Those that number: one, or none for a moment."""
        return [worker for worker in self.workers if worker.is_active]

    def kill_active(self) -> float:
        """Kill -9 the one that numbers; the seconds until another does. One more is started."""
        wait_for(lambda: len(self.active()) == 1)
        (active,) = self.active()
        active.process.kill()
        active.process.wait()
        killed_at = time.monotonic()
        self.workers.remove(active)
        wait_for(lambda: bool(self.active()))
        took_s = time.monotonic() - killed_at
        self.start()
        return took_s

    def kill(self) -> None:
        """End all of them."""
        for worker in self.workers:
            worker.process.kill()
            worker.process.wait()


@contextmanager
def numbering(
    count: int, folder: Path, *, environment: Mapping[str, str] | None = None
) -> Iterator[Numberers]:
    """So many workers, with their logs in this folder, until the end of the block."""
    numberers = Numberers(folder, environment)
    try:
        for _ in range(count):
            numberers.start()
        wait_for(lambda: len(numberers.active()) == 1)
        yield numberers
    finally:
        numberers.kill()


def wait_for(condition: Callable[[], bool]) -> None:
    """Return once it holds; ends the measurement where it does not come about."""
    deadline = time.monotonic() + WITHIN_S
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit("It never came about.")
        time.sleep(0.01)


def _started(log: IO[bytes], environment: Mapping[str, str] | None) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*MANAGE, "worker"],
        stdout=log,
        stderr=log,
        env=None if environment is None else dict(environment),
    )
