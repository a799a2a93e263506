"""What a person chose, read strictly: nothing is guessed, and a fault is told at its field."""

import re
from dataclasses import dataclass
from datetime import time
from typing import Final

from django.db import transaction
from django.http import QueryDict
from django.utils.translation import gettext as _

from identity.models import User
from notices.models import Address, Choice

_CLOCK: Final = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])(?::00)?", re.ASCII)
_ON: Final = ("asked", "reminder", "escalation", "unknown", "escalation_wakes")


@dataclass(frozen=True, slots=True)
class Chosen:
    """A person's wishes as typed, and what is wrong with the quiet hours, "" where nothing is."""

    kinds: dict[str, bool]
    used: frozenset[str]
    quiet_from: time | None
    quiet_until: time | None
    fault: str

    @classmethod
    def read(cls, post: QueryDict) -> "Chosen":
        """Read the form; a box that is not there was not ticked, a bound has to be there."""
        bounds = [post.get(name, "-").strip() for name in ("quiet_from", "quiet_until")]
        start, end = (_clock(text) for text in bounds)
        return cls(
            kinds={name: name in post for name in _ON},
            used=frozenset(post.getlist("use")),
            quiet_from=start,
            quiet_until=end,
            fault=_fault(bounds, start, end),
        )

    def keep(self, user: User) -> None:
        """Store the wishes of this person."""
        with transaction.atomic():
            Choice.objects.update_or_create(
                user=user,
                tenant_id=user.tenant_id,
                defaults={
                    **self.kinds,
                    "quiet_from": self.quiet_from,
                    "quiet_until": self.quiet_until,
                },
            )
            mine = Address.objects.filter(
                tenant_id=user.tenant_id, user=user, confirmed_at__isnull=False
            )
            mine.filter(channel__in=self.used).update(is_on=True)
            mine.exclude(channel__in=self.used).update(is_on=False)


def _clock(text: str) -> time | None:
    match = _CLOCK.fullmatch(text)
    return time(int(match[1]), int(match[2])) if match else None


def _fault(bounds: list[str], start: time | None, end: time | None) -> str:
    if not any(bounds):
        return ""
    if start is None or end is None:
        return _("Give both times as hours and minutes, such as 22:00 and 07:00, or neither.")
    return _("The two times have to differ.") if start == end else ""
