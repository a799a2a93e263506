"""An executor that does what the page of the client shows, and kills itself at a named step."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import httpx

import placet

ARGS = {"vendor_id": "V-2291", "amount_paise": 7}


def die(step: str) -> None:
    """What kill -9 does, if it is time."""
    if step == DIES_AT:
        os.kill(os.getpid(), signal.SIGKILL)


class Steps(httpx.HTTPTransport):
    """The network, before and after each request."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        ending = request.url.path.rpartition("/")[2]
        die(f"before-{ending}")
        response = super().handle_request(request)
        response.read()
        die(f"after-{ending}")
        return response


def pay(args: dict[str, Any], *, idempotency_key: str, grant: str) -> str:
    """The effect: a line in a file for each time that it is done."""
    die("before-effect")
    with LEDGER.open("a") as ledger:
        ledger.write(f"{idempotency_key}\n")
    die("after-effect")
    return "paid"


def main() -> None:
    """Ask, and act if it is approved; say at the end how the run stands."""
    with placet.Client(URL, KEY, transport=Steps()) as client:
        run = client.create_run(title="Pay", owner="alice", external_id="order-1")
        asked = run.ask("pay_vendor", ARGS, call_id="pay")
        if asked.is_pending:
            return
        if asked.action_id is None:
            with run.lease(holder="worker") as lease:
                lease.execute(asked, pay)
        elif client.get_action(asked.action_id).state != "SUCCEEDED":
            return
        run.finish("succeeded")


if __name__ == "__main__":
    URL, KEY, DIES_AT = sys.argv[1], sys.argv[2], sys.argv[4]
    LEDGER = Path(sys.argv[3])
    main()
