"""Observations: what the execution layer saw on the controlled page, as evidence."""

from typing import ClassVar

from django.db import models

from approvals.rules.observing import MEMBERS, Seen
from placet.protocol.reading import JSONValue
from runs.ids import new_id
from runs.models import Run, Turn
from runs.rows import insert


class Observation(models.Model):
    """One look at a page, under one lease; inserted once and never changed."""

    id = models.CharField(primary_key=True, max_length=40)
    tenant = models.ForeignKey("identity.Tenant", on_delete=models.PROTECT, related_name="+")
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="observations")
    interrupt = models.ForeignKey(
        "approvals.Interrupt", on_delete=models.PROTECT, null=True, related_name="observations"
    )
    handback = models.IntegerField(null=True)
    fencing_token = models.IntegerField()
    origin = models.TextField()
    account = models.TextField(null=True)
    page = models.TextField(null=True)
    session = models.TextField(null=True)
    snapshot_sha256 = models.CharField(max_length=64)
    observed_at = models.DateTimeField()
    received_at = models.DateTimeField()
    matched = models.BooleanField(null=True)
    differs = models.JSONField(default=list)

    class Meta:
        db_table = "approvals_observation"
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=models.Q(
                    interrupt__isnull=True, handback__isnull=True, matched__isnull=True
                )
                | models.Q(interrupt__isnull=False, handback__isnull=False, matched__isnull=False),
                name="observation_of_a_handback_or_a_run",
            )
        ]
        indexes: ClassVar = [models.Index(fields=["run", "id"], name="observation_of_run")]

    def __str__(self) -> str:
        return self.pk

    @classmethod
    def keep(cls, turn: Turn, seen: Seen) -> "Observation":
        """Store a look at the page of a run."""
        return cls._keep(turn, seen)

    @classmethod
    def keep_of(
        cls, turn: Turn, seen: Seen, *, interrupt_id: str, handback: int, differs: list[str]
    ) -> "Observation":
        """Store a look at what a person handed back, and in what it differs from the target."""
        return cls._keep(
            turn,
            seen,
            interrupt_id=interrupt_id,
            handback=handback,
            matched=not differs,
            differs=differs,
        )

    @classmethod
    def _keep(cls, turn: Turn, seen: Seen, **more: object) -> "Observation":
        row = cls(
            id=new_id("obs"),
            tenant_id=turn.run.tenant_id,
            run_id=turn.run.pk,
            fencing_token=seen.fencing_token,
            snapshot_sha256=seen.snapshot_sha256,
            observed_at=seen.observed_at,
            received_at=turn.now,
            **{name: getattr(seen, name) for name in MEMBERS},
            **more,
        )
        insert([row])
        return row

    def members(self) -> dict[str, JSONValue]:
        """What can be compared with a target."""
        return {name: getattr(self, name) for name in MEMBERS}
