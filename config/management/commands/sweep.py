from typing import Any

from django.core.management.base import BaseCommand

from approvals.sweeping import sweep


class Command(BaseCommand):
    help = "Settle what is past its deadline, once; the worker does so every second."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"Settled {sweep()} runs.")
