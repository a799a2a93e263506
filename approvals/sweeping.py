"""The sweeper: does in time what any command would do a moment later.

Nothing depends on it having run; it only makes pages, waits and counters current.
"""

from approvals.models import Interrupt
from approvals.models.interrupt import OPEN_STATES
from audit.refusals import due_flushes, flush_for_tenant
from runs.clock import database_now
from runs.models import IdempotencyRecord, Run

BATCH = 500


def sweep() -> int:
    """Settle runs with questions past their deadline, tell counted refusals; how many runs."""
    due = Interrupt.objects.filter(state__in=OPEN_STATES, expires_at__lte=database_now())
    run_ids = sorted(set(due.order_by("expires_at").values_list("run_id", flat=True)[:BATCH]))
    for run in Run.objects.filter(pk__in=run_ids).order_by("pk"):
        run.settle()
    for tenant_id, run_id in due_flushes(BATCH):
        if run_id is None:
            flush_for_tenant(tenant_id)
        else:
            Run.objects.get(pk=run_id).tell_counted_refusals()
    IdempotencyRecord.forget_old()
    return len(run_ids)
