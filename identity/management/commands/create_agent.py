from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError

from identity.access import user_by_name
from identity.management.reporting import OPERATOR, ReportingCommand
from identity.models import Agent, Tenant, User
from identity.roles import DEFAULT_SCOPES, Scope


class Command(ReportingCommand):
    help = "Make an agent and print its key, once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name")
        parser.add_argument("--tenant", required=True)
        owners = parser.add_mutually_exclusive_group()
        owners.add_argument("--owner", action="append", default=[], dest="owners")
        owners.add_argument("--any-owner", action="store_true")
        parser.add_argument("--responsible")
        parser.add_argument(
            "--scope",
            action="append",
            default=[],
            dest="scopes",
            choices=[scope.value for scope in Scope],
        )

    def handle(self, *args: Any, **options: Any) -> None:
        tenant = self.tenant(options["tenant"])
        responsible = options["responsible"]
        try:
            agent, key = Agent.create(
                options["name"],
                tenant=tenant,
                owners=[_person(tenant, name) for name in options["owners"]],
                any_owner=options["any_owner"],
                responsible=_person(tenant, responsible) if responsible else None,
                scopes=[Scope(name) for name in options["scopes"]] or DEFAULT_SCOPES,
                by=OPERATOR,
            )
        except ValidationError as error:
            self.fail(error)
        self.report(
            options,
            f"Made the agent “{agent.name}”. Its key, which is not shown again:\n{key}",
            agent=agent.name,
            id=agent.public_id,
            key=key,
        )


def _person(tenant: Tenant, name: str) -> User:
    user = user_by_name(tenant.pk, name)
    if user is None:
        raise CommandError(f"{tenant.slug} has nobody with the login name “{name}”.")
    return user
