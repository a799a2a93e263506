"""The record of an Idempotency-Key: what was asked under it, and the answer it got.

It is written in the transaction of the effect itself, first in the lock order: of two requests
at once the second waits in the unique index until the first has committed or rolled back. A
refusal takes no effect, so it leaves no record.
"""

from datetime import timedelta
from typing import ClassVar

from django.db import connection, models

from identity.models import Agent
from placet.protocol.refusals import RefusalCode
from runs.clock import database_now
from runs.rules.refusal import Refusal

KEPT = timedelta(hours=24)

CLAIM = """
INSERT INTO runs_idempotency (agent_id, method, path, key, body_sha256, status, body, created_at)
VALUES (%s, %s, %s, %s, %s, 0, '', clock_timestamp())
ON CONFLICT (agent_id, method, path, key) DO NOTHING
RETURNING id
"""


class IdempotencyRecord(models.Model):
    """One agent's key on one method and path: the body it came with, the answer it got."""

    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="+")
    method = models.CharField(max_length=8)
    path = models.CharField(max_length=255)
    key = models.CharField(max_length=255)
    body_sha256 = models.CharField(max_length=64)
    status = models.SmallIntegerField()
    body = models.TextField()
    created_at = models.DateTimeField()

    class Meta:
        db_table = "runs_idempotency"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["agent", "method", "path", "key"], name="idempotency_key_once"
            )
        ]
        indexes: ClassVar = [models.Index(fields=["created_at"], name="runs_idempotency_age")]

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    @classmethod
    def claim(
        cls, agent: Agent, *, method: str, path: str, key: str, body_sha256: str
    ) -> "IdempotencyRecord | Refusal":
        """The key's record inside the caller's transaction: `status` 0 means it is ours to fill."""
        cls.objects.filter(
            agent=agent, method=method, path=path, key=key, created_at__lt=database_now() - KEPT
        ).delete()
        with connection.cursor() as cursor:
            cursor.execute(CLAIM, [agent.pk, method, path, key, body_sha256])
        record = cls.objects.get(agent=agent, method=method, path=path, key=key)
        if record.body_sha256 != body_sha256:
            return Refusal(code=RefusalCode.IDEMPOTENCY_KEY_REUSED)
        return record

    def fill(self, *, status: int, body: str) -> None:
        """Keep the answer, which every repetition will get."""
        self.status, self.body = status, body
        self.save(update_fields=["status", "body"])

    @classmethod
    def forget_old(cls) -> int:
        """Delete what is older than a day; how many there were."""
        return cls.objects.filter(created_at__lt=database_now() - KEPT).delete()[0]
