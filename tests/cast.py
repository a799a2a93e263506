"""The cast of the tests: the same people everywhere, so that a reader knows them.

Alice owns the run, Rae reviews, Bob is in the tenant without the right, Ada is its admin, Otto
its auditor. Mallory reviews in another tenant, which has data that could leak.
"""

import math
import pickle
import time
from dataclasses import dataclass, field
from typing import Any

from django.db import connection, transaction
from psycopg import sql

from approvals.models import Interrupt
from approvals.models.answering import decide
from approvals.models.asking import ask
from approvals.models.content import NewQuestion
from approvals.models.dispatching import Wanted, dispatch
from approvals.rules.answering import Answer, Shown
from identity.management.reporting import OPERATOR
from identity.models import Agent, Tenant, User
from identity.roles import DEFAULT_SCOPES, Role
from placet.protocol.states import DecisionKind, InterruptKind
from runs.api import http
from runs.models import Action, NewRun, Run
from runs.rules.lease import NewLease
from runs.rules.refusal import Refusal
from tests.owner import KEPT

FRESH_S = 5.0
"""How old a cast may be: what was noted of it must not have waited for long."""
PASSWORD = "correct horse battery"
PAYMENT = {"vendor_id": "V-2291", "invoice": "INV-88412", "amount_paise": 40_000_000}
PAYMENT_SHA256 = "8f15543ca205b50288d669a6087b5b06fcfca5fd8ba8a52f67069b5a363d1b15"
EDITABLE: dict[str, Any] = {
    "type": "object",
    "properties": {"amount_paise": {"type": "integer", "minimum": 1}},
}


@dataclass(frozen=True)
class Cast:
    """Everybody, and what they do most."""

    tenant: Tenant
    alice: User
    rae: User
    rob: User
    bob: User
    ada: User
    otto: User
    agent: Agent
    key: str
    other_tenant: Tenant
    mallory: User
    other_agent: Agent
    other_key: str

    def run(self, **members: Any) -> Run:
        """A fresh run that Alice owns."""
        begun = Run.begin(
            NewRun(**{"title": "Pay the vendor", "owner": self.alice, **members}),
            agent=self.agent,
        )
        assert not isinstance(begun, Refusal)
        return begun[0]

    def other_run(self) -> Run:
        """A run of the other tenant."""
        begun = Run.begin(NewRun(title="Secret plan", owner=self.mallory), agent=self.other_agent)
        assert not isinstance(begun, Refusal)
        return begun[0]

    def ask(self, run: Run, *questions: NewQuestion) -> Interrupt:
        """The first of these questions, asked; a payment where none is given."""
        agent = self.agent if run.tenant_id == self.tenant.pk else self.other_agent
        asked = ask(run.pk, questions or [question()], agent=agent)
        assert not isinstance(asked, Refusal), asked
        return asked.interrupts[0]

    def decide(self, interrupt: Interrupt, user: User, **members: Any) -> Interrupt | Refusal:
        """Post an answer from a page that showed this question to this person."""
        return decide(
            interrupt.pk, interrupt.run_id, user=user, answer=answer(interrupt, user, **members)
        )

    def act(self) -> Action:
        """An action that is under way, approved by Rae, in a run of its own."""
        run = self.run()
        asked = self.ask(run)
        assert isinstance(self.decide(asked, self.rae), Interrupt)
        lease = NewLease("worker", 600)
        wanted = Wanted(interrupt_id=asked.pk, args=dict(PAYMENT), lease=lease)
        action = dispatch(run.pk, wanted, agent=self.agent)
        assert isinstance(action, Action), action
        return action


def question(**members: Any) -> NewQuestion:
    """A question about the payment."""
    return NewQuestion(
        **{
            "call_id": "call-1",
            "kind": InterruptKind.APPROVAL,
            "tool": "pay_vendor",
            "args": PAYMENT,
            **members,
        }
    )


def answer(interrupt: Interrupt, user: User, **members: Any) -> Answer:
    """An approval with everything that the page would send; members replace parts of it."""
    run = Run.objects.get(pk=interrupt.run_id)
    shown = Shown(
        user_id=user.pk,
        interrupt_id=interrupt.pk,
        asked_sha256=interrupt.asked_sha256,
        handback=interrupt.handback,
    )
    return Answer(
        **{
            "decision": DecisionKind.APPROVE,
            "revision": run.revision,
            "asked_sha256": interrupt.asked_sha256,
            "shown": shown,
            **members,
        }
    )


def make_cast() -> Cast:
    """Both tenants with everybody in them."""
    tenant = Tenant.create("acme", by=OPERATOR)
    other = Tenant.create("globex", by=OPERATOR)

    def person(name: str, role: Role, where: Tenant = tenant, groups: tuple[str, ...] = ()) -> User:
        return User.create(
            name, tenant=where, role=role, groups=groups, password=PASSWORD, by=OPERATOR
        )

    alice = person("alice", Role.MEMBER)
    mallory = person("mallory", Role.REVIEWER, other)
    agent, key = Agent.create(
        "payer", tenant=tenant, any_owner=True, scopes=DEFAULT_SCOPES, by=OPERATOR
    )
    other_agent, other_key = Agent.create(
        "payer", tenant=other, any_owner=True, scopes=DEFAULT_SCOPES, by=OPERATOR
    )
    return Cast(
        tenant=tenant,
        alice=alice,
        rae=person("rae", Role.REVIEWER, groups=("finance",)),
        rob=person("rob", Role.REVIEWER, groups=("ops",)),
        bob=person("bob", Role.MEMBER),
        ada=person("ada", Role.ADMIN),
        otto=person("otto", Role.AUDITOR),
        agent=agent,
        key=key,
        other_tenant=other,
        mallory=mallory,
        other_agent=other_agent,
        other_key=other_key,
    )


@dataclass(slots=True)
class Template:
    """A cast that was made a moment ago, and its rows, so that having it again costs little.

    Everybody then has the same ids, keys and password.
    """

    taken_at: float = -math.inf
    pickled: bytes = b""
    rows: dict[str, bytes] = field(default_factory=dict)

    def make(self) -> Cast:
        """The cast with all its rows, as if just made, in a database without a cast."""
        http._buckets.cache_clear()  # they are of one key; no test uses up another's requests
        if time.monotonic() - self.taken_at > FRESH_S:
            return self._take()
        with transaction.atomic(), connection.cursor() as cursor:
            for table, some in self.rows.items():
                copy = sql.SQL("COPY {} FROM STDIN").format(sql.Identifier(table))
                with cursor.copy(copy) as written:
                    written.write(some)
        cast: Cast = pickle.loads(self.pickled)
        return cast

    def _take(self) -> Cast:
        """Make it anew, and keep its rows, unless there are others to be told from them."""
        is_alone = not _all_rows()
        cast = make_cast()
        if is_alone:
            self.taken_at = time.monotonic()
            self.pickled, self.rows = pickle.dumps(cast), _all_rows()
        return cast


def _all_rows() -> dict[str, bytes]:
    """What the tables hold, but for those that the schema fills."""
    found = {}
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            copy = sql.SQL("COPY {} TO STDOUT").format(sql.Identifier(table))
            with cursor.copy(copy) as read:
                found[table] = b"".join(bytes(block) for block in read)
    return {table: rows for table, rows in found.items() if rows and table not in KEPT}
