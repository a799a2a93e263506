"""Repeated refusals are counted, and every count is recorded in the end."""

import json
from datetime import datetime, timedelta
from threading import Barrier, Thread
from typing import TYPE_CHECKING

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit.chain import EMPTY_HEAD, Head
from audit.models import Event, RefusalWindow
from audit.record import Actor, Draft, Refused
from audit.refusals import (
    due_flushes,
    flush,
    flush_for_tenant,
    note_refusal,
    note_refusal_for_tenant,
)
from placet.protocol.refusals import RefusalCode

if TYPE_CHECKING:
    from tests.audit.conftest import History

pytestmark = pytest.mark.django_db


def _refusal(
    actor: Actor, code: RefusalCode = RefusalCode.EXPIRED, digest: str | None = "d1"
) -> Draft:
    return Draft(
        type="command.refused",
        actor=actor,
        interrupt_id="int_a",
        digest=digest,
        refused=Refused(code, {"asked_sha256": digest}, {"state": "EXPIRED"}),
        detail={"page": "question"},
    )


class Run:
    """A run whose commands are refused."""

    def __init__(self, history: "History") -> None:
        self.history = history
        self.head = EMPTY_HEAD

    def refuse(self, draft: Draft, at: datetime, object_id: str = "int_a") -> None:
        self.head = self._keep(
            note_refusal(
                tenant_id=self.history.tenant_id,
                run_id="run_a",
                head=self.head,
                at=at,
                draft=draft,
                command="decide",
                object_id=object_id,
            )
        )

    def flush(self, at: datetime) -> None:
        self.head = self._keep(
            flush(tenant_id=self.history.tenant_id, run_id="run_a", head=self.head, at=at)
        )

    def _keep(self, head: Head) -> Head:
        self.history.heads[self.history.tenant_id, "run_a"] = head
        return head


@pytest.fixture
def run(history: "History") -> Run:
    return Run(history)


def _told(run_id: str | None = "run_a") -> list[tuple[str | None, str, int | None]]:
    events = Event.objects.filter(run_id=run_id).order_by("run_seq")
    return [
        (event.code, event.actor_name, json.loads(event.detail).get("repeated")) for event in events
    ]


def test_the_first_refusal_is_recorded_at_once_with_what_was_given_and_current(
    run: Run, alice: Actor, noon: datetime
) -> None:
    with CaptureQueriesContext(connection) as queries:
        run.refuse(_refusal(alice), noon)

    event = Event.objects.get()
    assert len(queries) == 2
    assert run.head == Head(1, event.hash)
    assert (event.type, event.code, event.interrupt_id) == ("command.refused", "expired", "int_a")
    assert json.loads(event.refused or "") == {
        "code": "expired",
        "given": {"asked_sha256": "d1"},
        "current": {"state": "EXPIRED"},
    }
    assert json.loads(event.detail) == {"command": "decide", "object": "int_a", "page": "question"}


def test_equal_refusals_within_a_minute_only_raise_the_counter(
    run: Run, alice: Actor, noon: datetime
) -> None:
    run.refuse(_refusal(alice), noon)

    with CaptureQueriesContext(connection) as queries:
        run.refuse(_refusal(alice), noon + timedelta(seconds=1))
    run.refuse(_refusal(alice), noon + timedelta(seconds=59.9))

    assert len(queries) == 1
    assert _told() == [("expired", "Alice", None)]
    assert RefusalWindow.objects.get().count == 2


def test_another_caller_code_digest_or_object_is_a_refusal_of_its_own(
    run: Run, alice: Actor, rae: Actor, noon: datetime
) -> None:
    run.refuse(_refusal(alice), noon)
    run.refuse(_refusal(rae), noon)
    run.refuse(_refusal(alice, RefusalCode.CANCELLED), noon)
    run.refuse(_refusal(alice, digest="d2"), noon)
    run.refuse(_refusal(alice, digest=None), noon)
    run.refuse(_refusal(alice), noon, object_id="int_b")

    assert len(_told()) == 6


def test_the_next_different_refusal_records_the_counters_before_itself(
    run: Run, alice: Actor, rae: Actor, noon: datetime
) -> None:
    for second in range(4):
        run.refuse(_refusal(alice), noon + timedelta(seconds=second))

    with CaptureQueriesContext(connection) as queries:
        run.refuse(_refusal(rae), noon + timedelta(seconds=5))

    assert len(queries) == 3
    assert _told() == [
        ("expired", "Alice", None),
        ("expired", "Alice", 3),
        ("expired", "Rae", None),
    ]
    repeated = Event.objects.get(run_seq=2)
    assert (repeated.interrupt_id, repeated.digest) == ("int_a", "d1")
    assert json.loads(repeated.detail)["object"] == "int_a"


