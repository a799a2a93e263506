"""Versions of a tenant's documents hold their text under one name."""

import django.db.models.deletion
from django.db import migrations, models


def nameless(table: str) -> migrations.AlterField:
    """A tenant no longer lists its versions by a name of their own."""
    return migrations.AlterField(
        table,
        "tenant",
        models.ForeignKey(
            on_delete=django.db.models.deletion.PROTECT, related_name="+", to="identity.tenant"
        ),
    )


class Migration(migrations.Migration):
    dependencies = [("approvals", "0007_handoff_guards")]

    operations = [
        migrations.RenameField("policyversion", "rules_text", "text"),
        migrations.RenameField("displayversion", "hints_text", "text"),
        nameless("policyversion"),
        nameless("displayversion"),
    ]
