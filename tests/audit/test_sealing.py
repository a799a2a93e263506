"""Seals commit to what was numbered until then; what no longer fits one is found."""

import threading
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
import structlog
from django.db import connection, connections

from audit import sealing
from audit.chain import Head
from audit.flaws import Bad, Flaw
from audit.lag import last_seal, number_lag, unsealed_count, whole_number_lag
from audit.merkle import merkle_root
from audit.models import Event, Numbered, Seal
from audit.numbering import number_events
from audit.record import record_for_tenant
from audit.sealing import seal_events
from audit.verify import Report, verify
from tests.audit.conftest import NOON

if TYPE_CHECKING:
    from tests.audit.conftest import History, Tamper

pytestmark = pytest.mark.django_db


@pytest.fixture
def sealed(history: "History", monkeypatch: pytest.MonkeyPatch) -> "History":
    """Seven events of a tenant in seals of up to three; another tenant has one."""
    monkeypatch.setattr(sealing, "SEAL_EVENTS", 3)
    record_for_tenant(tenant_id=history.tenant_id, drafts=[history.draft("tenant.created")])
    record_for_tenant(tenant_id=history.other_tenant_id, drafts=[history.draft("tenant.created")])
    history.tell("run_a", *[history.draft(revision=1)] * 6)
    number_events()
    assert [seal_events() for _ in range(4)] == [4, 3, 1, 0]
    return history


def report(history: "History") -> Report:
    return verify(history.tenant_id, subjects=history.subjects())


def bad(history: "History", flaw: Flaw, n: int, event_id: int | None = None) -> Bad:
    return Bad(flaw=flaw, tenant_id=history.tenant_id, n=n, event_id=event_id)


def event_with(history: "History", n: int) -> int:
    return Numbered.objects.get(tenant_id=history.tenant_id, n=n).event_id


def head_of(run_seq: int) -> Head:
    """The head that a forger would set back."""
    return Head(run_seq, Event.objects.get(run_id="run_a", run_seq=run_seq).hash)


def test_each_seal_commits_to_the_events_since_the_one_before(sealed: "History") -> None:
    seals = list(Seal.objects.filter(tenant_id=sealed.tenant_id).order_by("seq"))
    events = Event.objects.filter(tenant_id=sealed.tenant_id).order_by("numbered__n")
    hashes = [text.encode() for text in events.values_list("hash", flat=True)]

    assert [(seal.seq, seal.last_n) for seal in seals] == [(1, 3), (2, 6), (3, 7)]
    assert [seal.root for seal in seals] == [
        merkle_root(hashes[:3]),
        merkle_root(hashes[3:6]),
        merkle_root(hashes[6:]),
    ]
    assert [seal.previous_hash for seal in seals] == ["", seals[0].hash, seals[1].hash]
    assert len({seal.hash for seal in Seal.objects.all()}) == 4


def test_a_sealed_record_is_intact_and_names_its_last_seal(sealed: "History") -> None:
    sealed.tell("run_a")
    number_events()
    seal = last_seal(sealed.tenant_id)
    assert seal is not None

    assert report(sealed).shape() == {
        "ok": True,
        "events": 8,
        "seal": {"seq": 3, "last_n": 7, "hash": seal.hash},
        "first_bad": None,
    }


def test_a_seal_is_told_to_the_log_without_anything_else(history: "History") -> None:
    record_for_tenant(tenant_id=history.tenant_id, drafts=[history.draft("tenant.created")])
    number_events()

    with structlog.testing.capture_logs() as told:
        seal_events()

    seal = last_seal(history.tenant_id)
    assert seal is not None
    assert told == [
        {
            "event": "audit.sealed",
            "log_level": "info",
            "tenant": history.tenant_id,
            "seal": 1,
            "last_n": 1,
            "hash": seal.hash,
        }
    ]


def test_the_newest_events_cut_off_with_numbers_and_head_are_missed_by_their_seal(
    sealed: "History", tamper: "Tamper"
) -> None:
    lost = Event.objects.get(run_id="run_a", run_seq=6)
    with tamper():
        Numbered.objects.filter(event_id=lost.id).delete()
        Event.objects.filter(id=lost.id).delete()
    sealed.heads[sealed.tenant_id, "run_a"] = head_of(5)

    assert report(sealed).first_bad == bad(sealed, Flaw.SEAL_NOT_REACHED, 7)


def test_a_chain_rebuilt_together_with_its_head_is_missed_by_its_seal(
    sealed: "History", tamper: "Tamper"
) -> None:
    with tamper():
        last = Event.objects.get(run_id="run_a", run_seq=6)
        last.actor_name = "Mallory"
        last.hash = last.computed_hash()
        last.save()
    sealed.heads[sealed.tenant_id, "run_a"] = head_of(6)

    assert report(sealed).first_bad == bad(sealed, Flaw.SEAL, 7, event_with(sealed, 7))


@pytest.mark.parametrize(
    ("change", "n"),
    [
        ("UPDATE audit_seal SET root = repeat('0', 64) WHERE seq = 2", 6),
        ("UPDATE audit_seal SET hash = repeat('0', 64) WHERE seq = 1", 3),
        ("UPDATE audit_seal SET at = now() WHERE seq = 3", 7),
        ("UPDATE audit_seal SET last_n = 5 WHERE seq = 2", 5),
        ("UPDATE audit_seal SET last_n = 9 WHERE seq = 2", 6),
        ("DELETE FROM audit_seal WHERE seq = 1", 3),
        ("DELETE FROM audit_seal WHERE seq = 2", 6),
    ],
)
def test_a_changed_or_removed_seal_is_found(
    sealed: "History", tamper: "Tamper", change: str, n: int
) -> None:
    with tamper(), connection.cursor() as cursor:
        cursor.execute(change)

    assert report(sealed).first_bad == bad(sealed, Flaw.SEAL, n, event_with(sealed, n))


def test_what_waits_for_number_and_seal_is_counted(
    sealed: "History",
) -> None:
    assert (whole_number_lag().count, unsealed_count()) == (0, 0)
    sealed.tell("run_a")
    sealed.tell("run_x", *[sealed.draft()] * 2, tenant_id=sealed.other_tenant_id)

    mine = number_lag(sealed.tenant_id)
    assert (mine.count, mine.since, mine.is_late) == (1, NOON, mine.age > timedelta(seconds=30))
    assert (whole_number_lag().count, unsealed_count()) == (3, 0)
    number_events()
    assert (number_lag(sealed.tenant_id).count, unsealed_count()) == (0, 3)


@pytest.mark.django_db(transaction=True)
def test_of_two_that_seal_at_once_one_does(
    history: "History", monkeypatch: pytest.MonkeyPatch
) -> None:
    record_for_tenant(tenant_id=history.tenant_id, drafts=[history.draft()] * 4)
    number_events()
    together = threading.Barrier(2)
    hashes = sealing._hashes

    def at_once(tenant_id: int, after: int) -> list[str]:
        found = hashes(tenant_id, after)
        together.wait(10)
        return found

    monkeypatch.setattr(sealing, "_hashes", at_once)
    counts: list[int] = []

    def seal() -> None:
        try:
            counts.append(seal_events())
        finally:
            connections.close_all()

    threads = [threading.Thread(target=seal) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)

    assert sorted(counts) == [0, 4]
    assert list(Seal.objects.values_list("seq", "last_n")) == [(1, 4)]
