from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from approvals.models import Account
from identity.access import user_by_name
from identity.management.reporting import OPERATOR, ReportingCommand


class Command(ReportingCommand):
    help = "Register an account at an origin for a person: their runs act there as no other."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name")
        parser.add_argument("--tenant", required=True)
        parser.add_argument("--origin", required=True)
        parser.add_argument("--account", required=True)

    def handle(self, *args: Any, **options: Any) -> None:
        user = user_by_name(self.tenant(options["tenant"]).pk, options["name"])
        if user is None:
            raise CommandError(f"{options['tenant']} has no user “{options['name']}”.")
        is_new = Account.register(
            user, origin=options["origin"], account=options["account"], by=OPERATOR
        )
        words = "Registered" if is_new else "Already registered"
        self.report(
            options,
            f"{words}: {user.username} at {options['origin']}.",
            user=user.username,
            origin=options["origin"],
            account=options["account"],
            registered=is_new,
        )
