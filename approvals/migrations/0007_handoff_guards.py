"""Who handed back may be written; what was observed never changes."""

from django.db import migrations

KEEP = """
CREATE OR REPLACE FUNCTION approvals_keep_content() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    standing text[] := ARRAY[{columns}];
BEGIN
    IF (to_jsonb(NEW) - standing) IS DISTINCT FROM (to_jsonb(OLD) - standing) THEN
        RAISE EXCEPTION 'the content of an interrupt never changes'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF OLD.ended_at IS NOT NULL AND (NEW.state, NEW.ended_at, NEW.ended_by)
        IS DISTINCT FROM (OLD.state, OLD.ended_at, OLD.ended_by) THEN
        RAISE EXCEPTION 'an interrupt that ended stays as it ended'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$
"""

BEFORE = (
    "state",
    "is_latest",
    "approvals_so_far",
    "handback",
    "superseded_by_id",
    "ended_at",
    "ended_by",
)
NOW = (*BEFORE, "handed_back_by_id")


def keep(columns: tuple[str, ...]) -> str:
    """The function by which only these columns of an interrupt can be written."""
    return KEEP.format(columns=", ".join(f"'{column}'" for column in columns))


def refuse(operation: str) -> migrations.RunSQL:
    """A trigger by which this operation fails on observations."""
    name = f"approvals_observation_no_{operation.lower()}"
    return migrations.RunSQL(
        f"CREATE TRIGGER {name} BEFORE {operation} ON approvals_observation"
        " FOR EACH ROW EXECUTE FUNCTION approvals_refuse()",
        f"DROP TRIGGER {name} ON approvals_observation",
    )


class Migration(migrations.Migration):
    dependencies = [("approvals", "0006_handoffs")]

    operations = [
        migrations.RunSQL(keep(NOW), keep(BEFORE)),
        refuse("DELETE"),
        refuse("UPDATE"),
    ]
