"""H-26: what somebody with the database's rights alters is found, some of it with the head."""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from django.db import connection

from audit.chain import EMPTY_HEAD, Head
from audit.export import ExportedHead, export_lines, read_head
from audit.flaws import Bad, Flaw
from audit.models import Event, Numbered, TenantChain, Unnumbered, Verification
from audit.numbering import number_events
from audit.record import record_for_tenant
from audit.verify import recorded_tenants, verify

if TYPE_CHECKING:
    from tests.audit.conftest import History, Tamper

pytestmark = pytest.mark.django_db


@pytest.fixture
def told(history: "History") -> "History":
    """Two runs of five events each, two events of the tenant, and another tenant's run."""
    for _ in range(5):
        history.tell("run_a", history.draft(revision=1))
        history.tell("run_b", history.draft(revision=1))
    record_for_tenant(tenant_id=history.tenant_id, drafts=[history.draft("user.created")] * 2)
    history.tell("run_x", tenant_id=history.other_tenant_id)
    number_events()
    return history


def _first_bad(history: "History", exported: ExportedHead | None = None) -> Bad | None:
    subjects = history.subjects()
    return verify(history.tenant_id, exported=exported, subjects=subjects).first_bad


def _exported(history: "History") -> ExportedHead:
    return read_head(export_lines(history.tenant_id))


def _event(run_id: str | None, run_seq: int) -> Event:
    return Event.objects.get(run_id=run_id, run_seq=run_seq)


def _bad(flaw: Flaw, event: Event) -> Bad:
    return Bad(
        flaw=flaw,
        tenant_id=event.tenant_id,
        run_id=event.run_id,
        run_seq=event.run_seq,
        event_id=event.id,
        n=event.n,
    )


def _delete(events: Iterable[Event], *, with_numbers: bool = False) -> None:
    ids = [event.id for event in events]
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM audit_event WHERE id = ANY(%s)", [ids])
        if with_numbers:
            cursor.execute("DELETE FROM audit_numbered WHERE event_id = ANY(%s)", [ids])


def _rebuild(history: "History", run_id: str, *, from_seq: int) -> Head:
    """Recompute the hashes of a chain after an edit, as a careful forger would."""
    before = Event.objects.filter(run_id=run_id, run_seq=from_seq - 1).first()
    head = EMPTY_HEAD if before is None else Head(before.run_seq, before.hash)
    for event in Event.objects.filter(run_id=run_id, run_seq__gte=from_seq).order_by("run_seq"):
        event.previous_hash = head.hash
        event.hash = event.computed_hash()
        event.save()
        head = Head(event.run_seq, event.hash)
    return head


def test_an_untouched_record_is_intact_and_the_result_is_kept(told: "History") -> None:
    report = verify(told.tenant_id, exported=_exported(told), subjects=told.subjects())

    kept = Verification.objects.get(tenant_id=told.tenant_id)
    assert (report.is_intact, report.events, report.first_bad) == (True, 12, None)
    assert (kept.ok, kept.at, kept.events, kept.first_bad) == (True, report.at, 12, None)


def test_a_record_that_is_not_numbered_yet_is_intact(told: "History") -> None:
    exported = _exported(told)
    told.tell("run_a")
    told.tell("run_c")

    assert _first_bad(told, exported) is None


def test_events_of_another_tenant_are_not_read(told: "History", tamper: "Tamper") -> None:
    with tamper():
        Event.objects.filter(run_id="run_x").update(type="forged")

    assert _first_bad(told) is None
    report = verify(told.other_tenant_id, subjects=told.subjects())
    assert report.first_bad == _bad(Flaw.HASH, _event("run_x", 1))


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("type", "forged"),
        ("at", "1999-01-01T00:00:00Z"),
        ("actor_id", "1"),
        ("actor_name", "Mallory"),
        ("revision", None),
        ("revision", 2**62),
        ("refused", "{}"),
        ("detail", '{"reason":"fine"}'),
        ("hash", "0" * 64),
    ],
)
def test_an_edited_event_is_named(
    told: "History", tamper: "Tamper", column: str, value: object
) -> None:
    with tamper():
        Event.objects.filter(run_id="run_a", run_seq=3).update(**{column: value})

    assert _first_bad(told) == _bad(Flaw.HASH, _event("run_a", 3))
    kept = Verification.objects.get(tenant_id=told.tenant_id)
    assert kept.first_bad is not None
    assert (kept.ok, kept.first_bad["run_id"], kept.first_bad["run_seq"]) == (False, "run_a", 3)


def test_an_edited_event_with_a_new_hash_breaks_the_link_after_it(
    told: "History", tamper: "Tamper"
) -> None:
    with tamper():
        event = _event("run_a", 3)
        event.type = "forged"
        event.hash = event.computed_hash()
        event.save()

    assert _first_bad(told) == _bad(Flaw.LINK, _event("run_a", 4))


