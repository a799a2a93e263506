"""Placet over plain HTTP: the calls that this agent needs, and the digest."""

import hashlib
import time
from typing import Any

import httpx
import rfc8785

LONGEST_WAIT_S = 55
LEASE_S = 60
PAUSE_S, LONGEST_PAUSE_S = 0.5, 15.0
TRY_AGAIN = {429, 502, 503, 504}


class Refused(Exception):
    """The server said no; `code` says why, as the API's documentation lists them."""

    def __init__(self, problem: dict[str, Any]) -> None:
        super().__init__(f"{problem['code']}: {problem.get('detail') or problem['title']}")
        self.code: str = problem["code"]


class Placet:
    """A server and the key of an agent.

    Every call may be repeated: a run is found by its `external_id`, a question by its
    `call_id`, and a dispatch that took effect is refused the second time. So a lost connection
    and a busy server are waited for, however long it takes.
    """

    def __init__(self, url: str, key: str) -> None:
        self._url = url
        self._http = httpx.Client(
            base_url=f"{url}/api/v1",
            headers={"Authorization": f"Bearer {key}"},
            timeout=httpx.Timeout(10, read=LONGEST_WAIT_S + 15),  # longer than any wait
        )

    def begin_run(self, *, title: str, owner: str, external_id: str) -> dict[str, Any]:
        """Give the run of this `external_id`, begun at the first call."""
        body = {"title": title, "owner": owner, "external_id": external_id}
        return self._call("POST", "/runs", json=body)

    def ask(self, run_id: str, **question: Any) -> dict[str, Any]:
        """Give the interrupt that asks this; the one there is when it was asked before."""
        asked = self._call("POST", f"/runs/{run_id}/interrupts", json={"interrupts": [question]})
        return dict(asked["interrupts"][0])

    def interrupt(self, interrupt_id: str, *, wait_s: float = 0) -> dict[str, Any]:
        """Give an interrupt as soon as it is answered, or as it stands after `wait_s`."""
        deadline = time.monotonic() + wait_s
        while True:
            left_s = max(0, min(LONGEST_WAIT_S, round(deadline - time.monotonic())))
            path = f"/interrupts/{interrupt_id}"
            found = self._call("GET", path, params={"wait_s": left_s})
            if found["state"] != "PENDING" or time.monotonic() >= deadline or left_s == 0:
                return found

    def dispatch(self, run_id: str, interrupt_id: str, args: dict[str, Any]) -> dict[str, Any]:
        """Use an approval up, under a lease taken with it: the license to act, once."""
        lease = {"holder": "payer", "ttl_s": LEASE_S}
        body = {"interrupt_id": interrupt_id, "args": args, "lease": lease}
        return self._call("POST", f"/runs/{run_id}/dispatch", json=body)

    def succeeded(self, action: dict[str, Any]) -> None:
        """Say that the action was carried out, and give the run back."""
        token = {"fencing_token": action["fencing_token"]}
        self._call(
            "POST", f"/actions/{action['id']}/result", json={**token, "outcome": "succeeded"}
        )
        self._call("POST", f"/runs/{action['run_id']}/lease/release", json=token)

    def finish_run(self, run_id: str, outcome: str) -> dict[str, Any]:
        """End a run: succeeded, failed or rejected."""
        return self._call("POST", f"/runs/{run_id}/finish", json={"outcome": outcome})

    def _call(self, method: str, path: str, **request: Any) -> dict[str, Any]:
        pause_s = PAUSE_S
        while True:
            try:
                reply = self._http.request(method, path, **request)
            except httpx.TransportError:
                if pause_s == PAUSE_S:
                    print(f"{self._url} does not answer; I keep trying.", flush=True)
                time.sleep(pause_s)
            else:
                if reply.status_code not in TRY_AGAIN:
                    return read(reply)
                time.sleep(float(reply.headers.get("Retry-After", pause_s)))
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)


def read(reply: httpx.Response) -> dict[str, Any]:
    """Give the object that the server answered; its refusals are raised."""
    if reply.headers.get("Content-Type") == "application/problem+json":
        raise Refused(reply.json())
    return dict(reply.raise_for_status().json())


def asked_sha256(tool: str, args: dict[str, Any]) -> str:
    """Give the digest that an approval of this call carries: SHA-256 over RFC 8785 JSON."""
    asked = {"tool": tool, "args": args, "target": None}
    return hashlib.sha256(rfc8785.dumps(asked)).hexdigest()
