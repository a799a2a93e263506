"""The secret link by which a person takes over a page: sealed at rest, gone with the question.

It stands in no event, webhook, export or log, and only who may hand back is shown it.
"""

import structlog
from django.db import models

from approvals.models.content import Content
from placet.protocol.states import InterruptKind
from runs import sealing

PURPOSE = "handoff-link"

log = structlog.get_logger(__name__)


class HandoffLink(models.Model):
    """The link of one open handoff."""

    interrupt_id = models.CharField(primary_key=True, max_length=40)
    sealed = models.TextField()

    class Meta:
        db_table = "approvals_handofflink"

    def __str__(self) -> str:
        return self.interrupt_id

    @classmethod
    def keep(cls, interrupt_id: str, url: str) -> None:
        """Store the link while its question is open."""
        cls.objects.create(interrupt_id=interrupt_id, sealed=sealing.seal(url, PURPOSE))

    @classmethod
    def of(cls, interrupt_id: str) -> str | None:
        """The link of an open handoff, where it has one that this server's secret opens."""
        row = cls.objects.filter(pk=interrupt_id).first()
        try:
            return sealing.unseal(row.sealed, PURPOSE) if row else None
        except sealing.Unreadable:
            log.warning("handoffs.link_unreadable", interrupt_id=interrupt_id)
            return None

    @classmethod
    def forget(cls, interrupt: Content) -> None:
        """Delete the link of a question that ended; only handoffs have one."""
        if interrupt.kind == InterruptKind.HANDOFF:
            cls.objects.filter(pk=interrupt.pk).delete()
