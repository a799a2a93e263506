"""A made-up history: runs whose heads live here as those of real runs live in their rows."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest
from django.db import connection

from audit.chain import EMPTY_HEAD, Head
from audit.models import Event
from audit.record import Actor, ActorKind, Draft, record
from audit.subjects import Subjects
from config.roles import OWNER, RUNTIME
from tests.postgres import connect_as

ALICE = Actor(ActorKind.USER, "101", "Alice")
RAE = Actor(ActorKind.USER, "102", "Rae")
NOON = datetime(2031, 5, 4, 12, 0, 0, 250, tzinfo=UTC)


@dataclass
class History:
    """Writes events of runs, and is what audit verifies them against."""

    tenant_id: int = 7001
    other_tenant_id: int = 7002
    heads: dict[tuple[int, str], Head] = field(default_factory=dict)
    contents: dict[int, str] = field(default_factory=dict)

    def tell(self, run_id: str, *drafts: Draft, tenant_id: int | None = None) -> Head:
        """Record events of a run and keep its head."""
        tenant_id = tenant_id or self.tenant_id
        head = record(
            tenant_id=tenant_id,
            run_id=run_id,
            head=self.heads.get((tenant_id, run_id), EMPTY_HEAD),
            at=NOON,
            drafts=drafts or [self.draft()],
        )
        self.heads[tenant_id, run_id] = head
        return head

    def draft(
        self, type_: str = "run.state_changed", actor: Actor = ALICE, **rest: object
    ) -> Draft:
        """Give a draft of an event."""
        return Draft(type=type_, actor=actor, **rest)  # type: ignore[arg-type]

    def subjects(self) -> Subjects:
        """Give the readers that other apps would register."""
        return Subjects(
            tenants=lambda: [(self.tenant_id, "acme"), (self.other_tenant_id, "globex")],
            run_heads=self._run_heads,
            contents=[self._contents],
        )

    def _run_heads(
        self, tenant_id: int, run_ids: Sequence[str] | None, /
    ) -> Iterator[tuple[str, Head]]:
        for (owner, run_id), head in self.heads.items():
            if owner == tenant_id and (run_ids is None or run_id in run_ids):
                yield run_id, head

    def _contents(self, events: Sequence[Event], /) -> Mapping[int, str]:
        return {event.id: self.contents[event.id] for event in events if event.id in self.contents}


@pytest.fixture(autouse=True, scope="module")
def as_owner(
    django_db_setup: None,
    django_db_blocker: "pytest_django.DjangoDbBlocker",  # type: ignore[name-defined]  # noqa: F821
) -> Iterator[None]:
    """Work as the owner of the tables, who alone can try to alter them."""
    with django_db_blocker.unblock():
        connect_as(OWNER)
    yield
    with django_db_blocker.unblock():
        connect_as(RUNTIME)


@pytest.fixture
def history() -> History:
    return History()


@pytest.fixture
def alice() -> Actor:
    return ALICE


@pytest.fixture
def rae() -> Actor:
    return RAE


@pytest.fixture
def noon() -> datetime:
    return NOON


Tamper = Callable[[], AbstractContextManager[None]]


@pytest.fixture
def tamper() -> Tamper:
    """What somebody with the rights of the database's administrator can do."""
    return _without_triggers


@contextmanager
def _without_triggers() -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        try:
            yield
        finally:
            cursor.execute("SET session_replication_role = origin")
