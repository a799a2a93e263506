from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from identity.access import agent_by_name, user_by_name
from identity.management.reporting import OPERATOR, ReportingCommand


class Command(ReportingCommand):
    help = "End the access of a person or an agent; what they did stays on record."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("what", choices=["user", "agent"])
        parser.add_argument("name")
        parser.add_argument("--tenant", required=True)

    def handle(self, *args: Any, **options: Any) -> None:
        what, name = options["what"], options["name"]
        find = user_by_name if what == "user" else agent_by_name
        found = find(self.tenant(options["tenant"]).pk, name)
        if found is None:
            raise CommandError(f"{options['tenant']} has no {what} “{name}”.")
        is_new = found.deactivate(by=OPERATOR)
        words = f"Deactivated the {what} “{name}”." if is_new else f"“{name}” was not active."
        self.report(options, words, **{what: name}, deactivated=is_new)
