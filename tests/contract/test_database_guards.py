"""The database itself refuses what the product never does, whatever code asks for it."""

from collections.abc import Iterator, Mapping
from typing import Any

import psycopg
import pytest
from django.db import IntegrityError, connection
from django.db.models import ProtectedError
from psycopg import errors, sql

from approvals.models import Account, Decision, DisplayVersion, Interrupt, PolicyVersion, Showing
from approvals.models.observing import Observed, observe_run
from approvals.rules.observing import Seen
from audit.models import Event
from audit.numbering import number_events
from audit.sealing import seal_events
from config.roles import OWNER, RUNTIME
from identity.management.reporting import OPERATOR
from identity.models import User
from notices.models import Address, Browser, Due, Notice
from placet.protocol.states import ActionState
from runs.models import Action
from runs.models.reporting import report
from runs.rules.actions import Report
from tests.approvals.api import AgentHTTP
from tests.cast import Cast, question
from tests.contract.guards import CHECKS, COLUMNS, TRIGGERS, UNIQUE
from webhooks.models import Attempt, Delivery, Endpoint

pytestmark = pytest.mark.django_db(transaction=True)

Database = psycopg.Connection[Any]

OURS = "approvals_%|audit_%|identity_%|notices_%|runs_%|webhooks_%"
NAMED = """
SELECT name FROM (
    SELECT conrelid, conname FROM pg_constraint WHERE contype IN ('c', 'u')
    UNION ALL
    SELECT indrelid, indexrelid::regclass::name FROM pg_index
    WHERE indisunique AND indpred IS NOT NULL
    UNION ALL
    SELECT tgrelid, tgname FROM pg_trigger WHERE NOT tgisinternal
) AS named (relation, name) WHERE relation::regclass::text SIMILAR TO %s
"""


@pytest.fixture
def ids(cast: Cast) -> Mapping[str, Any]:
    """The ids of rows in every guarded table."""
    assert isinstance(PolicyVersion.set(cast.tenant, [], by=OPERATOR), PolicyVersion)
    assert isinstance(DisplayVersion.set(cast.tenant, [], by=OPERATOR), DisplayVersion)
    run = cast.run(external_id="order-1")
    decided, pending = cast.ask(run), cast.ask(run, question(call_id="call-2"))
    Showing.note(decided, to=cast.rae, is_revealed=False)
    assert isinstance(cast.decide(decided, cast.rae), Interrupt)
    AgentHTTP(cast.key).post(f"/interrupts/{pending.pk}/cancel", Idempotency_Key="k")
    pending = cast.ask(run, question(call_id="call-3"))
    action = act(cast)
    stopped = cast.run(external_id="stopped")
    stopped.cancel(by=cast.alice)
    number_events()
    seal_events()
    tell(cast.rae, pending)
    deliver(cast)
    return {
        "run": run.pk,
        "decided": decided.pk,
        "pending": pending.pk,
        "acting": action.run_id,
        "action": action.pk,
        "known": known(cast).pk,
        "stopped": stopped.pk,
        "tenant": cast.tenant.pk,
        "other_tenant": cast.other_tenant.pk,
        "agent": cast.agent.pk,
        "user": cast.rae.pk,
    }


def act(cast: Cast) -> Action:
    """An action under way in a run whose page was seen."""
    action = cast.act()
    seen = Seen(
        fencing_token=action.fencing_token,
        origin="https://bank.example",
        snapshot_sha256="a" * 64,
        observed_at=action.dispatched_at,
    )
    assert isinstance(observe_run(action.run, seen, agent=cast.agent), Observed)
    Account.register(cast.alice, origin="https://bank.example", account="a", by=OPERATOR)
    return action


def known(cast: Cast) -> Action:
    """An action that is known to have failed."""
    action = cast.act()
    told = Report(state=ActionState.FAILED, fencing_token=action.fencing_token)
    assert isinstance(report(action, told, agent=cast.agent), Action)
    return action


def tell(user: User, interrupt: Interrupt) -> None:
    """A row in every table of notices that has a guard."""
    now, mine = interrupt.created_at, {"tenant_id": user.tenant_id, "user": user}
    about = {"interrupt_id": interrupt.pk, "kind": "asked", "due_at": now}
    Address.objects.create(**mine, channel="email", address="rae@example.com", code_at=now)
    Browser.objects.create(**mine, endpoint="https://push.example.com/1")
    Due.objects.create(tenant_id=user.tenant_id, **about)
    Notice.objects.create(**mine, channel="email", **about)


