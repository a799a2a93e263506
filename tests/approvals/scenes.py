"""Runs brought into each state that the contract has, by the commands that lead there."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from approvals.models import Interrupt, PolicyVersion
from approvals.models.reconciling import Found, settle_outcome
from identity.management.reporting import OPERATOR
from runs.models import Action, Run
from runs.rules.evidence import Finding
from runs.rules.refusal import Refusal
from tests.approvals.acting import Executor
from tests.approvals.api import ask_body
from tests.cast import PAYMENT

TARGET = {"origin": "https://bank.example", "account": "alice@acme"}
HANDOFF: dict[str, Any] = {"kind": "handoff", "tool": "login", "args": {}, "target": TARGET}
IDEMPOTENT: dict[str, Any] = {
    "id": "pay",
    "tools": ["pay_vendor"],
    "approvals": [{"from": {"roles": ["reviewer"]}, "count": 1}],
    "idempotent": True,
}
RECEIPT = {"kind": "target_object", "reference": "receipt 77"}


@dataclass
class Scene:
    """A run in some state, with what the next command has to name."""

    executor: Executor
    later: Callable[[], AbstractContextManager[None]]
    """The time after every deadline of a question."""
    question: dict[str, Any] = field(default_factory=dict)
    interrupt: str = ""
    action: str = ""
    token: int = 0
    is_held: bool = False

    def take(self) -> None:
        self.token, self.is_held = self.executor.take(), True

    def ask(self, **members: Any) -> None:
        self.question = members
        self.interrupt = self.executor.ask(self.living_token, **members)["id"]

    @property
    def living_token(self) -> int | None:
        return self.token if self.is_held else None

    def approve(self) -> None:
        self.ask()
        self.executor.answer(self.interrupt)

    def dispatch(self) -> None:
        self.approve()
        self.take()
        told = self.executor.dispatch(self.interrupt, self.token)
        assert told.status_code == 201, told.content
        self.action = told.json()["id"]

    def be_unknown(self) -> None:
        self.dispatch()
        body = {"fencing_token": self.token}
        assert self.post(f"/actions/{self.action}/unknown", body).status_code == 200
        self.is_held = False

    def post(self, path: str, body: Any = None) -> Any:
        return self.executor.http.post(path, body)

    def of_run(self, path: str, body: Any = None) -> Any:
        return self.post(f"/runs/{self.executor.run}{path}", body)

    # What is in each scene; its name is the method's.

    def ready(self) -> None:
        pass

    def ready_held(self) -> None:
        self.take()

    def pending(self) -> None:
        self.ask()

    def pending_held(self) -> None:
        self.ask()
        self.take()

    def handed_back(self) -> None:
        self.ask(**HANDOFF)
        self.take()
        self.executor.answer(self.interrupt, "done")

    def approved(self) -> None:
        self.approve()

    def approved_held(self) -> None:
        self.approve()
        self.take()

    def rejected(self) -> None:
        self.ask()
        self.take()
        self.executor.answer(self.interrupt, "reject", reason="No")

    def expired(self) -> None:
        self.ask(expires_in_s=10)
        self.executor.take(ttl_s=3600)
        self.token, self.is_held = 1, True
        with self.later():
            assert Run.objects.get(pk=self.executor.run).settle()

    def taken_back(self) -> None:
        self.ask()
        self.take()
        body = {"fencing_token": self.token}
        assert self.post(f"/interrupts/{self.interrupt}/cancel", body).status_code == 200

    def replaced(self) -> None:
        self.ask()
        self.take()
        self.executor.ask(self.token, args={**PAYMENT, "amount_paise": 2})

    def outdated(self) -> None:
        self.approve()
        self.take()
        self.executor.ask(self.token, args={**PAYMENT, "amount_paise": 2})

    def in_flight(self) -> None:
        self.dispatch()

    def in_flight_stopping(self) -> None:
        self.dispatch()
        assert self.of_run("/cancel").status_code == 200

    def unknown(self) -> None:
        self.be_unknown()

    def unknown_stopping(self) -> None:
        self.be_unknown()
        assert self.of_run("/cancel").status_code == 200

    def unknown_beside_in_flight(self) -> None:
        other = self.executor.approved(call_id="call-0")
        self.dispatch()
        assert self.executor.dispatch(other, self.token).status_code == 201
        body = {"fencing_token": self.token}
        assert self.post(f"/actions/{self.action}/unknown", body).status_code == 200

    def succeeded(self) -> None:
        self.dispatch()
        assert self.executor.result(self.action, self.token).status_code == 200

    def failed(self) -> None:
        self.dispatch()
        assert self.executor.result(self.action, self.token, "failed").status_code == 200

    def not_executed(self) -> None:
        self.dispatch()
        assert self.executor.result(self.action, self.token, "not_executed").status_code == 200

    def reconciled(self) -> None:
        self.be_unknown()
        assert self.executor.reconcile(self.action, "executed", **RECEIPT).status_code == 200

    def resent(self) -> None:
        assert not isinstance(
            PolicyVersion.set(self.executor.cast.tenant, [IDEMPOTENT], by=OPERATOR), Refusal
        )
        self.be_unknown()
        action = self.executor.action(self.action)
        outcome = settle_outcome(action, Found(Finding.RESEND), by=self.executor.cast.rae)
        assert isinstance(outcome, Action), outcome

    def done(self) -> None:
        self.approve()
        assert self.of_run("/finish", {"outcome": "succeeded"}).status_code == 200

    def done_after_acting(self) -> None:
        self.succeeded()
        body = {"outcome": "succeeded", "fencing_token": self.token}
        assert self.of_run("/finish", body).status_code == 200
        self.is_held = False

    def cancelled(self) -> None:
        self.ask()
        assert self.of_run("/cancel").status_code == 200

    def cancelled_after_acting(self) -> None:
        self.in_flight_stopping()
        assert self.executor.result(self.action, self.token).status_code == 200
        self.is_held = False

    # The commands, as whoever is in that scene would send them.

    def send(self, command: str) -> Any:
        """The answer to a command: HTTP, or a value where a person gives it."""
        return getattr(self, f"_{command}")()

    def _ask(self, **members: Any) -> Any:
        body = {**ask_body(**members), "fencing_token": self.living_token}
        return self.of_run("/interrupts", body)

    def _ask_same(self) -> Any:
        return self._ask(**self.question)

    def _ask_other(self) -> Any:
        return self._ask(**{**self.question, "args": {"amount_paise": 1}})

    def _ask_new(self) -> Any:
        return self._ask(call_id="call-2")

    def _decide(self) -> Any:
        row = Interrupt.objects.get(pk=self.interrupt)
        return self.executor.cast.decide(row, self.executor.cast.rae)

    def _take_back(self) -> Any:
        body = {"fencing_token": self.living_token}
        return self.post(f"/interrupts/{self.interrupt}/cancel", body)

    def _seen(self) -> dict[str, Any]:
        at = datetime.now(UTC).isoformat()
        seen = {**TARGET, "snapshot_sha256": "a" * 64, "observed_at": at}
        return {**seen, "fencing_token": self.token}

    def _observe(self) -> Any:
        return self.post(
            f"/interrupts/{self.interrupt}/observations", {**self._seen(), "handback": 1}
        )

    def _look(self) -> Any:
        return self.of_run("/observations", self._seen())

    def _cancel(self) -> Any:
        return self.of_run("/cancel")

    def _finish(self) -> Any:
        body = {"outcome": "succeeded", "fencing_token": self.living_token}
        return self.of_run("/finish", body)

    def _take(self) -> Any:
        return self.of_run("/lease", {"holder": "worker-1", "ttl_s": 60})

    def _renew(self) -> Any:
        return self.of_run("/lease/renew", {"fencing_token": self.token})

    def _release(self) -> Any:
        return self.of_run("/lease/release", {"fencing_token": self.token})

    def _dispatch(self) -> Any:
        control: dict[str, Any] = {"fencing_token": self.token}
        if not self.is_held:
            control = {"lease": {"holder": "worker-2", "ttl_s": 60}}
        args = self.question.get("args", PAYMENT)
        body = {"interrupt_id": self.interrupt, "args": args, **control}
        return self.of_run("/dispatch", body)

    def _result(self) -> Any:
        return self.executor.result(self.action, self.token)

    def _unknown(self) -> Any:
        return self.post(f"/actions/{self.action}/unknown", {"fencing_token": self.token})

    def _reconcile(self) -> Any:
        return self.executor.reconcile(self.action, "executed", **RECEIPT)
