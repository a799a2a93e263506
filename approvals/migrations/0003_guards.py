"""What was asked and what was decided never changes, whatever code asks for it."""

from django.db import migrations

STANDING = (
    "state",
    "is_latest",
    "approvals_so_far",
    "handback",
    "superseded_by_id",
    "ended_at",
    "ended_by",
)

CONTENT = f"""
CREATE FUNCTION approvals_keep_content() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    standing text[] := ARRAY{list(STANDING)};
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
END $$;
CREATE TRIGGER approvals_interrupt_content BEFORE UPDATE ON approvals_interrupt
    FOR EACH ROW EXECUTE FUNCTION approvals_keep_content();
"""

FINAL = ("approvals_decision", "approvals_approval", "approvals_policyversion")
KEPT = ("approvals_interrupt", *FINAL)

REFUSE = """
CREATE FUNCTION approvals_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% of % is not possible: it is evidence', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'integrity_constraint_violation';
END $$
"""


def refuse(table: str, operation: str) -> migrations.RunSQL:
    """A trigger by which this operation fails on this table."""
    name = f"{table}_no_{operation.lower()}"
    return migrations.RunSQL(
        f"CREATE TRIGGER {name} BEFORE {operation} ON {table}"
        " FOR EACH ROW EXECUTE FUNCTION approvals_refuse()",
        f"DROP TRIGGER {name} ON {table}",
    )


class Migration(migrations.Migration):
    dependencies = [("approvals", "0002_initial")]

    operations = [
        migrations.RunSQL(
            CONTENT,
            "DROP TRIGGER approvals_interrupt_content ON approvals_interrupt;"
            "DROP FUNCTION approvals_keep_content()",
        ),
        migrations.RunSQL(REFUSE, "DROP FUNCTION approvals_refuse()"),
        *(refuse(table, "DELETE") for table in KEPT),
        *(refuse(table, "UPDATE") for table in FINAL),
    ]
