"""What the operator's commands share: one way to report, in words or as JSON."""

import json
from argparse import ArgumentParser
from typing import Any, NoReturn

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from audit.record import Actor, ActorKind
from identity.access import tenant_by_slug
from identity.models import Tenant

OPERATOR = Actor(kind=ActorKind.OPERATOR, id="operator", name="operator")
"""Whoever can run commands on the server: the record cannot know more."""


class ReportingCommand(BaseCommand):
    """A command with `--json` that ends with one report."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="Print one JSON object.")

    def report(self, options: dict[str, Any], words: str, **members: Any) -> None:
        """Print the outcome: a sentence, or its members as JSON."""
        self.stdout.write(json.dumps(members) if options["json"] else words)

    def tenant(self, slug: str) -> Tenant:
        """The tenant of this slug; CommandError where there is none."""
        tenant = tenant_by_slug(slug)
        if tenant is None:
            raise CommandError(f"There is no tenant “{slug}”.")
        return tenant

    def fail(self, error: ValidationError) -> NoReturn:
        """End with what is wrong."""
        raise CommandError(" ".join(error.messages)) from None
