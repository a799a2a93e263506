"""Round trips with DBOS: a workflow asks by an event and receives the answer that was sent.

`python dbos_rounds.py DATABASE_URL COUNT TOGETHER`; prints milliseconds each and all seconds.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from dbos import DBOS

QUESTION = {"tool": "pay_vendor", "args": {"vendor_id": "V-2291", "amount_paise": 40_000_000}}
WAIT_S = 60

went_on: dict[int, threading.Event] = {}


@DBOS.workflow()
def pay(number: int) -> None:
    """Ask, wait for the answer, go on."""
    DBOS.set_event("question", QUESTION)
    assert DBOS.recv("answer", timeout_seconds=WAIT_S) == "approve"
    went_on[number].set()


def round_trip(number: int) -> float:
    """One question with its answer; milliseconds."""
    went_on[number] = threading.Event()
    began = time.monotonic()
    workflow = DBOS.start_workflow(pay, number)
    assert DBOS.get_event(workflow.workflow_id, "question", timeout_seconds=WAIT_S) == QUESTION
    DBOS.send(workflow.workflow_id, "approve", "answer")
    assert went_on[number].wait(WAIT_S)
    return 1000 * (time.monotonic() - began)


def main() -> None:
    """Warm up, then so many, so many at once."""
    address, count, together = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    DBOS(config={"name": "bench", "system_database_url": address, "run_admin_server": False})
    DBOS.launch()
    with ThreadPoolExecutor(together) as pool:
        list(pool.map(round_trip, range(-2 * together, 0)))
        began = time.monotonic()
        took = list(pool.map(round_trip, range(count)))
        took_s = time.monotonic() - began
    print("rounds:" + json.dumps({"took_ms": took, "took_s": took_s}), flush=True)
    DBOS.destroy()


if __name__ == "__main__":
    main()
