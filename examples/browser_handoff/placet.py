"""Placet over plain HTTP with the standard library: the calls of an agent and its executor."""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

LONGEST_WAIT_S = 55
LEASE_S = 60  # longer than anything that is done under it, so it is not renewed


class Refused(Exception):
    """The server said no; `code` says why, as the API's documentation lists them."""

    def __init__(self, problem: dict[str, Any]) -> None:
        super().__init__(f"{problem['code']}: {problem.get('detail') or problem['title']}")
        self.code: str = problem["code"]


class Placet:
    """A server, and a key with the scopes ask, execute and observe."""

    def __init__(self, url: str, key: str) -> None:
        self._url, self._key = url, key

    def begin_run(self, *, title: str, owner: str, external_id: str) -> dict[str, Any]:
        """Give the run of this `external_id`, begun at the first call."""
        body = {"title": title, "owner": owner, "external_id": external_id}
        return self._post("/runs", body)[1]

    def ask(self, run_id: str, **question: Any) -> dict[str, Any]:
        """Give the interrupt that asks this; the one there is when it was asked before."""
        told = self._post(f"/runs/{run_id}/interrupts", {"interrupts": [question]})[1]
        return dict(told["interrupts"][0])

    def take_back(self, interrupt: dict[str, Any]) -> None:
        """Take a question back."""
        self._post(f"/interrupts/{interrupt['id']}/cancel", {})

    def wait(self, interrupt: dict[str, Any]) -> dict[str, Any]:
        """Give an interrupt once it is no longer PENDING, however long that takes."""
        while True:
            path = f"/interrupts/{interrupt['id']}?wait_s={LONGEST_WAIT_S}"
            found = self._call("GET", path)[1]
            if found["state"] != "PENDING":
                return dict(found)

    @contextmanager
    def lease(self, run_id: str, holder: str) -> Iterator[int]:
        """Take control of a run, and give it back at the end; gives the fencing token.

        With an action open it cannot be given back: it runs out, and the action becomes UNKNOWN.
        """
        body = {"holder": holder, "ttl_s": LEASE_S}
        token = int(self._post(f"/runs/{run_id}/lease", body)[1]["fencing_token"])
        try:
            yield token
        finally:
            with suppress(Refused):
                self._post(f"/runs/{run_id}/lease/release", {"fencing_token": token})

    def observe_handback(
        self, interrupt: dict[str, Any], token: int, seen: dict[str, Any]
    ) -> dict[str, Any]:
        """Say what the page shows after this hand-back and no other: matched, or what differs."""
        body = {**seen, "handback": interrupt["handback"], "fencing_token": token}
        return self._post(f"/interrupts/{interrupt['id']}/observations", body)[1]

    def observe(self, run_id: str, token: int, seen: dict[str, Any]) -> str:
        """Say what the page shows now; gives the id by which a dispatch names it."""
        told = self._post(f"/runs/{run_id}/observations", {**seen, "fencing_token": token})[1]
        return str(told["observation_id"])

    def dispatch(
        self, run_id: str, decided: dict[str, Any], token: int, observation_id: str
    ) -> dict[str, Any]:
        """Use up an approval; what is given back is to be done now, once."""
        body = {
            "interrupt_id": decided["id"],
            "args": decided["decision"]["args"],
            "fencing_token": token,
            "observation_id": observation_id,
        }
        status, action = self._post(f"/runs/{run_id}/dispatch", body)
        if status != 201:  # a replay: only 201 permits the side effect
            raise Refused({"code": "already_dispatched", "title": "This was given out before."})
        return action

    def report(self, action: dict[str, Any], token: int, outcome: str, result: Any) -> None:
        """Say what became of an action: succeeded, failed, or not_executed."""
        body = {"fencing_token": token, "outcome": outcome, "result": result}
        self._post(f"/actions/{action['id']}/result", body)

    def report_unknown(self, action: dict[str, Any], token: int, detail: str) -> None:
        """Say that nobody knows what became of an action."""
        body = {"fencing_token": token, "detail": detail}
        self._post(f"/actions/{action['id']}/unknown", body)

    def finish_run(self, run_id: str, outcome: str) -> None:
        """End a run: succeeded, failed or rejected."""
        self._post(f"/runs/{run_id}/finish", {"outcome": outcome})

    def _post(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        return self._call("POST", path, json.dumps(body).encode())

    def _call(self, method: str, path: str, body: bytes | None = None) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        request = Request(f"{self._url}/api/v1{path}", body, headers, method=method)
        try:
            with urlopen(request, timeout=LONGEST_WAIT_S + 15) as reply:
                return reply.status, json.load(reply)
        except HTTPError as error:
            with error:
                if error.headers.get_content_type() != "application/problem+json":
                    raise
                raise Refused(json.load(error)) from None
