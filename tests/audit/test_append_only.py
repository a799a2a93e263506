"""The database itself refuses to change or empty the record."""

from typing import TYPE_CHECKING

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction

from audit.models import Event
from audit.numbering import number_events
from audit.record import record_for_tenant
from audit.sealing import seal_events

if TYPE_CHECKING:
    from tests.audit.conftest import History

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("table", ["audit_event", "audit_numbered", "audit_seal"])
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE {} SET tenant_id = tenant_id",
        "DELETE FROM {}",
        "TRUNCATE {}",
        "TRUNCATE {} CASCADE",
        "INSERT INTO {0} SELECT * FROM {0} ON CONFLICT ({1}) DO UPDATE SET tenant_id = 1",
    ],
)
def test_a_statement_that_would_change_it_is_refused(
    history: "History", table: str, statement: str
) -> None:
    history.tell("run_a")
    record_for_tenant(tenant_id=history.tenant_id, drafts=[history.draft()])
    number_events()
    assert seal_events() == 2
    before = list(Event.objects.values())
    key = "event_id" if table == "audit_numbered" else "id"

    with (
        pytest.raises(IntegrityError, match="the record only grows"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement.format(table, key))

    assert list(Event.objects.values()) == before


def test_the_orm_can_neither_change_nor_delete_an_event(history: "History") -> None:
    """H-27: evidence is not removed through the ORM."""
    history.tell("run_a")
    event = Event.objects.get(run_id="run_a")
    event.type = "forged"

    for attempt in (event.save, event.delete, Event.objects.all().delete):
        with pytest.raises(IntegrityError, match="the record only grows"), transaction.atomic():
            attempt()

    assert Event.objects.get(run_id="run_a").type == "run.state_changed"


def test_the_models_have_no_changes_without_a_migration() -> None:
    call_command("makemigrations", "audit", check=True, dry_run=True, verbosity=0)
