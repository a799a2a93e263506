"""The database's clock, the only one that decides."""

from datetime import datetime

from django.db import connection

READ_CLOCK = "SELECT clock_timestamp()"


def database_now() -> datetime:
    """The instant now, not that of the transaction's begin: `clock_timestamp()`, aware."""
    with connection.cursor() as cursor:
        cursor.execute(READ_CLOCK)
        (now,) = cursor.fetchone()
    return now  # type: ignore[no-any-return]
