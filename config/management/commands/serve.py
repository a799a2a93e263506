from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.db import connection

from config.database import check_durability


class Command(BaseCommand):
    help = "Serve people and agents until told to end."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)

    def handle(self, *args: Any, **options: Any) -> None:
        from config.asgi import application, hub
        from config.server import serve

        check_durability(connection)
        serve(application, hub=hub, host=options["host"], port=options["port"])
