"""The eight checks of a handover, played against a running server by real sessions and keys.

Nothing is passed in as a claim: who somebody is follows from their session, what the page shows
from an observation under the lease, and what is allowed from the rules in force.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from config.demo.executor import Executor
from config.demo.person import Person

TARGET = {"origin": "https://bank.example", "account": "alice", "page": "/home"}
PAYMENT = {"vendor_id": "V-2291", "amount_paise": 40_000_000}


@dataclass(slots=True)
class Checks:
    """What the checks are played with: an executor, three people, and a way to kill the server."""

    executor: Executor
    alice: Person
    rae: Person
    ada: Person
    restart: Callable[[], None]
    """Kills the server without warning and starts it again."""

    def play(self) -> Iterator[str]:
        """Play them in order: a line for each that holds, AssertionError at one that does not."""
        run = self._run()
        first = self._hand_over(run, "first")
        yield self._persisted_wait(run)
        yield self._wrong_owner(run, first)
        yield self._page_unverified(run, first)
        yield self._no_permission(run, first)
        yield self._stale_callback(run, first)
        yield self._expiry(run)
        yield self._cancelled()
        yield self._unknown()

    def _persisted_wait(self, run: str) -> str:
        before = self.executor.standing(run)
        self.restart()
        assert before == self.executor.standing(run) == ("WAIT_USER", 1)
        return "persisted_wait: WAIT_USER rev=1 after the server was killed"

    def _wrong_owner(self, run: str, first: str) -> str:
        told = self.rae.answer(first, "done")
        assert (told.status, told.code) == (403, "not_owner"), told
        assert self.executor.standing(run)[0] == "WAIT_USER"
        return "wrong_owner: blocked (not_owner)"

    def _page_unverified(self, run: str, first: str) -> str:
        token = self._take(run)
        assert self.alice.answer(first, "done").status < 400
        seen = self._observe(first, token, handback=1, account="mallory")
        assert (seen["matched"], seen["differs"]) == (False, ["account"]), seen
        assert self.executor.standing(run)[0] == "WAIT_USER"
        self._release(run, token)
        return "page_unverified: blocked (another account was seen)"

    def _no_permission(self, run: str, first: str) -> str:
        told = self.ada.post(first, self.alice.form_of(first), "reject", "not mine to say")
        assert (told.status, told.code) == (403, "not_permitted"), told
        assert self.executor.standing(run)[0] == "WAIT_USER"
        return "no_permission: blocked (not_permitted)"

    def _stale_callback(self, run: str, first: str) -> str:
        form = self.alice.form_of(first)
        assert self.alice.post(first, form, "done").status < 400
        token = self._take(run)
        assert self._observe(first, token, handback=2)["matched"] is True
        assert self.executor.standing(run) == ("READY", 2)
        self._release(run, token)
        second = self._hand_over(run, "second")
        late = self.alice.post(first, form, "done")
        astray = self.alice.post(second, form, "done")
        assert (late.code, astray.code) == ("already_decided", "stale_revision"), (late, astray)
        assert self.executor.standing(run) == ("WAIT_USER", 3)
        return "stale_callback: rev=1 cannot resume rev=3"

    def _expiry(self, run: str) -> str:
        self.executor.post(
            f"/runs/{run}/interrupts", _handoff("second", page="/other", expires_in_s=10)
        )
        asked = self.executor.get(f"/runs/{run}")["interrupts"][-1]["id"]
        form = self.alice.form_of(asked)
        time.sleep(10.1)
        assert self.alice.post(asked, form, "done").code == "expired"
        assert self.executor.standing(run)[0] == "EXPIRED"
        return "expiry: at the deadline blocked; EXPIRED"

    def _cancelled(self) -> str:
        run = self._run()
        asked = self._hand_over(run, "first")
        form = self.alice.form_of(asked)
        assert self.alice.cancel(run).status < 400
        assert self.alice.post(asked, form, "done").code == "cancelled"
        assert self.executor.standing(run)[0] == "CANCELLED"
        return "cancelled: a callback cannot revive it"

    def _unknown(self) -> str:
        run, pay = self._run(), {"call_id": "pay", "tool": "pay_vendor", "args": PAYMENT}
        asked = self.executor.post(f"/runs/{run}/interrupts", {"interrupts": [pay]})
        interrupt_id = asked["interrupts"][0]["id"]
        assert self.rae.answer(interrupt_id, "approve").status < 400
        token = self._take(run)
        body = {"interrupt_id": interrupt_id, "args": PAYMENT, "fencing_token": token}
        action = self.executor.post(f"/runs/{run}/dispatch", body)["id"]
        self.executor.post(f"/actions/{action}/unknown", {"fencing_token": token})
        assert self.executor.refused(f"/runs/{run}/dispatch", body) == "outcome_unknown"
        anew = {"interrupts": [{**pay, "call_id": "again"}]}
        assert self.executor.refused(f"/runs/{run}/interrupts", anew) == "outcome_unknown"
        receipt = {"kind": "target_object", "reference": "receipt 77 in the bank's list"}
        self.executor.post(
            f"/actions/{action}/reconcile", {"outcome": "executed", "evidence": receipt}
        )
        self.executor.post(f"/runs/{run}/finish", {"outcome": "succeeded"})
        assert self.executor.standing(run)[0] == "DONE"
        return "unknown: no automatic replay; reconciled, DONE"

    def _run(self) -> str:
        body = {"title": "Check the handover", "owner": self.alice.name}
        return str(self.executor.post("/runs", body)["id"])

    def _hand_over(self, run: str, call_id: str) -> str:
        told = self.executor.post(f"/runs/{run}/interrupts", _handoff(call_id))
        return str(told["interrupts"][0]["id"])

    def _take(self, run: str) -> int:
        body = {"holder": "checks", "ttl_s": 60}
        return int(self.executor.post(f"/runs/{run}/lease", body)["fencing_token"])

    def _release(self, run: str, token: int) -> None:
        self.executor.post(f"/runs/{run}/lease/release", {"fencing_token": token})

    def _observe(self, interrupt_id: str, token: int, *, handback: int, **seen: str) -> Any:
        body = {
            **TARGET,
            **seen,
            "handback": handback,
            "fencing_token": token,
            "snapshot_sha256": "0" * 64,
            "observed_at": datetime.now(UTC).isoformat(),
        }
        return self.executor.post(f"/interrupts/{interrupt_id}/observations", body)


def _handoff(call_id: str, *, expires_in_s: int = 600, **changed: str) -> dict[str, Any]:
    question = {
        "call_id": call_id,
        "kind": "handoff",
        "tool": "browser.login",
        "args": {},
        "target": {**TARGET, **changed},
        "expires_in_s": expires_in_s,
    }
    return {"interrupts": [question]}
