"""Executors with a key that use approvals and say what became of it, in a process of their own.

Reads JSON from its input (the port, the key, the arguments that were approved, and for each
executor its runs and questions) and writes to its output how long it took and which statuses
came back.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence

from bench.browsers import Posted
from bench.talk import Line, Reply, post_json

LEASE = {"holder": "worker", "ttl_s": 600}
Use = tuple[str, str]
"""A run and a question of it that is approved."""


def let_act(port: int, key: str, executors: Sequence[Sequence[Use]], *, args: object) -> Posted:
    """Let each executor use its approvals one after another, all of them at once."""
    said = subprocess.run(
        [sys.executable, "-m", "bench.executors"],
        input=json.dumps({"port": port, "key": key, "executors": executors, "args": args}),
        capture_output=True,
        text=True,
        check=True,
    )
    return Posted(**json.loads(said.stdout))


async def _act(line: Line, key: str, use: Use, args: object) -> list[Reply]:
    run_id, interrupt_id = use
    body = {"interrupt_id": interrupt_id, "args": args, "lease": LEASE}
    dispatched = await line.ask(post_json(f"/api/v1/runs/{run_id}/dispatch", key=key, body=body))
    action = json.loads(dispatched.body)
    done = {"fencing_token": action["fencing_token"], "outcome": "succeeded", "result": "paid"}
    path = f"/api/v1/actions/{action['id']}/result"
    return [dispatched, await line.ask(post_json(path, key=key, body=done))]


async def _act_all(port: int, key: str, uses: Sequence[Use], args: object) -> list[Reply]:
    line = await Line.open(port)
    try:
        return [reply for use in uses for reply in await _act(line, key, use, args)]
    finally:
        line.close()


async def _all(port: int, key: str, executors: Sequence[Sequence[Use]], args: object) -> Posted:
    began = time.monotonic()
    answered = await asyncio.gather(*(_act_all(port, key, uses, args) for uses in executors))
    took_s = time.monotonic() - began
    return Posted(took_s, Counter(str(reply.status) for mine in answered for reply in mine))


def main() -> None:
    """Be the other process."""
    given = json.load(sys.stdin)
    posted = asyncio.run(_all(**given))
    json.dump({"took_s": posted.took_s, "by_status": posted.by_status}, sys.stdout)


if __name__ == "__main__":
    main()
