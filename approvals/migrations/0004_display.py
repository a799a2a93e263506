"""A tenant's display hints, which never change once saved."""

import django.db.models.deletion
from django.db import migrations, models


def refuse(operation: str) -> migrations.RunSQL:
    """A trigger by which this operation fails on the table of hints."""
    name = f"approvals_displayversion_no_{operation.lower()}"
    return migrations.RunSQL(
        f"CREATE TRIGGER {name} BEFORE {operation} ON approvals_displayversion"
        " FOR EACH ROW EXECUTE FUNCTION approvals_refuse()",
        f"DROP TRIGGER {name} ON approvals_displayversion",
    )


class Migration(migrations.Migration):
    dependencies = [
        ("approvals", "0003_guards"),
        ("identity", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="DisplayVersion",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("version", models.IntegerField()),
                ("hints_text", models.TextField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="display_versions",
                        to="identity.tenant",
                    ),
                ),
            ],
            options={"db_table": "approvals_displayversion"},
        ),
        migrations.AddConstraint(
            model_name="displayversion",
            constraint=models.UniqueConstraint(
                fields=("tenant", "version"), name="display_version_once"
            ),
        ),
        *(refuse(operation) for operation in ("UPDATE", "DELETE")),
    ]