def test_two_refusals_in_turn_do_not_fill_the_record(
    run: Run, alice: Actor, rae: Actor, noon: datetime
) -> None:
    for second in range(0, 50, 2):
        run.refuse(_refusal(alice), noon + timedelta(seconds=second))
        run.refuse(_refusal(rae), noon + timedelta(seconds=second + 1))

    assert len(_told()) == 2
    assert sum(RefusalWindow.objects.values_list("count", flat=True)) == 48


def test_after_a_minute_an_equal_refusal_is_a_first_one_again_and_tells_the_count(
    run: Run, alice: Actor, noon: datetime
) -> None:
    run.refuse(_refusal(alice), noon)
    run.refuse(_refusal(alice), noon + timedelta(seconds=30))

    run.refuse(_refusal(alice), noon + timedelta(seconds=60))
    run.refuse(_refusal(alice), noon + timedelta(seconds=61))

    assert _told() == [
        ("expired", "Alice", None),
        ("expired", "Alice", 1),
        ("expired", "Alice", None),
    ]
    assert RefusalWindow.objects.get().count == 1


def test_flushing_records_only_windows_that_are_over(
    run: Run, alice: Actor, rae: Actor, noon: datetime
) -> None:
    for actor, second in [(alice, 0), (rae, 30), (alice, 31), (rae, 32)]:
        run.refuse(_refusal(actor), noon + timedelta(seconds=second))

    run.flush(noon + timedelta(seconds=60))

    assert _told()[2:] == [("expired", "Alice", 1)]
    assert RefusalWindow.objects.get().actor_id == rae.id

    run.flush(noon + timedelta(seconds=90))
    run.flush(noon + timedelta(seconds=90))

    assert _told()[2:] == [("expired", "Alice", 1), ("expired", "Rae", 1)]
    assert not RefusalWindow.objects.exists()
    assert run.head.seq == 4


def _note_for_tenant(history: "History", draft: Draft, object_id: str = "run_zz") -> None:
    note_refusal_for_tenant(
        tenant_id=history.tenant_id, draft=draft, command="get_run", object_id=object_id
    )


def _age(seconds: float) -> None:
    for window in RefusalWindow.objects.all():
        window.opened_at -= timedelta(seconds=seconds)
        window.save()


def test_without_a_run_refusals_are_counted_on_the_tenants_chain(
    history: "History", alice: Actor, rae: Actor
) -> None:
    unknown = _refusal(alice, RefusalCode.NOT_FOUND)
    _note_for_tenant(history, unknown)
    with CaptureQueriesContext(connection) as queries:
        _note_for_tenant(history, unknown)
    _note_for_tenant(history, _refusal(rae, RefusalCode.NOT_FOUND))

    assert len(queries) == 1
    assert _told(None) == [("not_found", "Alice", None), ("not_found", "Rae", None)]

    _note_for_tenant(history, unknown, object_id="run_yy")

    assert _told(None)[2:] == [("not_found", "Alice", 1), ("not_found", "Alice", None)]


def test_the_sweeper_finds_what_is_due_and_forgets_what_was_not_repeated(
    history: "History", run: Run, alice: Actor, rae: Actor, noon: datetime
) -> None:
    now = datetime.now(noon.tzinfo)
    run.refuse(_refusal(alice), now)
    run.refuse(_refusal(alice), now)
    run.refuse(_refusal(rae), now + timedelta(microseconds=1))
    run.refuse(_refusal(rae), now + timedelta(microseconds=2))
    _note_for_tenant(history, _refusal(alice))
    _note_for_tenant(history, _refusal(alice))
    assert due_flushes(10) == []

    _age(61)
    assert sorted(due_flushes(10), key=str) == [
        (history.tenant_id, "run_a"),
        (history.tenant_id, None),
    ]
    assert len(due_flushes(1)) == 1

    run.flush(now + timedelta(seconds=61))
    flush_for_tenant(history.tenant_id)

    assert due_flushes(10) == []
    assert _told(None) == [("expired", "Alice", None), ("expired", "Alice", 1)]
    _note_for_tenant(history, _refusal(rae))
    _age(61)
    assert due_flushes(10) == []
    assert not RefusalWindow.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_of_equal_refusals_at_once_one_is_recorded_and_all_are_counted(
    history: "History", alice: Actor
) -> None:
    callers, rounds = 6, 10
    barrier = Barrier(callers, timeout=20)

    def refuse() -> None:
        try:
            for i in range(rounds):
                barrier.wait()
                _note_for_tenant(history, _refusal(alice), object_id=f"run_{i}")
        finally:
            connection.close()

    threads = [Thread(target=refuse) for _ in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    _age(61)
    flush_for_tenant(history.tenant_id)

    told = _told(None)
    assert len([repeated for *_, repeated in told if repeated is None]) == rounds
    assert sum(repeated or 1 for *_, repeated in told) == callers * rounds
