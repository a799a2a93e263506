from typing import Any

from approvals.sweeping import sweep
from identity.management.reporting import ReportingCommand


class Command(ReportingCommand):
    help = "Settle what is past its deadline, once; the worker does so every second."

    def handle(self, *args: Any, **options: Any) -> None:
        settled = sweep()
        self.report(options, f"Settled {settled} runs.", settled=settled)