def test_a_removed_event_leaves_a_gap(told: "History", tamper: "Tamper") -> None:
    with tamper():
        _delete([_event("run_a", 1)], with_numbers=True)

    assert _first_bad(told) == _bad(Flaw.GAP, _event("run_a", 2))


def test_swapped_numbers_are_found(told: "History", tamper: "Tamper") -> None:
    with tamper():
        first, last = (Numbered.objects.get(event=_event("run_a", seq)) for seq in (1, 5))
        Numbered.objects.filter(pk=first.pk).update(n=1000)
        Numbered.objects.filter(pk=last.pk).update(n=first.n)
        Numbered.objects.filter(pk=first.pk).update(n=last.n)

    assert _first_bad(told) == _bad(Flaw.ORDER, _event("run_a", 2))


def test_the_last_three_events_of_a_run_cut_off_are_missed_by_its_head(
    told: "History", tamper: "Tamper"
) -> None:
    with tamper():
        _delete(_event("run_a", seq) for seq in (3, 4, 5))

    assert _first_bad(told) == _bad(Flaw.HEAD, _event("run_a", 2))


def test_cut_events_with_the_head_set_back_are_missed_by_their_numbers(
    told: "History", tamper: "Tamper"
) -> None:
    lost = _event("run_a", 3)
    with tamper():
        n = Numbered.objects.get(event=lost).n
        _delete(_event("run_a", seq) for seq in (3, 4, 5))
    told.heads[told.tenant_id, "run_a"] = Head(2, _event("run_a", 2).hash)

    assert _first_bad(told) == Bad(
        flaw=Flaw.EVENT_MISSING, tenant_id=told.tenant_id, n=n, event_id=lost.id
    )


def test_the_newest_events_cut_off_with_numbers_and_head_need_the_exported_head(
    told: "History", tamper: "Tamper"
) -> None:
    told.tell("run_z", *[told.draft()] * 5)
    number_events()
    exported = _exported(told)
    with tamper():
        _delete((_event("run_z", seq) for seq in (3, 4, 5)), with_numbers=True)
    told.heads[told.tenant_id, "run_z"] = Head(2, _event("run_z", 2).hash)

    assert _first_bad(told) is None
    assert _first_bad(told, exported) == Bad(
        flaw=Flaw.EXPORT_NOT_REACHED, tenant_id=told.tenant_id, n=15
    )


def test_cut_events_replaced_by_new_ones_need_the_exported_head(
    told: "History", tamper: "Tamper"
) -> None:
    told.tell("run_z", *[told.draft()] * 2)
    number_events()
    exported = _exported(told)
    with tamper():
        _delete([_event("run_z", 2)], with_numbers=True)
    told.heads[told.tenant_id, "run_z"] = Head(1, _event("run_z", 1).hash)
    told.tell("run_z", *[told.draft("forged")] * 4)
    number_events()

    assert _first_bad(told) is None
    assert _first_bad(told, exported) == Bad(
        flaw=Flaw.EXPORT_DIFFERS, tenant_id=told.tenant_id, n=14
    )


def test_all_events_of_a_run_removed_are_missed_by_the_run(
    told: "History", tamper: "Tamper"
) -> None:
    with tamper():
        _delete(Event.objects.filter(run_id="run_b"), with_numbers=True)

    assert _first_bad(told) == Bad(
        flaw=Flaw.EVENTS_MISSING, tenant_id=told.tenant_id, run_id="run_b", run_seq=1
    )


def test_a_run_removed_from_under_its_events_is_missed_by_them(told: "History") -> None:
    del told.heads[told.tenant_id, "run_a"]

    assert _first_bad(told) == _bad(Flaw.CHAIN_MISSING, _event("run_a", 5))


def test_a_run_removed_with_its_events_is_missed_by_the_numbers(
    told: "History", tamper: "Tamper"
) -> None:
    lost, following = _event("run_a", 1), _event("run_b", 1)
    del told.heads[told.tenant_id, "run_a"]

    with tamper():
        _delete(Event.objects.filter(run_id="run_a"))
    assert _first_bad(told) == Bad(
        flaw=Flaw.EVENT_MISSING, tenant_id=told.tenant_id, n=1, event_id=lost.id
    )

    with tamper():
        Numbered.objects.exclude(event__in=Event.objects.all()).delete()
    assert _first_bad(told) == Bad(
        flaw=Flaw.NUMBER, tenant_id=told.tenant_id, n=2, event_id=following.id
    )


def test_a_run_removed_with_everything_numbered_anew_needs_the_exported_head(
    told: "History", tamper: "Tamper"
) -> None:
    exported = _exported(told)
    del told.heads[told.tenant_id, "run_a"]
    with tamper():
        _delete(Event.objects.filter(run_id="run_a"), with_numbers=True)
        rest = list(Numbered.objects.filter(tenant_id=told.tenant_id).order_by("n"))
        for n, row in enumerate(rest, start=1):
            Numbered.objects.filter(pk=row.pk).update(n=n)

    assert _first_bad(told) is None
    assert _first_bad(told, exported) == Bad(
        flaw=Flaw.EXPORT_NOT_REACHED, tenant_id=told.tenant_id, n=8
    )

    told.tell("run_c", *[told.draft()] * 5)
    number_events()
    assert _first_bad(told) is None
    assert _first_bad(told, exported) == Bad(
        flaw=Flaw.EXPORT_DIFFERS, tenant_id=told.tenant_id, n=12
    )


