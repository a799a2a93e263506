"""Finding out whether a tenant's record was altered.

Everything is read in one snapshot of the database, so that commands which run meanwhile do
not look like alterations. What is found with and without an exported head is told in
`audit.export`.
"""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, islice
from typing import Any, Final, TypeVar

from django.db import connection, transaction
from django.db.models import Exists, OuterRef

from audit.chain import EMPTY_HEAD, Head, SequenceDigest
from audit.export import ExportedHead
from audit.flaws import Bad, Flaw
from audit.models import Event, Numbered, Seal, TenantChain, Unnumbered, Verification
from audit.sealing import LastSeal, SealCheck
from audit.subjects import SUBJECTS, Subjects
from placet.protocol.canonical import NotCanonical
from placet.protocol.reading import JSONValue

_BATCH: Final = 500


@dataclass(frozen=True, slots=True)
class Report:
    """Result of verifying a tenant: events read, the last seal met, the first bad place."""

    tenant_id: int
    at: datetime
    events: int
    seal: LastSeal | None
    first_bad: Bad | None

    @property
    def is_intact(self) -> bool:
        """Whether nothing was found."""
        return self.first_bad is None

    def shape(self) -> dict[str, JSONValue]:
        """Give the report as JSON members."""
        first_bad = None if self.first_bad is None else self.first_bad.shape()
        seal = None if self.seal is None else self.seal.shape()
        return {
            "ok": self.is_intact,
            "events": self.events,
            "seal": seal,
            "first_bad": first_bad,
        }


def verify(
    tenant_id: int, *, exported: ExportedHead | None = None, subjects: Subjects = SUBJECTS
) -> Report:
    """Verify a tenant's record, keep the result for the audit page and give it.

    `exported` is the head of an earlier export of this tenant. Within a transaction of the
    caller that transaction's view is verified, else one snapshot. Memory is bounded.
    """
    with _snapshot() as at:
        reader = _Reader(tenant_id, exported, subjects)
        with closing(reader.bad_places()) as bad_places:
            first_bad = next(bad_places, None)
    report = Report(tenant_id, at, reader.events, reader.seals.last, first_bad)
    kept = {name: value for name, value in report.shape().items() if name != "seal"}
    Verification.objects.update_or_create(tenant_id=tenant_id, defaults={"at": at, **kept})
    return report


def recorded_tenants(subjects: Subjects = SUBJECTS) -> dict[int, str]:
    """Give id and slug of all tenants, also of those that only the record still knows.

    The slug of the latter is their id.
    """
    models = (Event, Numbered, Seal, TenantChain)
    ids: set[int] = set()
    for model in models:
        ids.update(model.objects.order_by().values_list("tenant_id", flat=True).distinct())
    return {tenant_id: str(tenant_id) for tenant_id in sorted(ids)} | dict(subjects.tenants())


@contextmanager
def _snapshot() -> Iterator[datetime]:
    is_nested = connection.in_atomic_block
    with transaction.atomic(savepoint=False), connection.cursor() as cursor:
        if not is_nested:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        cursor.execute("SELECT statement_timestamp()")
        (row,) = cursor.fetchall()
        yield row[0]


