"""Several signed-in browsers that answer questions, in a process of their own.

Reads JSON from its input (the port, and the requests of each browser) and writes to its output
how long it took and which statuses came back.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from bench.talk import one_after_another


@dataclass(frozen=True, slots=True)
class Posted:
    """How many requests were answered in how many seconds, by status."""

    took_s: float
    by_status: dict[str, int]


def let_post(port: int, browsers: Sequence[Sequence[bytes]]) -> Posted:
    """Let each browser send its requests one after another, all of them at once."""
    given = {"port": port, "browsers": [[each.decode() for each in mine] for mine in browsers]}
    said = subprocess.run(
        [sys.executable, "-m", "bench.browsers"],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=True,
    )
    return Posted(**json.loads(said.stdout))


async def _post(port: int, browsers: Sequence[Sequence[bytes]]) -> Posted:
    began = time.monotonic()
    answered = await asyncio.gather(*(one_after_another(port, mine) for mine in browsers))
    took_s = time.monotonic() - began
    return Posted(took_s, Counter(str(reply.status) for mine in answered for reply in mine))


def main() -> None:
    """Be the other process."""
    given = json.load(sys.stdin)
    browsers = [[each.encode() for each in mine] for mine in given["browsers"]]
    posted = asyncio.run(_post(given["port"], browsers))
    json.dump({"took_s": posted.took_s, "by_status": posted.by_status}, sys.stdout)


if __name__ == "__main__":
    main()