def test_a_chain_rebuilt_after_an_edit_is_missed_by_its_head(
    told: "History", tamper: "Tamper"
) -> None:
    with tamper():
        Event.objects.filter(run_id="run_a", run_seq=2).update(actor_name="Mallory")
        _rebuild(told, "run_a", from_seq=2)

    assert _first_bad(told) == _bad(Flaw.HEAD, _event("run_a", 5))


def test_a_chain_rebuilt_together_with_its_head_needs_the_exported_head(
    told: "History", tamper: "Tamper"
) -> None:
    exported = _exported(told)
    with tamper():
        Event.objects.filter(run_id="run_a", run_seq=2).update(actor_name="Mallory")
        told.heads[told.tenant_id, "run_a"] = _rebuild(told, "run_a", from_seq=2)

    assert _first_bad(told) is None
    assert _first_bad(told, exported) == Bad(
        flaw=Flaw.EXPORT_DIFFERS, tenant_id=told.tenant_id, n=12
    )


def test_events_of_the_tenants_own_chain_are_missed_alike(
    told: "History", tamper: "Tamper"
) -> None:
    second = _event(None, 2)
    with tamper():
        _delete([second])
    assert _first_bad(told) == _bad(Flaw.HEAD, _event(None, 1))

    with tamper():
        _delete([_event(None, 1)])
    assert _first_bad(told) == Bad(flaw=Flaw.EVENTS_MISSING, tenant_id=told.tenant_id, run_seq=1)

    TenantChain.objects.filter(tenant_id=told.tenant_id).delete()
    assert _first_bad(told) == Bad(
        flaw=Flaw.EVENT_MISSING, tenant_id=told.tenant_id, n=11, event_id=second.id - 1
    )


def test_a_tenant_removed_with_the_head_of_its_chain_is_missed_by_the_events(
    told: "History",
) -> None:
    TenantChain.objects.filter(tenant_id=told.tenant_id).delete()

    assert _first_bad(told) == _bad(Flaw.CHAIN_MISSING, _event(None, 2))


def test_an_event_kept_from_its_number_is_found(told: "History") -> None:
    told.tell("run_a")
    Unnumbered.objects.all().delete()

    assert _first_bad(told) == _bad(Flaw.NOT_NUMBERED, _event("run_a", 6))


def test_changed_or_removed_content_is_found_at_the_event_that_speaks_of_it(
    told: "History",
) -> None:
    told.tell("run_a", told.draft("interrupt.asked", content_sha256="c1"))
    event = _event("run_a", 6)

    told.contents[event.id] = "c1"
    assert _first_bad(told) is None

    told.contents[event.id] = "c2"
    assert _first_bad(told) == _bad(Flaw.CONTENT, event)

    del told.contents[event.id]
    assert _first_bad(told) == _bad(Flaw.CONTENT_MISSING, event)


def test_a_tenant_that_only_the_record_knows_is_found(told: "History") -> None:
    subjects = replace(told.subjects(), tenants=lambda: [(told.other_tenant_id, "globex")])

    assert recorded_tenants(subjects) == {
        told.tenant_id: str(told.tenant_id),
        told.other_tenant_id: "globex",
    }
    report = verify(told.tenant_id, subjects=subjects)
    assert report.first_bad == Bad(flaw=Flaw.TENANT_MISSING, tenant_id=told.tenant_id)


def test_a_record_longer_than_a_batch_is_verified_whole(
    history: "History", tamper: "Tamper"
) -> None:
    for i in range(3):
        history.tell(f"run_{i}", *[history.draft()] * 450)
    while number_events():
        pass
    assert _first_bad(history, _exported(history)) is None

    with tamper():
        Event.objects.filter(run_id="run_2", run_seq=449).update(type="forged")
    assert _first_bad(history) == _bad(Flaw.HASH, _event("run_2", 449))


@pytest.mark.django_db(transaction=True)
def test_outside_a_transaction_one_snapshot_is_verified(told: "History") -> None:
    subjects = told.subjects()
    read_heads = subjects.run_heads

    def heads_after_a_write(tenant_id: int, run_ids: object, /) -> "Iterable[tuple[str, Head]]":
        assert not connection.get_autocommit()
        with connection.cursor() as cursor:
            cursor.execute("SHOW transaction_isolation")
            assert cursor.fetchall() == [("repeatable read",)]
        return read_heads(tenant_id, run_ids)  # type: ignore[arg-type]

    subjects.run_heads = heads_after_a_write  # type: ignore[assignment]

    assert verify(told.tenant_id, subjects=subjects).is_intact
    assert Verification.objects.get(tenant_id=told.tenant_id).ok
