"""What executors do over HTTP, in as few words as tests need."""

from dataclasses import dataclass, field
from typing import Any

from approvals.models import Interrupt
from identity.management.reporting import OPERATOR
from identity.models import Agent
from identity.roles import Scope
from placet.protocol.states import DecisionKind
from runs.clock import database_now
from runs.models import Action, Run
from tests.approvals.api import AgentHTTP, ask_body
from tests.cast import PAYMENT, Cast

ALL_SCOPES = (Scope.ASK, Scope.EXECUTE, Scope.OBSERVE, Scope.RECONCILE)


@dataclass
class Executor:
    """An agent with every scope and a run of its own, which asks, is approved, and acts."""

    cast: Cast
    name: str = "executor"
    http: AgentHTTP = field(init=False)
    run: str = field(init=False)

    def __post_init__(self) -> None:
        _, key = Agent.create(
            self.name, tenant=self.cast.tenant, any_owner=True, scopes=ALL_SCOPES, by=OPERATOR
        )
        self.http = AgentHTTP(key)
        body = {"title": "Pay the vendor", "owner": "alice"}
        self.run = self.http.post("/runs", body).json()["id"]

    def ask(self, token: int | None = None, **members: Any) -> dict[str, Any]:
        """The first interrupt of a request to ask."""
        body = {**ask_body(**members), "fencing_token": token}
        reply = self.http.post(f"/runs/{self.run}/interrupts", body)
        assert reply.status_code in (200, 201), reply.content
        told: dict[str, Any] = reply.json()["interrupts"][0]
        return told

    def approved(self, **members: Any) -> str:
        """The id of a question that Rae approved."""
        asked = self.ask(**members)["id"]
        self.answer(asked)
        return str(asked)

    def answer(self, interrupt_id: str, kind: str = "approve", **members: Any) -> None:
        """Let Rae answer, or Alice where she hands back."""
        row = Interrupt.objects.get(pk=interrupt_id)
        user = self.cast.alice if kind == "done" else self.cast.rae
        outcome = self.cast.decide(row, user, decision=DecisionKind(kind), **members)
        assert isinstance(outcome, Interrupt), outcome

    def take(self, holder: str = "worker-1", ttl_s: int = 60) -> int:
        """The token of a lease taken now."""
        reply = self.http.post(f"/runs/{self.run}/lease", {"holder": holder, "ttl_s": ttl_s})
        assert reply.status_code == 200, reply.content
        return int(reply.json()["fencing_token"])

    def dispatch(self, interrupt_id: str, token: int, **members: Any) -> Any:
        """The answer to a dispatch of the payment under this token."""
        body = {"interrupt_id": interrupt_id, "args": PAYMENT, "fencing_token": token, **members}
        return self.http.post(f"/runs/{self.run}/dispatch", body)

    def in_flight(self) -> tuple[str, int]:
        """The id of a dispatched action, and the token that it was dispatched under."""
        interrupt_id, token = self.approved(), self.take()
        reply = self.dispatch(interrupt_id, token)
        assert reply.status_code == 201, reply.content
        return str(reply.json()["id"]), token

    def unknown(self) -> str:
        """The id of an action of which nobody knows what became of it."""
        action_id, token = self.in_flight()
        reply = self.http.post(f"/actions/{action_id}/unknown", {"fencing_token": token})
        assert reply.status_code == 200, reply.content
        return action_id

    def result(self, action_id: str, token: int, outcome: str = "succeeded", **more: Any) -> Any:
        """The answer to a result."""
        body = {"fencing_token": token, "outcome": outcome, **more}
        return self.http.post(f"/actions/{action_id}/result", body)

    def reconcile(self, action_id: str, outcome: str, **evidence: Any) -> Any:
        """The answer to a finding by this agent's key."""
        body: dict[str, Any] = {"outcome": outcome}
        if evidence:
            body["evidence"] = evidence
        return self.http.post(f"/actions/{action_id}/reconcile", body)

    def lapse(self) -> None:
        """Let the lease of the run be over."""
        Run.objects.filter(pk=self.run).update(lease_expires_at=database_now())

    @property
    def state(self) -> tuple[str, int]:
        """The run's state and revision."""
        row = Run.objects.get(pk=self.run)
        return row.state, row.revision

    def action(self, action_id: str) -> Action:
        """The action's row."""
        return Action.objects.get(pk=action_id)
