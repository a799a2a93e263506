"""Deliveries that ended long ago are removed; the record keeps what they told of."""

from typing import Final

from django.db import connection

KEPT_DAYS: Final = 90
BATCH: Final = 1_000

FORGET = """
WITH old AS (
    SELECT id FROM webhooks_delivery
    WHERE ended_at < statement_timestamp() - make_interval(days => %(days)s)
    LIMIT %(most)s FOR UPDATE SKIP LOCKED
), attempts AS (
    DELETE FROM webhooks_attempt USING old WHERE delivery_id = old.id
)
DELETE FROM webhooks_delivery USING old WHERE webhooks_delivery.id = old.id
"""


def forget_old() -> int:
    """Remove what ended longer ago than it is kept; how many."""
    forgotten = 0
    with connection.cursor() as cursor:
        while True:
            cursor.execute(FORGET, {"days": KEPT_DAYS, "most": BATCH})
            count: int = cursor.rowcount
            forgotten += count
            if count < BATCH:
                return forgotten
