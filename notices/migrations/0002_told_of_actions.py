"""People are told of unknown outcomes, and each time that a handoff is opened again."""

from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("identity", "0003_reading"),
        ("notices", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="due",
            name="due_once",
        ),
        migrations.RemoveConstraint(
            model_name="notice",
            name="notice_once",
        ),
        migrations.AddField(
            model_name="choice",
            name="unknown",
            field=models.BooleanField(default=True),
        ),
        migrations.AddField(
            model_name="due",
            name="occasion",
            field=models.IntegerField(default=0),
        ),
        migrations.AddField(
            model_name="notice",
            name="occasion",
            field=models.IntegerField(default=0),
        ),
        migrations.AddConstraint(
            model_name="due",
            constraint=models.UniqueConstraint(
                fields=("interrupt_id", "kind", "occasion"), name="due_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="notice",
            constraint=models.UniqueConstraint(
                fields=("interrupt_id", "user", "channel", "kind", "occasion"), name="notice_once"
            ),
        ),
    ]
