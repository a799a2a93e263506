"""Each question knows its agent, whose open questions are then counted by an index."""

import django.db.models.deletion
from django.db import migrations, models

FILL = """
SET CONSTRAINTS ALL IMMEDIATE;
ALTER TABLE approvals_interrupt DISABLE TRIGGER approvals_interrupt_content;
UPDATE approvals_interrupt SET agent_id = runs_run.agent_id
    FROM runs_run WHERE runs_run.id = approvals_interrupt.run_id;
ALTER TABLE approvals_interrupt ENABLE TRIGGER approvals_interrupt_content;
"""
EMPTY = "SET CONSTRAINTS ALL IMMEDIATE"  # the column goes as a whole
OPEN = models.Q(state__in=["PENDING", "HANDED_BACK"])


def agent(*, null: bool) -> models.ForeignKey:
    """The column, empty until it is filled."""
    return models.ForeignKey(
        db_constraint=False,
        db_index=False,
        null=null,
        on_delete=django.db.models.deletion.PROTECT,
        related_name="+",
        to="identity.agent",
    )


class Migration(migrations.Migration):
    dependencies = [
        ("approvals", "0004_display"),
        ("identity", "0001_initial"),
        ("runs", "0001_initial"),
    ]

    operations = [
        migrations.AddField("interrupt", "agent", agent(null=True)),
        migrations.RunSQL(FILL, EMPTY),
        migrations.AlterField("interrupt", "agent", agent(null=False)),
        migrations.AddIndex(
            "interrupt",
            models.Index(fields=["agent"], condition=OPEN, name="interrupt_open_of_agent"),
        ),
        migrations.AddIndex(
            "interrupt",
            models.Index(
                fields=["tenant", "asked_sha256", "expires_at", "id"],
                condition=OPEN,
                name="interrupt_open_content",
            ),
        ),
    ]
