"""The keys that sign grants: one in use, and those whose last grant has not run out yet."""

from datetime import timedelta
from typing import ClassVar

import structlog
from django.conf import settings
from django.db import IntegrityError, models, transaction

from runs import grant, sealing
from runs.clock import database_now
from runs.rows import first

PURPOSE = "grant-key"

log = structlog.get_logger(__name__)


class SigningKey(models.Model):
    """An Ed25519 key; its private half is sealed with the server's secret."""

    kid = models.CharField(primary_key=True, max_length=64)
    sealed = models.TextField()
    created_at = models.DateTimeField()
    retired_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "runs_signing_key"
        constraints: ClassVar = [
            models.UniqueConstraint(
                models.Value(1),
                condition=models.Q(retired_at__isnull=True),
                name="one_signing_key_in_use",
            )
        ]

    def __str__(self) -> str:
        return self.kid

    @classmethod
    def in_use(cls) -> "SigningKey":
        """The key that signs now, made here where there is none; of two made at once both hold.

        One that was sealed under another secret cannot sign any more: a new one takes its place.
        """
        key = first(cls, "retired_at IS NULL")
        if key is not None and key.is_readable:
            return key
        if key is not None:
            log.warning("grants.key_unreadable", kid=key.kid)
        try:
            return cls.rotate()
        except IntegrityError:
            return cls.objects.get(retired_at__isnull=True)

    @classmethod
    def rotate(cls) -> "SigningKey":
        """Sign with a new key from now on; the old one is published while its grants last."""
        with transaction.atomic():
            cls.objects.filter(retired_at__isnull=True).update(retired_at=database_now())
            kid, private = grant.new_key()
            return cls.objects.create(
                kid=kid, sealed=sealing.seal(private, PURPOSE), created_at=database_now()
            )

    @classmethod
    def published(cls) -> "list[SigningKey]":
        """The keys by which a grant that is still valid can be checked, the newest first."""
        longest = timedelta(seconds=settings.PLACET_GRANT_TTL_S + grant.LEEWAY_S)
        wanted = models.Q(retired_at__isnull=True) | models.Q(
            retired_at__gt=database_now() - longest
        )
        return [
            key for key in cls.objects.filter(wanted).order_by("-created_at") if key.is_readable
        ]

    @property
    def is_readable(self) -> bool:
        """Whether it was sealed under the secret that this server has."""
        try:
            return bool(self.private)
        except sealing.Unreadable:
            return False

    @property
    def private(self) -> str:
        """The private half, in PEM."""
        return sealing.unseal(self.sealed, PURPOSE)
