from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError

from identity.management.reporting import OPERATOR, ReportingCommand
from identity.models import Tenant


class Command(ReportingCommand):
    help = "Make a tenant: people, agents and runs that nobody else sees."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            tenant = Tenant.create(options["slug"], by=OPERATOR)
        except ValidationError as error:
            self.fail(error)
        self.report(options, f"Made the tenant “{tenant.slug}”.", tenant=tenant.slug)
