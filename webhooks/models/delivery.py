"""Deliveries: one event for one endpoint each, and every try at them.

Guards that the bytes stored are the bytes sent, under one `webhook-id` however often: `body` is
written once, when the delivery is made, and the id is the row's own.
"""

from typing import ClassVar

from django.db import models
from django.db.models import F, Q

from identity.models import Tenant
from runs.ids import new_id
from webhooks.rules.kinds import DeliveryState


def new_delivery_id() -> str:
    """Give a fresh id of a delivery, which is its `webhook-id`."""
    return new_id("dlv")


class Cursor(models.Model):
    """The last number of the tenant's events that was read here."""

    tenant = models.OneToOneField(
        Tenant, on_delete=models.PROTECT, primary_key=True, related_name="+"
    )
    n = models.BigIntegerField()

    class Meta:
        db_table = "webhooks_cursor"

    def __str__(self) -> str:
        return f"{self.tenant_id}@{self.n}"


class Delivery(models.Model):
    """One event for one endpoint; `n` is the event's number.

    It is due at `due_at`, which is null at an end. `claimed_until` bounds an attempt: after it
    another worker may take the row. `tries` counts the attempts since it was last sent anew.
    """

    id = models.CharField(primary_key=True, max_length=40, default=new_delivery_id)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+", db_index=False)
    endpoint = models.ForeignKey(
        "webhooks.Endpoint", on_delete=models.PROTECT, related_name="+", db_index=False
    )
    n = models.BigIntegerField()
    type = models.CharField(max_length=40)
    body = models.BinaryField()
    state = models.CharField(max_length=16, default=DeliveryState.WAITING.value)
    tries = models.IntegerField(default=0)
    due_at = models.DateTimeField(null=True)
    claimed_until = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField()

    class Meta:
        db_table = "webhooks_delivery"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["endpoint", "n"], name="delivery_once"),
            models.CheckConstraint(
                condition=Q(state=DeliveryState.WAITING.value, due_at__isnull=False, ended_at=None)
                | Q(
                    state__in=[DeliveryState.DELIVERED.value, DeliveryState.FAILED.value],
                    due_at=None,
                    claimed_until=None,
                    ended_at__isnull=False,
                ),
                name="delivery_waits_or_has_ended",
            ),
        ]
        indexes: ClassVar = [
            models.Index("due_at", condition=Q(due_at__isnull=False), name="webhooks_delivery_due"),
            models.Index(
                "endpoint_id",
                F("n").desc(),
                condition=Q(state=DeliveryState.FAILED.value),
                name="webhooks_delivery_failed",
            ),
            models.Index(
                "ended_at", condition=Q(ended_at__isnull=False), name="webhooks_delivery_ended"
            ),
        ]

    def __str__(self) -> str:
        return self.pk


class Attempt(models.Model):
    """One try: when, what was answered, in which time; the bytes sent are the delivery's.

    `status` and `took_ms` are null where there was no answer, `failure` where there was one.
    `answer` is the first KiB of it.
    """

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+", db_index=False)
    delivery = models.ForeignKey(
        Delivery, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    at = models.DateTimeField()
    took_ms = models.IntegerField(null=True)
    status = models.IntegerField(null=True)
    failure = models.CharField(max_length=16, null=True)
    answer = models.BinaryField(null=True)

    class Meta:
        db_table = "webhooks_attempt"
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(status__isnull=False, failure=None, took_ms__isnull=False)
                | Q(status=None, failure__isnull=False, took_ms=None, answer=None),
                name="attempt_answered_or_failed",
            )
        ]
        indexes: ClassVar = [models.Index("delivery_id", "id", name="webhooks_attempt_of")]

    def __str__(self) -> str:
        return str(self.pk)

    @property
    def text(self) -> str:
        """The answer as far as it is text: a stranger's."""
        return bytes(self.answer or b"").decode("utf-8", "replace")
