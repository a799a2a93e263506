"""The record only grows: triggers that refuse UPDATE, DELETE and TRUNCATE.

Row triggers do not see TRUNCATE, hence the statement triggers. The owner of the tables can
switch triggers off; the hash chain and the exported head are there for that.
"""

from typing import ClassVar

from django.db import migrations

TABLES = ("audit_event", "audit_numbered")

FUNCTION = """
CREATE FUNCTION audit_only_grows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% of % is refused: the record only grows', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation';
END
$$
"""


def _triggers(table: str) -> migrations.RunSQL:
    return migrations.RunSQL(
        [
            f"CREATE TRIGGER {table}_only_grows BEFORE UPDATE OR DELETE ON {table}"
            " FOR EACH ROW EXECUTE FUNCTION audit_only_grows()",
            f"CREATE TRIGGER {table}_never_emptied BEFORE TRUNCATE ON {table}"
            " FOR EACH STATEMENT EXECUTE FUNCTION audit_only_grows()",
        ],
        [
            f"DROP TRIGGER {table}_never_emptied ON {table}",
            f"DROP TRIGGER {table}_only_grows ON {table}",
        ],
    )


class Migration(migrations.Migration):
    dependencies: ClassVar = [("audit", "0001_initial")]

    operations: ClassVar = [
        migrations.RunSQL(FUNCTION, "DROP FUNCTION audit_only_grows()"),
        *(_triggers(table) for table in TABLES),
    ]
