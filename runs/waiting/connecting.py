"""How hub and notifier reach the database outside Django's pool."""

from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections

CHANNEL = "placet_wake"
KEEPALIVE = {
    "application_name": "placet-wake",
    "connect_timeout": 5,
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}


def connection_parameters() -> dict[str, Any]:
    """Give psycopg's keyword arguments for the database that Django uses just now."""
    parameters: dict[str, Any] = connections[DEFAULT_DB_ALIAS].get_connection_params()
    for django_only in ("context", "cursor_factory"):
        parameters.pop(django_only, None)
    return {**parameters, **KEEPALIVE, "autocommit": True}
