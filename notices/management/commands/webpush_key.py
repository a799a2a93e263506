from typing import Any

from identity.management.reporting import ReportingCommand
from notices.senders.vapid import VapidKey, new_key


class Command(ReportingCommand):
    help = "Print a new key for Web Push, to be given as PLACET_WEBPUSH_KEY."

    def handle(self, *args: Any, **options: Any) -> None:
        key = new_key()
        self.report(options, key, key=key, public=VapidKey.read(key).public)
