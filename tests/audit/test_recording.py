"""Events are appended in order, in one statement, each to its own chain."""

from datetime import datetime
from threading import Barrier, Thread
from typing import TYPE_CHECKING

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from audit.chain import EMPTY_HEAD, Head
from audit.models import Event, TenantChain, Unnumbered
from audit.record import Actor, ActorKind, Draft, Refused, record, record_for_tenant
from placet.protocol.refusals import RefusalCode

if TYPE_CHECKING:
    from tests.audit.conftest import History

pytestmark = pytest.mark.django_db


def test_an_event_is_stored_as_it_was_told(alice: Actor, noon: datetime) -> None:
    """H-27: the actor's id and name stay as they were, for nothing refers to a user's row."""
    draft = Draft(
        type="command.refused",
        actor=alice,
        interrupt_id="int_a",
        action_id="act_a",
        agent_id=5,
        tool="pay_vendor",
        from_state="PENDING",
        to_state="DECIDED",
        revision=3,
        digest="d" * 64,
        content_sha256="c" * 64,
        refused=Refused(RefusalCode.STALE_REVISION, {"revision": 2}, {"revision": 3}),
        detail={"reason": "late", "command": "decide"},
    )

    head = record(tenant_id=1, run_id="run_a", head=EMPTY_HEAD, at=noon, drafts=[draft])

    event = Event.objects.get(tenant_id=1, run_id="run_a")
    assert head == Head(1, event.computed_hash())
    assert event.members() == {
        "tenant_id": 1,
        "run_id": "run_a",
        "run_seq": 1,
        "type": "command.refused",
        "at": "2031-05-04T12:00:00.000250Z",
        "actor_kind": "user",
        "actor_id": "101",
        "actor_name": "Alice",
        "interrupt_id": "int_a",
        "action_id": "act_a",
        "agent_id": 5,
        "tool": "pay_vendor",
        "from_state": "PENDING",
        "to_state": "DECIDED",
        "revision": 3,
        "digest": "d" * 64,
        "content_sha256": "c" * 64,
        "code": "stale_revision",
        "refused": '{"code":"stale_revision","current":{"revision":3},"given":{"revision":2}}',
        "detail": '{"command":"decide","reason":"late"}',
        "previous_hash": "",
    }


def test_drafts_are_chained_in_their_order_by_one_statement(history: "History") -> None:
    history.tell("run_a")
    before = history.heads[history.tenant_id, "run_a"]

    with CaptureQueriesContext(connection) as queries:
        head = history.tell("run_a", *(history.draft(f"type.{i}") for i in range(50)))

    events = list(Event.objects.filter(run_id="run_a", run_seq__gt=1).order_by("id"))
    assert len(queries) == 1
    assert [event.type for event in events] == [f"type.{i}" for i in range(50)]
    assert [event.run_seq for event in events] == list(range(2, 52))
    assert [event.previous_hash for event in events] == [
        before.hash,
        *(event.hash for event in events[:-1]),
    ]
    assert head == Head(51, events[-1].hash)


def test_every_event_waits_for_its_number(history: "History") -> None:
    history.tell("run_a", history.draft(), history.draft())

    waiting = Unnumbered.objects.filter(tenant_id=history.tenant_id).order_by("event_id")
    events = Event.objects.filter(tenant_id=history.tenant_id).order_by("id")
    assert [row.event_id for row in waiting] == [event.id for event in events]


def test_no_drafts_are_no_statement(noon: datetime) -> None:
    with CaptureQueriesContext(connection) as queries:
        head = record(tenant_id=1, run_id="run_a", head=Head(4, "h"), at=noon, drafts=[])

    assert (len(queries), head) == (0, Head(4, "h"))


def test_a_head_that_is_not_the_newest_is_an_error(history: "History", noon: datetime) -> None:
    history.tell("run_a")

    with pytest.raises(IntegrityError), transaction.atomic():
        record(
            tenant_id=history.tenant_id,
            run_id="run_a",
            head=EMPTY_HEAD,
            at=noon,
            drafts=[history.draft()],
        )


def test_runs_and_the_tenant_have_chains_of_their_own(history: "History") -> None:
    history.tell("run_a")
    history.tell("run_b")
    record_for_tenant(tenant_id=history.tenant_id, drafts=[history.draft("user.created")] * 2)
    record_for_tenant(tenant_id=history.other_tenant_id, drafts=[history.draft("user.created")])

    chains = Event.objects.order_by("id").values_list("tenant_id", "run_id", "run_seq")
    assert list(chains) == [
        (history.tenant_id, "run_a", 1),
        (history.tenant_id, "run_b", 1),
        (history.tenant_id, None, 1),
        (history.tenant_id, None, 2),
        (history.other_tenant_id, None, 1),
    ]
    last = Event.objects.get(tenant_id=history.tenant_id, run_id=None, run_seq=2)
    assert TenantChain.objects.get(tenant_id=history.tenant_id).head == Head(2, last.hash)


@pytest.mark.django_db(transaction=True)
def test_writers_of_a_tenants_chain_take_turns_from_its_first_event_on() -> None:
    writers, each = 8, 5
    barrier = Barrier(writers, timeout=10)

    def write() -> None:
        try:
            barrier.wait()
            for _ in range(each):
                actor = Actor(ActorKind.OPERATOR, "cli", "operator")
                record_for_tenant(tenant_id=7003, drafts=[Draft(type="x", actor=actor)])
        finally:
            connection.close()

    threads = [Thread(target=write) for _ in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    events = list(Event.objects.filter(tenant_id=7003).order_by("run_seq"))
    assert [event.run_seq for event in events] == list(range(1, writers * each + 1))
    assert [event.id for event in events] == sorted(event.id for event in events)
    assert [event.at for event in events] == sorted(event.at for event in events)
