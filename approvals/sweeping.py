"""The sweeper: does in time what any command would do a moment later.

Nothing depends on it having run; it only makes pages, waits and counters current. No run keeps
it from the others: one that is held is left for the next time, one that fails is logged.
"""

from collections.abc import Callable
from functools import partial

import structlog
from django.db import connection

from approvals.models import Interrupt
from approvals.models.interrupt import OPEN_STATES
from audit.refusals import due_flushes, flush_for_tenant
from runs.clock import database_now
from runs.models import IdempotencyRecord, Run

BATCH = 500

log = structlog.get_logger(__name__)


def sweep() -> int:
    """Settle runs with questions or leases past their end, tell counted refusals; how many."""
    now = database_now()
    due = Interrupt.objects.filter(state__in=OPEN_STATES, expires_at__lte=now)
    lost = Run.objects.filter(lease_holder__isnull=False, lease_expires_at__lte=now)
    run_ids = sorted(
        {
            *due.order_by("expires_at").values_list("run_id", flat=True)[:BATCH],
            *lost.order_by("lease_expires_at").values_list("pk", flat=True)[:BATCH],
        }
    )
    settled = 0
    for run in Run.objects.filter(pk__in=run_ids).order_by("pk"):
        settled += bool(_attempt(run.settle, run_id=run.pk))
    for tenant_id, run_id in due_flushes(BATCH):
        if run_id is None:
            _attempt(partial(flush_for_tenant, tenant_id), tenant_id=tenant_id)
        else:
            _attempt(Run.objects.get(pk=run_id).tell_counted_refusals, run_id=run_id)
    IdempotencyRecord.forget_old()
    return settled


def _attempt(step: Callable[[], bool | None], **ids: object) -> bool | None:
    """What the step gives, None where it fails; a lost database is for the caller to outlast."""
    try:
        return step()
    except Exception:
        if not connection.is_usable():
            raise
        log.exception("sweep.failed", **ids)
        return None
