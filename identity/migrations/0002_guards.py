"""People, agents and tenants are never deleted, whatever code asks for it."""

from django.db import migrations

KEPT = ("identity_tenant", "identity_user", "identity_agent", "identity_agentkey")

FUNCTION = """
CREATE FUNCTION identity_refuse_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is kept: the record names it; deactivate it instead', TG_TABLE_NAME
        USING ERRCODE = 'integrity_constraint_violation';
END $$
"""


def trigger(table: str) -> migrations.RunSQL:
    """A trigger by which no row of this table goes."""
    return migrations.RunSQL(
        f"CREATE TRIGGER {table}_kept BEFORE DELETE ON {table}"
        " FOR EACH ROW EXECUTE FUNCTION identity_refuse_delete()",
        f"DROP TRIGGER {table}_kept ON {table}",
    )


class Migration(migrations.Migration):
    dependencies = [("identity", "0001_initial")]

    operations = [
        migrations.RunSQL(FUNCTION, "DROP FUNCTION identity_refuse_delete()"),
        *(trigger(table) for table in KEPT),
    ]
