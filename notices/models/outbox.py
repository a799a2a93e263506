"""The outbox: how far the record was read, what falls due, and each message with its standing.

Guards that nothing is sent inside a transaction, and that a restart sends nothing twice that it
knows to be sent: a message is one row by (question, person, channel, kind, occasion), claimed for
a time, and finished only by whoever holds the claim.
"""

from datetime import timedelta
from typing import ClassVar

from django.db import models, transaction

from identity.models import Tenant, User
from notices.rules.kinds import Kind, NoticeState
from runs.clock import database_now

ASKED_FOR_MAX = 6
"""Codes and trial messages that one person may ask for within an hour."""


class Cursor(models.Model):
    """The last number of the tenant's events that was read here."""

    tenant = models.OneToOneField(
        Tenant, on_delete=models.PROTECT, primary_key=True, related_name="+"
    )
    n = models.BigIntegerField()

    class Meta:
        db_table = "notices_cursor"

    def __str__(self) -> str:
        return f"{self.tenant_id}@{self.n}"


class Due(models.Model):
    """What people will be told of a question at `due_at`; whom, is read then.

    `occasion` tells apart what can happen to one question more than once: the hand-back after
    which it was opened again, else 0.
    """

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    interrupt_id = models.CharField(max_length=40)
    kind = models.CharField(max_length=16)
    occasion = models.IntegerField(default=0)
    due_at = models.DateTimeField()

    class Meta:
        db_table = "notices_due"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["interrupt_id", "kind", "occasion"], name="due_once")
        ]
        indexes: ClassVar = [models.Index(fields=["due_at"], name="notices_due_at")]

    def __str__(self) -> str:
        return f"{self.interrupt_id}/{self.kind}"


class Notice(models.Model):
    """One message to one person; `channel` is a channel's name, or `webpush:` and a browser's id.

    `claimed_until` bounds an attempt: after it another process may take the row. `error` is the
    class of the last failure, never its words.
    """

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    channel = models.CharField(max_length=64)
    kind = models.CharField(max_length=16)
    interrupt_id = models.CharField(max_length=40, null=True)
    occasion = models.IntegerField(default=0)
    state = models.CharField(max_length=16, default=NoticeState.WAITING.value)
    attempts = models.IntegerField(default=0)
    due_at = models.DateTimeField()
    claimed_until = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    error = models.CharField(max_length=100, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "notices_notice"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["interrupt_id", "user", "channel", "kind", "occasion"], name="notice_once"
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["due_at"],
                condition=models.Q(
                    state__in=[NoticeState.SENDING.value, NoticeState.WAITING.value]
                ),
                name="notices_notice_due",
            ),
            models.Index(fields=["user", "channel", "-ended_at"], name="notices_notice_last"),
            models.Index(fields=["ended_at"], name="notices_notice_ended"),
        ]

    def __str__(self) -> str:
        return f"{self.kind}/{self.pk}"

    @classmethod
    def ask_for(cls, user: User, channel: str, kind: Kind) -> "Notice | None":
        """A code or trial message that a person asked for; None beyond six within an hour."""
        with transaction.atomic():
            # The person's own row, so that two clicks at once are counted one after the other.
            User.objects.select_for_update(of=("self",), no_key=True).get(pk=user.pk)
            now = database_now()
            recent = cls.objects.filter(
                tenant_id=user.tenant_id,
                user=user,
                interrupt_id=None,
                created_at__gt=now - timedelta(hours=1),
            )
            if recent.count() >= ASKED_FOR_MAX:
                return None
            return cls.objects.create(
                tenant_id=user.tenant_id,
                user=user,
                channel=channel,
                kind=kind.value,
                due_at=now,
            )
