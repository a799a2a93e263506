"""A person's address in a channel, used only after a code sent there came back.

So nobody can point messages at a stranger; a stranger gets at most a few codes.
"""

import secrets
from datetime import datetime, timedelta
from enum import StrEnum
from typing import ClassVar

from django.db import models, transaction
from django.utils.crypto import constant_time_compare, salted_hmac

from identity.models import Tenant, User
from notices.models.outbox import Notice
from notices.rules.kinds import Kind
from runs.clock import database_now

CODE_VALID_S = 1800
TRIES_MAX = 5


class Confirmation(StrEnum):
    """What became of a code that a person typed."""

    CONFIRMED = "confirmed"
    WRONG = "wrong"
    EXPIRED = "expired"


class Address(models.Model):
    """Where one person is reached in one channel; unconfirmed where `confirmed_at` is null."""

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    channel = models.CharField(max_length=32)
    address = models.CharField(max_length=200)
    is_on = models.BooleanField(default=True)
    nonce = models.CharField(max_length=32)
    code_at = models.DateTimeField()
    tries = models.IntegerField(default=0)
    confirmed_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "notices_address"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["user", "channel"], name="address_once_per_channel")
        ]

    def __str__(self) -> str:
        return f"{self.user_id}/{self.channel}"

    @classmethod
    def give(cls, user: User, channel: str, address: str) -> bool:
        """Set an address and let a code go there; False where too many were asked for.

        Both at once, so that no code leaves for the address that was there before.
        """
        with transaction.atomic():
            if Notice.ask_for(user, channel, Kind.CODE) is None:
                return False
            cls.put(user, channel, address)
        return True

    @classmethod
    def put(cls, user: User, channel: str, address: str) -> "Address":
        """Set a person's address in a channel, to be confirmed by a new code."""
        row, _ = cls.objects.update_or_create(
            tenant_id=user.tenant_id,
            user=user,
            channel=channel,
            defaults={
                "address": address,
                "nonce": secrets.token_hex(16),
                "code_at": database_now(),
                "tries": 0,
                "confirmed_at": None,
                "is_on": True,
            },
        )
        return row

    @property
    def is_used(self) -> bool:
        """Whether messages go here."""
        return self.is_on and self.confirmed_at is not None

    def has_expired(self, now: datetime) -> bool:
        """Whether the code that was sent last does not hold any more."""
        return self.tries >= TRIES_MAX or now - self.code_at > timedelta(seconds=CODE_VALID_S)

    def code(self) -> str:
        """Give the code that confirms this address: eight digits, made anew and never stored."""
        digest = salted_hmac(
            "notices.address", f"{self.pk}:{self.nonce}:{self.address}", algorithm="sha256"
        ).digest()
        return f"{int.from_bytes(digest[:8]) % 10**8:08}"

    @classmethod
    def confirm(cls, user: User, channel: str, code: str) -> Confirmation:
        """Confirm with a code; five wrong ones, or half an hour, end it."""
        with transaction.atomic():
            row = (
                cls.objects.select_for_update(of=("self",))
                .filter(tenant_id=user.tenant_id, user=user, channel=channel)
                .first()
            )
            now = database_now()
            if row is not None and row.confirmed_at is not None:
                return Confirmation.CONFIRMED
            if row is None or row.has_expired(now):
                return Confirmation.EXPIRED
            row.tries += 1
            is_right = constant_time_compare(code, row.code())
            row.confirmed_at = now if is_right else None
            row.save(update_fields=["tries", "confirmed_at"])
        return Confirmation.CONFIRMED if is_right else Confirmation.WRONG
