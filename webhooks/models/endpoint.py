"""Where a tenant wants to be told, of what, and signed with which secret.

Guards that nothing is sent unsigned or to a place that nobody of the tenant chose: secrets are
sealed at rest, told once, and every change is on the tenant's record, with its host and never
with the whole URL, which may hold a password of the receiver.
"""

import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, ClassVar, Final
from urllib.parse import urlsplit

from django.contrib.postgres.fields import ArrayField
from django.db import models, transaction
from django.db.models import Q

from audit.reading import newest_n
from audit.record import Actor, Draft, record_for_tenant
from identity.models import Tenant
from placet.protocol.reading import JSONValue
from runs.clock import database_now
from runs.ids import new_id
from runs.sealing import seal
from webhooks.models.delivery import Cursor, Delivery
from webhooks.rules.kinds import DeliveryState, DisabledBecause, WebhookType
from webhooks.rules.signing import KEY_BYTES, secret_of

PURPOSE: Final = "webhook-secret"
ROTATION: Final = timedelta(hours=24)
"""How long the secret before still signs after a rotation."""

URL_MAX: Final = 2_048


def new_endpoint_id() -> str:
    """Give a fresh id of an endpoint."""
    return new_id("ept")


class Endpoint(models.Model):
    """One receiver of a tenant; no types are all types.

    `since_at` is from when on events go there: its making, or when it was last enabled.
    `failures` counts the attempts that failed in a row, `failing_since` is when the first did.
    """

    id = models.CharField(primary_key=True, max_length=40, default=new_endpoint_id)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+", db_index=False)
    url = models.CharField(max_length=URL_MAX)
    description = models.CharField(max_length=200, blank=True)
    types = ArrayField(models.CharField(max_length=40), default=list, blank=True)
    sealed = models.TextField()
    sealed_before = models.TextField(null=True)
    before_until = models.DateTimeField(null=True)
    is_active = models.BooleanField(default=True)
    disabled_because = models.CharField(max_length=16, null=True)
    disabled_at = models.DateTimeField(null=True)
    failures = models.IntegerField(default=0)
    failing_since = models.DateTimeField(null=True)
    since_at = models.DateTimeField()
    created_at = models.DateTimeField()

    class Meta:
        db_table = "webhooks_endpoint"
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(is_active=True, disabled_at=None, disabled_because=None)
                | Q(is_active=False, disabled_at__isnull=False, disabled_because__isnull=False),
                name="endpoint_disabled_has_a_reason",
            ),
            models.CheckConstraint(
                condition=Q(sealed_before=None, before_until=None)
                | Q(sealed_before__isnull=False, before_until__isnull=False),
                name="endpoint_old_secret_ends",
            ),
        ]
        indexes: ClassVar = [models.Index("tenant_id", "id", name="webhooks_endpoint_of_tenant")]

    def __str__(self) -> str:
        return self.pk

    @property
    def host(self) -> str:
        """The host of the URL, which the record names."""
        return urlsplit(self.url).hostname or ""

    def wants(self, kind: WebhookType, at: datetime) -> bool:
        """Whether an event of this type that happened at `at` goes here."""
        return at >= self.since_at and (not self.types or kind.value in self.types)

    @classmethod
    def add(
        cls,
        tenant: Tenant,
        *,
        url: str,
        types: Sequence[WebhookType] = (),
        description: str = "",
        by: Actor,
    ) -> tuple["Endpoint", str]:
        """Make an endpoint and its first secret, which is told here once.

        Whether the URL may be reached is asked before, outside of any transaction.
        """
        secret = _new_secret()
        with transaction.atomic():
            now = database_now()
            row = cls.objects.create(
                tenant=tenant,
                url=url,
                types=_names(types),
                description=description,
                sealed=seal(secret, PURPOSE),
                since_at=now,
                created_at=now,
            )
            Cursor.objects.bulk_create(
                [Cursor(tenant=tenant, n=newest_n(tenant.pk))], ignore_conflicts=True
            )
            row._record("endpoint.created", by, {"types": [*row.types]})
        return row, secret

    def change(
        self, *, url: str, types: Sequence[WebhookType], description: str, by: Actor
    ) -> "Endpoint":
        """Set where it leads and what it is told; nothing is recorded where that was so before."""
        with transaction.atomic():
            row = self._locked()
            before = (row.url, row.types, row.description)
            row.url, row.types, row.description = url, _names(types), description
            if before != (row.url, row.types, row.description):
                row.save(update_fields=["url", "types", "description"])
                row._record(
                    "endpoint.changed",
                    by,
                    {"types": [*row.types], "is_other_url": before[0] != row.url},
                )
        return row

    def rotate(self, *, by: Actor) -> str:
        """Give a new secret, told here once; the one before signs beside it for a day."""
        secret = _new_secret()
        with transaction.atomic():
            row = self._locked()
            row.sealed_before, row.before_until = row.sealed, database_now() + ROTATION
            row.sealed = seal(secret, PURPOSE)
            row.save(update_fields=["sealed", "sealed_before", "before_until"])
            row._record("endpoint.secret_rotated", by, {})
        return secret

    def disable(self, because: DisabledBecause, *, by: Actor) -> bool:
        """Send nothing more there; what waits is given up, and can be sent again later.

        False where it was disabled before.
        """
        with transaction.atomic():
            row = self._locked()
            if not row.is_active:
                return False
            now = database_now()
            row.is_active, row.disabled_because, row.disabled_at = False, because.value, now
            row.save(update_fields=["is_active", "disabled_because", "disabled_at"])
            # Those that a sender holds are ended by it, so the two never wait for each other.
            unheld = Q(claimed_until=None) | Q(claimed_until__lt=now)
            row._deliveries().filter(unheld, state=DeliveryState.WAITING.value).update(
                state=DeliveryState.FAILED.value, due_at=None, claimed_until=None, ended_at=now
            )
            row._record("endpoint.disabled", by, {"because": because.value})
        return True

    def enable(self, *, by: Actor) -> bool:
        """Send what happens from now on; False where it was so before."""
        with transaction.atomic():
            row = self._locked()
            if row.is_active:
                return False
            row.is_active, row.disabled_because, row.disabled_at = True, None, None
            row.failures, row.failing_since, row.since_at = 0, None, database_now()
            row.save(
                update_fields=[
                    "is_active",
                    "disabled_because",
                    "disabled_at",
                    "failures",
                    "failing_since",
                    "since_at",
                ]
            )
            row._record("endpoint.enabled", by, {})
        return True

    def test(self, *, by: Actor) -> bool:
        """Let a test event go there, and only there; False where it is disabled."""
        with transaction.atomic():
            row = self._locked()
            if row.is_active:
                row._record(WebhookType.TEST.value, by, {})
            return row.is_active

    def resend(self, *, by: Actor, delivery_id: str) -> bool:
        """Send one delivery again, whatever became of it; False where the endpoint is disabled.

        It keeps its id and its bytes. One that waits is tried at once.
        """
        with transaction.atomic():
            row = self._locked()
            if not row.is_active:
                return False
            row._deliver_again(row._deliveries().filter(pk=delivery_id))
            row._record("endpoint.resent", by, {"delivery": delivery_id})
        return True

    def resend_failed(self, *, since: datetime, by: Actor) -> int | None:
        """Send again what happened since then and failed; how many, None where it is disabled."""
        with transaction.atomic():
            row = self._locked()
            if not row.is_active:
                return None
            count = row._deliver_again(
                row._deliveries().filter(state=DeliveryState.FAILED.value, created_at__gte=since)
            )
            if count:
                row._record(
                    "endpoint.resent", by, {"since": since.isoformat(), "deliveries": count}
                )
        return count

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Refused: the record names this endpoint; disable it instead."""
        raise models.ProtectedError("Endpoints are disabled, never deleted.", {self})

    def _locked(self) -> "Endpoint":
        rows = Endpoint.objects.select_for_update(of=("self",))
        return rows.get(tenant_id=self.tenant_id, pk=self.pk)

    def _deliveries(self) -> "models.QuerySet[Delivery]":
        return Delivery.objects.filter(tenant_id=self.tenant_id, endpoint_id=self.pk)

    @staticmethod
    def _deliver_again(rows: "models.QuerySet[Delivery]") -> int:
        return rows.update(
            state=DeliveryState.WAITING.value,
            tries=0,
            due_at=database_now(),
            claimed_until=None,
            ended_at=None,
        )

    def _record(self, type_: str, by: Actor, detail: dict[str, JSONValue]) -> None:
        told: dict[str, JSONValue] = {"endpoint": self.pk, "name": self.host, **detail}
        record_for_tenant(
            tenant_id=self.tenant_id, drafts=[Draft(type=type_, actor=by, detail=told)]
        )


def _new_secret() -> str:
    return secret_of(secrets.token_bytes(KEY_BYTES))


def _names(types: Sequence[WebhookType]) -> list[str]:
    return [kind.value for kind in WebhookType if kind in types and kind.is_chosen]
