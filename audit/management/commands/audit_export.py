from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from audit.export import export_lines
from audit.numbering import number_events
from audit.subjects import SUBJECTS


class Command(BaseCommand):
    """Write a tenant's record to standard output."""

    help = (
        "Write a tenant's record as JSON Lines. Keep the last line, the head, outside the "
        "database: audit_verify --head compares the record with it."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--tenant", required=True, metavar="SLUG")
        parser.add_argument("--json", action="store_true", help="the output is JSON Lines anyway")

    def handle(self, *_args: Any, **options: Any) -> None:
        ids = {slug: tenant_id for tenant_id, slug in SUBJECTS.tenants()}
        if options["tenant"] not in ids:
            raise CommandError(f"There is no tenant {options['tenant']}.", returncode=2)
        # The export covers what is committed now, whether or not a worker runs.
        while number_events():
            pass
        for line in export_lines(ids[options["tenant"]]):
            self.stdout.write(line, ending="")
