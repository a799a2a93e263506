from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from identity.management.reporting import OPERATOR, ReportingCommand
from webhooks.models import Endpoint
from webhooks.rules.kinds import CHOICES, WebhookType
from webhooks.sending import flaw_of, may_be_reached


class Command(ReportingCommand):
    help = "Let a URL be told what happens, and print the secret that signs it, once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("url")
        parser.add_argument("--tenant", required=True)
        parser.add_argument(
            "--type",
            action="append",
            default=[],
            dest="types",
            choices=[kind.value for kind in CHOICES],
        )

    def handle(self, *args: Any, **options: Any) -> None:
        tenant, url = self.tenant(options["tenant"]), options["url"]
        if (flaw := flaw_of(url)) is not None:
            raise CommandError(f"This URL cannot be used: {flaw.value}.")
        if not may_be_reached(url):
            raise CommandError("This URL does not lead to a public address.")
        endpoint, secret = Endpoint.add(
            tenant, url=url, types=[WebhookType(name) for name in options["types"]], by=OPERATOR
        )
        self.report(
            options,
            f"Made the webhook {endpoint.pk}. Its secret, which is not shown again:\n{secret}",
            id=endpoint.pk,
            url=url,
            types=[*endpoint.types],
            secret=secret,
        )
