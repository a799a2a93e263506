from django.db import migrations, models

from identity.languages import language_rule, zone_rule


class Migration(migrations.Migration):
    dependencies = [("identity", "0002_guards")]

    operations = [
        migrations.AddField(
            "user",
            "language",
            models.CharField(
                blank=True, db_default="", default="", max_length=16, validators=[language_rule]
            ),
        ),
        migrations.AddField(
            "user",
            "time_zone",
            models.CharField(
                blank=True, db_default="", default="", max_length=64, validators=[zone_rule]
            ),
        ),
    ]
