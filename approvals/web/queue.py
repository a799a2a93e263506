"""What still waits for a person, as the page of one question tells it: the next, and how many."""

from dataclasses import dataclass
from typing import Final

from django.db.models.functions import Now

from approvals.access import waiting_for
from identity.models import User

COUNTED_MAX: Final = 100


@dataclass(frozen=True, slots=True)
class Queue:
    """The most urgent other question that waits, and how many there are, counted to a bound."""

    next_id: str | None
    count: int

    @property
    def is_more(self) -> bool:
        """Whether there are more than were counted."""
        return self.count > COUNTED_MAX

    @property
    def shown(self) -> int:
        """How many to say, at most `COUNTED_MAX`."""
        return min(self.count, COUNTED_MAX)


def queue_after(interrupt_id: str, user: User) -> Queue:
    """What waits for this person besides this question, in the order of the inbox."""
    waiting = waiting_for(user).filter(expires_at__gt=Now()).exclude(pk=interrupt_id)
    ids = waiting.order_by("expires_at", "pk").values_list("pk", flat=True)[: COUNTED_MAX + 1]
    found = list(ids)
    return Queue(found[0] if found else None, len(found))
