"""What the repository promises of itself: import lines, migrations that are whole and go back."""

import os
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.operations import RunSQL

OURS = frozenset({"approvals", "audit", "identity", "notices", "runs", "webhooks"})


def test_every_app_imports_only_to_its_right() -> None:
    lint = Path(sys.executable).with_name("lint-imports")

    # A process of its own, since the linter sets up logging for itself.
    done = subprocess.run([lint, "--no-cache"], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout


@pytest.mark.django_db
def test_no_model_waits_for_a_migration() -> None:
    told = StringIO()

    call_command("makemigrations", check=True, dry_run=True, stdout=told)

    assert told.getvalue() == "No changes detected\n"


CONDITIONS = """
import django
django.setup()
from django.apps import apps
for model in apps.get_models():
    for part in (*model._meta.constraints, *model._meta.indexes):
        print(model._meta.label, part.deconstruct())
"""


def test_constraints_read_the_same_whatever_the_order_of_sets() -> None:
    """A condition made from a set made a migration appear in every second process."""
    told = {
        subprocess.run(
            [sys.executable, "-c", CONDITIONS],
            env=os.environ | {"PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in range(4)
    }

    assert len(told) == 1
    assert "decision_approves_something_or_not" in told.pop()


@pytest.mark.django_db
def test_every_statement_of_a_migration_has_its_way_back() -> None:
    loader = MigrationExecutor(connection).loader
    operations = [
        (name, operation)
        for (app, name), migration in loader.disk_migrations.items()
        if app in OURS
        for operation in migration.operations
    ]

    assert operations
    assert [name for name, operation in operations if not operation.reversible] == []
    assert all(op.reverse_sql for _, op in operations if isinstance(op, RunSQL))
