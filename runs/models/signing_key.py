"""The keys that sign grants: one in use, and those whose last grant has not run out yet."""

from datetime import timedelta
from functools import lru_cache
from typing import ClassVar

import structlog
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
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
            sealed = sealing.seal(grant.to_pem(private), PURPOSE)
            return cls.objects.create(kid=kid, sealed=sealed, created_at=database_now())

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
            return self.private is not None
        except sealing.Unreadable:
            return False

    @property
    def private(self) -> Ed25519PrivateKey:
        """The private half; raises sealing.Unreadable."""
        return _opened(self.sealed, settings.SECRET_KEY)


@lru_cache(maxsize=8)
def _opened(sealed: str, secret: str) -> Ed25519PrivateKey:
    """A private half, kept in this process: every dispatch signs, and opening costs more.

    Kept by the very text that is stored, so it is never taken for the one that follows it.
    """
    return grant.from_pem(sealing.unseal(sealed, PURPOSE, secret=secret))
