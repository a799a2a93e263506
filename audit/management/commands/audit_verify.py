import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from audit.export import ExportedHead, read_head
from audit.flaws import Bad
from audit.verify import Report, recorded_tenants, verify


class Command(BaseCommand):
    """Say whether the record was altered, and where first."""

    help = (
        "Verify the record of one tenant or of all. Exit status 0: intact; 1: altered, with "
        "the first bad place of each tenant; 2: the command was not understood."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--tenant", metavar="SLUG")
        parser.add_argument("--head", metavar="FILE", help="an export, or its last line")
        parser.add_argument("--json", action="store_true")

    def handle(self, *_args: Any, **options: Any) -> None:
        exported = _exported(options["head"])
        tenants = _chosen(options["tenant"], exported)
        reports = []
        for tenant_id, slug in tenants.items():
            is_exported = exported is not None and exported.tenant_id == tenant_id
            report = verify(tenant_id, exported=exported if is_exported else None)
            reports.append((slug, report))
            if not options["json"]:
                self.stdout.write(_line(slug, report))
        is_ok = all(report.is_intact for _, report in reports)
        if options["json"]:
            told = [{"tenant": slug, **report.shape()} for slug, report in reports]
            self.stdout.write(json.dumps({"ok": is_ok, "tenants": told}))
        if not is_ok:
            raise CommandError("The record was altered.", returncode=1)


def _exported(path: str | None) -> ExportedHead | None:
    if path is None:
        return None
    try:
        with Path(path).open(encoding="utf-8") as lines:
            return read_head(lines)
    except (OSError, ValueError) as error:
        raise CommandError(f"--head {path}: {error}", returncode=2) from error


def _chosen(slug: str | None, exported: ExportedHead | None) -> dict[int, str]:
    tenants = recorded_tenants()
    if exported is not None:
        # A tenant that is known only from the export has lost its whole record.
        tenants.setdefault(exported.tenant_id, str(exported.tenant_id))
    if slug is None:
        return tenants
    chosen = {tenant_id: name for tenant_id, name in tenants.items() if name == slug}
    if not chosen:
        raise CommandError(f"There is no tenant {slug}.", returncode=2)
    if exported is not None and exported.tenant_id not in chosen:
        raise CommandError("--head is the export of another tenant.", returncode=2)
    return chosen


def _line(slug: str, report: Report) -> str:
    if report.first_bad is None:
        return f"{slug}: intact, {report.events} events"
    return f"{slug}: ALTERED at {_place(report.first_bad)}: {report.first_bad.flaw.sentence}"


def _place(bad: Bad) -> str:
    chain = f"run {bad.run_id}" if bad.run_id else "the tenant's own chain"
    parts = [
        f"{chain}, event {bad.run_seq}" if bad.run_seq is not None else "",
        f"event id {bad.event_id}" if bad.event_id is not None else "",
        f"number {bad.n}" if bad.n is not None else "",
    ]
    return ", ".join(part for part in parts if part) or "the tenant"
