"""Round trips with LangGraph's development server: a run that stops, and one that resumes it.

`python langgraph_rounds.py PORT COUNT TOGETHER`; prints milliseconds each and all seconds.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time

from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient


async def round_trip(client: LangGraphClient) -> float:
    """One question with its answer; milliseconds."""
    began = time.monotonic()
    thread = (await client.threads.create())["thread_id"]
    asked = await client.runs.wait(thread, "pay", input={})
    assert asked["__interrupt__"], asked
    done = await client.runs.wait(thread, "pay", command={"resume": "approve"})
    assert done["answer"] == "approve", done
    return 1000 * (time.monotonic() - began)


async def rounds(port: int, count: int, together: int) -> None:
    """Warm up, then so many, so many at once."""
    client = get_client(url=f"http://127.0.0.1:{port}")

    async def some(each: int) -> list[float]:
        return [await round_trip(client) for _ in range(each)]

    await asyncio.gather(*(some(2) for _ in range(together)))
    began = time.monotonic()
    took = await asyncio.gather(*(some(count // together) for _ in range(together)))
    took_s = time.monotonic() - began
    flat = [one for mine in took for one in mine]
    print("rounds:" + json.dumps({"took_ms": flat, "took_s": took_s}), flush=True)


if __name__ == "__main__":
    asyncio.run(rounds(*(int(each) for each in sys.argv[1:])))
