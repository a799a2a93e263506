"""Who takes part: one tenant, an owner, reviewers and an agent; and what they do, once each."""

from __future__ import annotations

from dataclasses import dataclass

from approvals.models import Interrupt
from approvals.models.answering import decide
from approvals.models.asking import ask
from approvals.models.content import NewQuestion
from approvals.rules.answering import Answer, Shown
from identity.management.reporting import OPERATOR
from identity.models import Agent, Tenant, User
from identity.roles import DEFAULT_SCOPES, Role
from placet.protocol.reading import JSONValue
from placet.protocol.states import DecisionKind, InterruptKind
from runs.models import NewRun, Run
from runs.rules.refusal import Refusal

PAYMENT: dict[str, JSONValue] = {
    "vendor_id": "V-2291",
    "invoice": "INV-88412",
    "amount_paise": 40_000_000,
}


@dataclass(frozen=True, slots=True)
class People:
    """A tenant as small as it can be, and what it does most."""

    tenant: Tenant
    owner: User
    reviewer: User
    agent: Agent
    key: str

    @classmethod
    def make(cls) -> People:
        """Everybody, in a tenant that has no policy: any reviewer may answer."""
        tenant = Tenant.create("acme", by=OPERATOR)
        agent, key = Agent.create(
            "payer", tenant=tenant, any_owner=True, scopes=DEFAULT_SCOPES, by=OPERATOR
        )
        return cls(
            tenant=tenant,
            owner=cls.person("owner", Role.MEMBER, tenant),
            reviewer=cls.person("reviewer", Role.REVIEWER, tenant),
            agent=agent,
            key=key,
        )

    @staticmethod
    def person(name: str, role: Role, tenant: Tenant) -> User:
        """One more person of the tenant."""
        return User.create(name, tenant=tenant, role=role, password="correct horse", by=OPERATOR)

    def run(self) -> Run:
        """A fresh run."""
        begun = Run.begin(NewRun(title="Pay the vendor", owner=self.owner), agent=self.agent)
        assert not isinstance(begun, Refusal)
        return begun[0]

    def ask(
        self, run: Run, call_id: str = "call-1", args: dict[str, JSONValue] = PAYMENT
    ) -> Interrupt:
        """A payment, asked in this run."""
        question = NewQuestion(
            call_id=call_id, kind=InterruptKind.APPROVAL, tool="pay_vendor", args=args
        )
        asked = ask(run.pk, [question], agent=self.agent)
        assert not isinstance(asked, Refusal), asked
        return asked.interrupts[0]

    def approve(self, interrupt: Interrupt) -> None:
        """The reviewer's approval of a question of a run's first round."""
        shown = Shown(
            user_id=self.reviewer.pk,
            interrupt_id=interrupt.pk,
            asked_sha256=interrupt.asked_sha256,
            handback=interrupt.handback,
        )
        answer = Answer(
            decision=DecisionKind.APPROVE,
            revision=interrupt.round,
            asked_sha256=interrupt.asked_sha256,
            shown=shown,
        )
        decided = decide(interrupt.pk, interrupt.run_id, user=self.reviewer, answer=answer)
        assert not isinstance(decided, Refusal), decided
