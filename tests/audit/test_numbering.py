"""Numbers are contiguous, follow every chain, and nothing smaller appears later."""

from collections.abc import Callable, Iterable
from datetime import datetime
from functools import partial
from threading import Barrier, Thread
from threading import Event as Flag
from typing import TYPE_CHECKING

import pytest
from django.db import connection, transaction
from django.db.utils import OperationalError

from audit.chain import EMPTY_HEAD
from audit.models import Event, Numbered, Unnumbered
from audit.numbering import Numberer, number_events
from audit.record import record

if TYPE_CHECKING:
    from tests.audit.conftest import History


def _in_thread(work: Callable[[], object]) -> Thread:
    def run() -> None:
        try:
            work()
        finally:
            connection.close()

    thread = Thread(target=run)
    thread.start()
    return thread


@pytest.mark.django_db
def test_each_tenants_events_are_numbered_from_one_in_order(history: "History") -> None:
    history.tell("run_a")
    history.tell("run_x", tenant_id=history.other_tenant_id)
    history.tell("run_b")

    assert (number_events(), number_events()) == (3, 0)
    history.tell("run_a")
    assert number_events() == 1

    told = Numbered.objects.order_by("tenant_id", "n")
    assert [(row.tenant_id, row.n, row.event.run_id, row.event.run_seq) for row in told] == [
        (history.tenant_id, 1, "run_a", 1),
        (history.tenant_id, 2, "run_b", 1),
        (history.tenant_id, 3, "run_a", 2),
        (history.other_tenant_id, 1, "run_x", 1),
    ]
    assert not Unnumbered.objects.exists()


@pytest.mark.django_db
def test_a_batch_takes_the_oldest_first(history: "History") -> None:
    history.tell("run_a", *[history.draft()] * 5)

    assert [number_events(limit=2) for _ in range(4)] == [2, 2, 1, 0]

    told = Numbered.objects.order_by("n").values_list("n", "event__run_seq")
    assert list(told) == [(i, i) for i in range(1, 6)]


@pytest.mark.django_db(transaction=True)
def test_whose_events_got_numbers_is_told_after_the_commit(history: "History") -> None:
    told: list[tuple[set[int], int]] = []

    def tell(tenant_ids: Iterable[int]) -> None:
        assert not connection.in_atomic_block
        told.append((set(tenant_ids), Numbered.objects.count()))

    history.tell("run_a", *[history.draft()] * 2)
    history.tell("run_x", tenant_id=history.other_tenant_id)
    numberer = Numberer(tell=tell)
    try:
        assert [numberer.step(limit=2) for _ in range(3)] == [2, 1, 0]
    finally:
        numberer.release()

    assert told == [({history.tenant_id}, 2), ({history.other_tenant_id}, 3)]


@pytest.mark.django_db(transaction=True)
def test_an_event_committed_late_gets_a_later_number(history: "History") -> None:
    drawn, may_commit = Flag(), Flag()

    def late() -> None:
        with transaction.atomic():
            history.tell("run_late")
            drawn.set()
            assert may_commit.wait(10)

    thread = _in_thread(late)
    assert drawn.wait(10)
    history.tell("run_early")
    number_events()
    may_commit.set()
    thread.join(10)
    number_events()

    in_order = Numbered.objects.order_by("n").values_list("n", "event__run_id")
    ids = dict(Event.objects.values_list("run_id", "id"))
    assert list(in_order) == [(1, "run_early"), (2, "run_late")]
    assert ids["run_late"] < ids["run_early"]


@pytest.mark.django_db(transaction=True)
def test_numbers_stay_contiguous_under_writers_and_two_numberers(
    history: "History", noon: datetime
) -> None:
    writers, events = 4, 40
    barrier, done = Barrier(writers + 2, timeout=10), Flag()

    def write(run_id: str) -> None:
        barrier.wait()
        for i in range(events):
            with transaction.atomic():
                record(
                    tenant_id=history.tenant_id if i % 2 else history.other_tenant_id,
                    run_id=f"{run_id}_{i}",
                    head=EMPTY_HEAD,
                    at=noon,
                    drafts=[history.draft()] * 3,
                )

    def number() -> None:
        barrier.wait()
        while not done.is_set():
            number_events(limit=7)

    writing = [_in_thread(partial(write, f"run_{i}")) for i in range(writers)]
    numbering = [_in_thread(number) for _ in range(2)]
    for thread in writing:
        thread.join(60)
    done.set()
    for thread in numbering:
        thread.join(60)
    while number_events():
        pass

    for tenant_id in (history.tenant_id, history.other_tenant_id):
        rows = list(Numbered.objects.filter(tenant_id=tenant_id).order_by("n"))
        assert [row.n for row in rows] == list(range(1, writers * events // 2 * 3 + 1))
        by_run: dict[str | None, list[int]] = {}
        for row in rows:
            by_run.setdefault(row.event.run_id, []).append(row.event.run_seq)
        assert set(map(tuple, by_run.values())) == {(1, 2, 3)}


@pytest.mark.django_db(transaction=True)
def test_one_numberer_is_active_and_another_takes_over_when_it_is_gone(history: "History") -> None:
    history.tell("run_a")
    one, other = Numberer(), Numberer()
    try:
        assert one.acquire()
        assert one.acquire()
        assert not other.acquire()
        assert (other.step(), one.step()) == (0, 1)

        history.tell("run_a")
        one.release()

        assert other.step() == 1
        assert one.step() == 0
    finally:
        one.release()
        other.release()


@pytest.mark.django_db(transaction=True)
def test_a_numberer_that_lost_its_session_is_no_longer_active(history: "History") -> None:
    history.tell("run_a")
    one, other = Numberer(), Numberer()
    try:
        assert one.acquire()
        _end_elected_sessions()

        assert other.step() == 1
        with pytest.raises(OperationalError):
            one.step()
        assert not one.acquire()
    finally:
        one.release()
        other.release()


def _end_elected_sessions() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_locks JOIN pg_database"
            " ON pg_database.oid = pg_locks.database AND datname = current_database()"
            " WHERE locktype = 'advisory' AND pid <> pg_backend_pid()"
        )