def deliver(cast: Cast) -> None:
    """A row in every table of webhooks that has a guard."""
    endpoint, _ = Endpoint.add(cast.tenant, url="https://example.com/hook", by=OPERATOR)
    mine, now = {"tenant": cast.tenant}, endpoint.created_at
    delivery = Delivery.objects.create(
        **mine,
        endpoint=endpoint,
        n=1,
        type="interrupt.asked",
        body=b"{}",
        due_at=now,
        created_at=now,
    )
    Attempt.objects.create(**mine, delivery=delivery, at=now, status=200, took_ms=1, answer=b"")


@pytest.fixture(params=[RUNTIME, OWNER])
def database(ids: Mapping[str, Any], request: pytest.FixtureRequest) -> Iterator[Database]:
    """A connection as the role that serves, and as the one that owns the tables."""
    settings = connection.settings_dict
    with psycopg.connect(
        host=settings["HOST"],
        port=settings["PORT"] or None,
        dbname=settings["NAME"],
        user=request.param,
    ) as opened:
        yield opened


def broken(database: Database, statement: str, ids: Mapping[str, Any]) -> psycopg.Error | None:
    """The error of a statement, whose effect is undone, or None where it was carried out."""
    literals = {name: sql.Literal(value) for name, value in ids.items()}
    try:
        with database.transaction(force_rollback=True):
            database.execute(sql.SQL(statement).format(**literals))
    except psycopg.Error as error:
        return error
    return None


def insertion(database: Database, table: str, where: str, changes: Mapping[str, str]) -> str:
    """The statement that inserts a row of this table again, but for the changes."""
    names, values = [*changes], [*changes.values()]
    found = database.execute(COLUMNS, [names, values, table]).fetchone()
    assert found is not None
    return f"INSERT INTO {table} ({found[0]}) SELECT {found[1]} FROM {table} t WHERE {where}"


def test_every_constraint_and_trigger_is_tried(cast: Cast) -> None:
    """A new one fails here until somebody has tried to break it; Django's own are Django's."""
    with connection.cursor() as cursor:
        cursor.execute(NAMED, [OURS])
        found = {name for (name,) in cursor.fetchall() if not name.endswith("_uniq")}

    assert found == CHECKS.keys() | UNIQUE.keys() | TRIGGERS.keys()


def test_every_constraint_holds(database: Database, ids: Mapping[str, Any]) -> None:
    statements = CHECKS | {name: insertion(database, *again) for name, again in UNIQUE.items()}
    held = {}
    for name, statement in statements.items():
        match broken(database, statement, ids):
            case errors.CheckViolation() | errors.UniqueViolation() as error:
                held[name] = error.diag.constraint_name
            case other:
                held[name] = str(other)

    assert held == {name: name for name in statements}


def test_every_trigger_holds(database: Database, ids: Mapping[str, Any]) -> None:
    """H-27: people, agents, tenants and evidence stay, also for the owner of the tables."""
    refusals: tuple[type[psycopg.Error], ...] = (
        errors.IntegrityConstraintViolation,
        errors.RestrictViolation,
    )
    if database.info.user == RUNTIME:
        refusals += (errors.InsufficientPrivilege,)  # it lacks the right, so no trigger is asked

    tried = {
        statement: broken(database, statement, ids)
        for statements in TRIGGERS.values()
        for statement in statements
    }

    assert [entry for entry in tried.items() if not isinstance(entry[1], refusals)] == []


def test_models_of_people_refuse_to_be_deleted(cast: Cast) -> None:
    """H-27: through the ORM as well; what they decided stays with their name."""
    interrupt = cast.ask(cast.run())
    cast.decide(interrupt, cast.rae)
    events = Event.objects.count()

    for row in (cast.rae, cast.agent, cast.tenant, interrupt):
        with pytest.raises((ProtectedError, IntegrityError)):
            row.delete()

    assert Decision.objects.get(interrupt=interrupt).by_name == "rae"
    assert Event.objects.count() == events
