import os
import sys
from argparse import ArgumentParser
from getpass import getpass
from typing import Any

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError

from identity.management.reporting import OPERATOR, ReportingCommand
from identity.models import User
from identity.roles import Role


class Command(ReportingCommand):
    help = "Make a person of a tenant; the password comes from PLACET_PASSWORD or a prompt."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", help="the login name, unique over all tenants")
        parser.add_argument("--tenant", required=True)
        parser.add_argument("--role", required=True, choices=[role.value for role in Role])
        parser.add_argument("--group", action="append", default=[], dest="groups")

    def handle(self, *args: Any, **options: Any) -> None:
        password = _password()
        try:
            validate_password(password)
            user = User.create(
                options["name"],
                tenant=self.tenant(options["tenant"]),
                role=Role(options["role"]),
                groups=options["groups"],
                password=password,
                by=OPERATOR,
            )
        except ValidationError as error:
            self.fail(error)
        self.report(
            options,
            f"Made the {user.role} “{user.username}” of {options['tenant']}.",
            user=user.username,
            id=user.public_id,
            role=user.role,
        )


def _password() -> str:
    given = os.environ.get("PLACET_PASSWORD")
    if given:
        return given
    if not sys.stdin.isatty():
        raise CommandError("Set PLACET_PASSWORD, or run this where it can ask for a password.")
    return getpass("Password: ")
