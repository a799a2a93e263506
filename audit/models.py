"""The rows of the record. No other app touches them; none has a foreign key to another app.

Invariant: rows of `Event`, `Numbered` and `Seal` are inserted and then never changed or removed.
Triggers of migrations 0002 and 0003 refuse it, and the runtime role lacks the rights.
"""

from typing import ClassVar

from django.contrib.postgres.indexes import BrinIndex
from django.core.exceptions import ObjectDoesNotExist
from django.db import models
from django.db.models import F, Q

from audit.chain import Head, event_hash, instant
from placet.protocol.canonical import canonical
from placet.protocol.digest import sha256_hex
from placet.protocol.reading import JSONValue


def _found_by(*fields: str) -> models.Index:
    """Index that gives a tenant's events with one value of `fields`, newest first."""
    present = Q(**{f"{fields[-1]}__isnull": False})
    return models.Index(
        "tenant_id",
        *(F(field) for field in fields),
        F("id").desc(),
        condition=present,
        name=f"audit_event_{fields[-1]}",
    )


class Event(models.Model):
    """One thing that happened, as it was told by whoever held the lock of its chain.

    `run_seq` counts the events of the run, or of the tenant's own chain where `run_id` is
    null. `refused` and `detail` are canonical JSON texts; both hold ids, codes, digests,
    states and reasons, and no argument values. The tenant's number `n` is given later and
    lives in `Numbered`.
    """

    tenant_id = models.BigIntegerField()
    run_id = models.TextField(null=True)
    run_seq = models.BigIntegerField()
    type = models.TextField()
    at = models.DateTimeField()
    actor_kind = models.TextField()
    actor_id = models.TextField()
    actor_name = models.TextField()
    interrupt_id = models.TextField(null=True)
    action_id = models.TextField(null=True)
    agent_id = models.BigIntegerField(null=True)
    tool = models.TextField(null=True)
    from_state = models.TextField(null=True)
    to_state = models.TextField(null=True)
    revision = models.BigIntegerField(null=True)
    digest = models.TextField(null=True)
    content_sha256 = models.TextField(null=True)
    code = models.TextField(null=True)
    refused = models.TextField(null=True)
    detail = models.TextField()
    previous_hash = models.TextField(blank=True)
    hash = models.TextField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant_id", "run_id", "run_seq"],
                nulls_distinct=False,
                name="audit_event_chain",
            ),
        ]
        indexes: ClassVar = [
            models.Index("tenant_id", F("id").desc(), name="audit_event_newest"),
            _found_by("type"),
            _found_by("actor_kind", "actor_id"),
            _found_by("interrupt_id"),
            _found_by("agent_id"),
            _found_by("tool"),
            _found_by("digest"),
            _found_by("code"),
            BrinIndex("at", name="audit_event_at"),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.run_id or 'tenant'}#{self.run_seq}"

    @property
    def n(self) -> int | None:
        """The tenant's number of this event, None until it is numbered."""
        try:
            return self.numbered.n
        except ObjectDoesNotExist:
            return None

    def members(self) -> dict[str, JSONValue]:
        """Give what the hash covers: every column but `hash` itself and `id`.

        The id is drawn by the insert, after hashing; ids must ascend along a chain.
        """
        names = (field.attname for field in self._meta.concrete_fields)
        given = {name: getattr(self, name) for name in names if name not in ("id", "hash")}
        return given | {"at": instant(self.at)}

    def computed_hash(self) -> str:
        """Give the hash that this event's members have now."""
        return event_hash(self.members())


class Unnumbered(models.Model):
    """Queue of committed events that still wait for their tenant's number."""

    event_id = models.BigIntegerField(primary_key=True)
    tenant_id = models.BigIntegerField()

    def __str__(self) -> str:
        return str(self.event_id)


class Numbered(models.Model):
    """The tenant's contiguous numbers 1, 2, 3 … in the order in which events are told."""

    event = models.OneToOneField(
        Event,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        primary_key=True,
        related_name="numbered",
    )
    tenant_id = models.BigIntegerField()
    n = models.BigIntegerField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant_id", "n"], name="audit_numbered_once"),
        ]

    def __str__(self) -> str:
        return f"{self.tenant_id}/{self.n}"


class Seal(models.Model):
    """A commitment to a tenant's numbered events up to `last_n`, chained seal to seal.

    `root` is the Merkle root of the events since the seal before, `hash` that of this row.
    """

    tenant_id = models.BigIntegerField()
    seq = models.BigIntegerField()
    last_n = models.BigIntegerField()
    root = models.TextField()
    previous_hash = models.TextField(blank=True)
    hash = models.TextField()
    at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant_id", "seq"], name="audit_sealed_once"),
        ]

    def __str__(self) -> str:
        return f"{self.tenant_id}~{self.seq}"

    def computed_hash(self) -> str:
        """Give the hash that this seal has now."""
        members: dict[str, JSONValue] = {
            "tenant_id": self.tenant_id,
            "seq": self.seq,
            "last_n": self.last_n,
            "root": self.root,
            "previous_hash": self.previous_hash,
            "at": instant(self.at),
        }
        return sha256_hex(canonical(members))


class TenantChain(models.Model):
    """Head of a tenant's chain of events without a run; locked last of all rows."""

    tenant_id = models.BigIntegerField(primary_key=True)
    seq = models.BigIntegerField()
    hash = models.TextField(blank=True)

    def __str__(self) -> str:
        return f"{self.tenant_id}#{self.seq}"

    @property
    def head(self) -> Head:
        """Where the chain ends."""
        return Head(self.seq, self.hash)


class RefusalWindow(models.Model):
    """Equal refusals within a minute: the first is an event, `count` are not recorded yet.

    `fingerprint` says which refusals are equal, `draft` is canonical JSON of the event that
    will tell the count.
    """

    fingerprint = models.TextField(primary_key=True)
    tenant_id = models.BigIntegerField()
    run_id = models.TextField(null=True)
    actor_kind = models.TextField()
    actor_id = models.TextField()
    opened_at = models.DateTimeField()
    count = models.BigIntegerField()
    draft = models.TextField()

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["tenant_id", "run_id"], name="audit_refusal_scope"),
            models.Index(fields=["opened_at"], name="audit_refusal_due"),
        ]

    def __str__(self) -> str:
        return f"{self.fingerprint} x{self.count}"


class Verification(models.Model):
    """Result of the last verification of a tenant's record, for the audit page.

    `first_bad` is the JSON of the first altered place, null where the record is intact.
    """

    tenant_id = models.BigIntegerField(primary_key=True)
    at = models.DateTimeField()
    ok = models.BooleanField()
    events = models.BigIntegerField()
    first_bad = models.JSONField(null=True)

    def __str__(self) -> str:
        return f"{self.tenant_id}: {'intact' if self.ok else 'altered'}"
