"""Many agents that wait for an answer each, in a process of its own.

Reads JSON from its input (port, key and the ids to wait for), says `ready` when everybody has
asked, and then writes a line for each answer: the interrupt and the instant when it was whole.
"""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice

from bench.talk import Line, get

WAIT_S = 55
TOGETHER = 100


@dataclass(frozen=True, slots=True)
class Told:
    """That an agent learned of its answer, and when (`time.monotonic`, of this machine)."""

    interrupt_id: str
    at: float


@dataclass(frozen=True, slots=True)
class Agents:
    """The process, from outside."""

    process: subprocess.Popen[str]

    def told(self, count: int) -> list[Told]:
        """The next so many answers, waited for."""
        assert self.process.stdout is not None
        pairs = (line.split() for line in islice(self.process.stdout, count))
        return [Told(interrupt_id, float(at)) for interrupt_id, at in pairs]


@contextmanager
def agents_waiting(port: int, key: str, ids: Sequence[str]) -> Iterator[Agents]:
    """Agents that wait for these interrupts, one connection each, until the block ends."""
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.agents"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        json.dump({"port": port, "key": key, "ids": list(ids)}, process.stdin)
        process.stdin.close()
        assert process.stdout.readline() == "ready\n"
        yield Agents(process)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


async def _wait(line: Line, interrupt_id: str, key: str) -> None:
    path = f"/api/v1/interrupts/{interrupt_id}?wait_s={WAIT_S}"
    while True:
        reply = await line.ask(get(path, key=key))
        assert reply.status == 200, reply
        if json.loads(reply.body)["state"] != "PENDING":
            print(interrupt_id, reply.at, flush=True)
            return


async def _wait_all(port: int, key: str, ids: Sequence[str]) -> None:
    waits = []
    for interrupt_id in ids:
        waits.append(asyncio.ensure_future(_wait(await Line.open(port), interrupt_id, key)))
        if len(waits) % TOGETHER == 0:
            await asyncio.sleep(0.05)
    print("ready", flush=True)
    await asyncio.gather(*waits)


def main() -> None:
    """Be the other process."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    given = json.load(sys.stdin)
    asyncio.run(_wait_all(given["port"], given["key"], given["ids"]))


if __name__ == "__main__":
    main()
