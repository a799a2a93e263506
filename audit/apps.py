from django.apps import AppConfig


class AuditConfig(AppConfig):
    """What happened: the append-only record of every tenant."""

    name = "audit"
    default_auto_field = "django.db.models.BigAutoField"
