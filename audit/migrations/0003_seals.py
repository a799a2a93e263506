from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("audit", "0002_append_only")]

    operations: ClassVar = [
        migrations.CreateModel(
            name="Seal",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("tenant_id", models.BigIntegerField()),
                ("seq", models.BigIntegerField()),
                ("last_n", models.BigIntegerField()),
                ("root", models.TextField()),
                ("previous_hash", models.TextField(blank=True)),
                ("hash", models.TextField()),
                ("at", models.DateTimeField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("tenant_id", "seq"), name="audit_sealed_once")
                ],
            },
        ),
        migrations.RunSQL(
            [
                "CREATE TRIGGER audit_seal_only_grows BEFORE UPDATE OR DELETE ON audit_seal"
                " FOR EACH ROW EXECUTE FUNCTION audit_only_grows()",
                "CREATE TRIGGER audit_seal_never_emptied BEFORE TRUNCATE ON audit_seal"
                " FOR EACH STATEMENT EXECUTE FUNCTION audit_only_grows()",
            ],
            [
                "DROP TRIGGER audit_seal_never_emptied ON audit_seal",
                "DROP TRIGGER audit_seal_only_grows ON audit_seal",
            ],
        ),
    ]
