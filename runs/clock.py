"""The database's clock, the only one that decides."""

from datetime import datetime

from django.db import connection


def database_now() -> datetime:
    """The instant now, not that of the transaction's begin: `clock_timestamp()`, aware."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        (now,) = cursor.fetchone()
    return now  # type: ignore[no-any-return]