class _Reader:
    """Reads a tenant's record once from front to back."""

    def __init__(self, tenant_id: int, exported: ExportedHead | None, subjects: Subjects) -> None:
        self.events = 0
        self.seals = SealCheck(tenant_id)
        self._tenant_id = tenant_id
        self._exported = exported
        self._subjects = subjects

    def bad_places(self) -> Generator[Bad, None, None]:
        """Give bad places; only the first is sure, later ones may follow from it."""
        yield from self._in_chains()
        yield from self._emptied_chains()
        yield from self._in_numbers()
        yield from self._not_numbered()
        yield from self._without_tenant()

    def _bad(self, flaw: Flaw, event: Event | None = None, **place: Any) -> Bad:
        if event is not None:
            place |= {"run_id": event.run_id, "run_seq": event.run_seq}
            place |= {"event_id": event.id, "n": event.n}
        return Bad(flaw=flaw, tenant_id=self._tenant_id, **place)

    def _in_chains(self) -> Iterator[Bad]:
        mine = Event.objects.filter(tenant_id=self._tenant_id).select_related("numbered")
        ordered = mine.order_by("run_id", "run_seq").iterator(chunk_size=_BATCH)
        last: Event | None = None
        for batch in _batches(ordered):
            digests = self._subjects.content_digests(batch)
            ended: list[Event] = []
            for event in batch:
                if last is not None and last.run_id != event.run_id:
                    ended.append(last)
                    last = None
                flaw = _flaw_after(last, event) or _flaw_of_content(event, digests)
                if flaw is not None:
                    yield from self._at_ends(ended)
                    yield self._bad(flaw, event)
                last = event
                self.events += 1
            yield from self._at_ends(ended)
        yield from self._at_ends([last] if last is not None else [])

    def _at_ends(self, ended: Sequence[Event]) -> Iterator[Bad]:
        heads = self._heads([event.run_id for event in ended])
        for event in ended:
            head = heads.get(event.run_id)
            if head is None:
                yield self._bad(Flaw.CHAIN_MISSING, event)
            elif head != Head(event.run_seq, event.hash):
                yield self._bad(Flaw.HEAD, event)

    def _heads(self, run_ids: Sequence[str | None]) -> dict[str | None, Head]:
        named = [run_id for run_id in run_ids if run_id is not None]
        heads: dict[str | None, Head] = {}
        if named:
            heads.update(self._subjects.run_heads(self._tenant_id, named))
        if None in run_ids:
            own = TenantChain.objects.filter(tenant_id=self._tenant_id)
            heads.update((None, row.head) for row in own)
        return heads

    def _emptied_chains(self) -> Iterator[Bad]:
        """Find chains whose head names events although there is none."""
        own = self._heads([None]).items()
        runs = self._subjects.run_heads(self._tenant_id, None)
        for batch in _batches(chain(own, runs)):
            told = [run_id for run_id, head in batch if head != EMPTY_HEAD]
            first = Event.objects.filter(tenant_id=self._tenant_id, run_seq=1)
            found = set(first.filter(run_id__in=told).values_list("run_id", flat=True))
            if None in told and first.filter(run_id=None).exists():
                found.add(None)
            for run_id in told:
                if run_id not in found:
                    yield self._bad(Flaw.EVENTS_MISSING, run_id=run_id, run_seq=1)

    def _in_numbers(self) -> Iterator[Bad]:
        rows = Numbered.objects.filter(tenant_id=self._tenant_id).order_by("n")
        digest, n = SequenceDigest(), 0
        yield from self._at_export(n, digest)
        for batch in _batches(rows.iterator(chunk_size=_BATCH)):
            ids = [row.event_id for row in batch]
            events = Event.objects.filter(tenant_id=self._tenant_id, id__in=ids)
            hashes = dict(events.values_list("id", "hash"))
            for row in batch:
                place: dict[str, Any] = {"n": row.n, "event_id": row.event_id}
                if row.n != n + 1:
                    yield self._bad(Flaw.NUMBER, **place)
                if row.event_id not in hashes:
                    yield self._bad(Flaw.EVENT_MISSING, **place)
                    return
                digest.add(hashes[row.event_id])
                n = row.n
                if not self.seals.fits(n, hashes[row.event_id]):
                    yield self._bad(Flaw.SEAL, **place)
                yield from self._at_export(n, digest)
        if self._exported is not None and n < self._exported.n:
            yield self._bad(Flaw.EXPORT_NOT_REACHED, n=n + 1)
        if not self.seals.is_reached:
            yield self._bad(Flaw.SEAL_NOT_REACHED, n=n + 1)

    def _at_export(self, n: int, digest: SequenceDigest) -> Iterator[Bad]:
        exported = self._exported
        if exported is not None and n == exported.n and digest.hex() != exported.events_sha256:
            yield self._bad(Flaw.EXPORT_DIFFERS, n=n)

    def _not_numbered(self) -> Iterator[Bad]:
        waiting = Unnumbered.objects.filter(event_id=OuterRef("id"))
        forgotten = Event.objects.filter(~Exists(waiting), numbered__n__isnull=True)
        first = forgotten.filter(tenant_id=self._tenant_id).order_by("id").first()
        if first is not None:
            yield self._bad(Flaw.NOT_NUMBERED, first)

    def _without_tenant(self) -> Iterator[Bad]:
        if self._tenant_id not in dict(self._subjects.tenants()):
            yield self._bad(Flaw.TENANT_MISSING)


def _flaw_after(last: Event | None, event: Event) -> Flaw | None:
    head = EMPTY_HEAD if last is None else Head(last.run_seq, last.hash)
    if event.run_seq != head.seq + 1:
        return Flaw.GAP
    if event.previous_hash != head.hash:
        return Flaw.LINK
    if event.hash != _computed_hash(event):
        return Flaw.HASH
    if last is not None and (event.id <= last.id or not _is_numbered_after(last.n, event.n)):
        return Flaw.ORDER
    return None


def _computed_hash(event: Event) -> str | None:
    try:
        return event.computed_hash()
    except NotCanonical:
        return None


def _is_numbered_after(last: int | None, n: int | None) -> bool:
    return n is None or (last is not None and last < n)


def _flaw_of_content(event: Event, digests: Mapping[int, str]) -> Flaw | None:
    if event.content_sha256 is None or digests.get(event.id) == event.content_sha256:
        return None
    return Flaw.CONTENT if event.id in digests else Flaw.CONTENT_MISSING


_Row = TypeVar("_Row")


def _batches(rows: Iterable[_Row]) -> Iterator[list[_Row]]:
    rest = iter(rows)
    while batch := list(islice(rest, _BATCH)):
        yield batch
