import signal
import threading
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand

from config.worker import work


class Command(BaseCommand):
    help = "Number the record and settle what is due, until told to end."

    def handle(self, *args: Any, **options: Any) -> None:
        ending = threading.Event()

        def end(number: int, frame: FrameType | None) -> None:
            ending.set()

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, end)
        work(ending)
