"""What the commands share that save a version of a tenant's document from a file."""

from argparse import ArgumentParser
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

from django.core.management.base import CommandError

from approvals.models.saved import Saved
from identity.management.reporting import OPERATOR, ReportingCommand
from placet.protocol.reading import InvalidJSON, read_json
from placet.protocol.refusals import Fault


class SavingCommand(ReportingCommand):
    """Saves the next version of a document, or ends with every fault of the file."""

    model: ClassVar[type[Saved]]
    what: ClassVar[str]
    """The document in the words of the report."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--tenant", required=True)
        parser.add_argument("file", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        tenant = self.tenant(options["tenant"])
        try:
            document = read_json(options["file"].read_bytes())
        except OSError as error:
            raise CommandError(f"{options['file']} cannot be read: {error.strerror}.") from None
        except InvalidJSON as error:
            raise CommandError(_lines(error.faults)) from None
        saved = self.model.set(tenant, document, by=OPERATOR)
        if isinstance(saved, tuple):
            raise CommandError(_lines(saved))
        self.report(
            options,
            f"Saved version {saved.version} of the {self.what} of {tenant.slug}.",
            tenant=tenant.slug,
            version=saved.version,
        )


def _lines(faults: Iterable[Fault]) -> str:
    return "\n".join(f"{fault.pointer or '(the whole)'}: {fault.message}" for fault in faults)
