"""A tenant's display hints: which arguments tell of a tool's calls in a list."""

from functools import lru_cache
from typing import ClassVar

from django.db import models

from approvals.models.saved import Saved
from approvals.rules.display import Hint, read_hints
from placet.protocol.reading import JSONValue, read_json
from placet.protocol.refusals import Fault


class DisplayVersion(Saved):
    """The hints that were in force from one save to the next."""

    EVENT = "display.saved"

    class Meta:
        db_table = "approvals_displayversion"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "version"], name="display_version_once")
        ]

    @staticmethod
    def faults_of(document: JSONValue) -> tuple[Fault, ...]:
        """Everything that is wrong with a file of hints."""
        return read_hints(document)[1]

    @classmethod
    def hints_of(cls, tenant_id: int) -> tuple[Hint, ...]:
        """The tenant's hints in their order."""
        version = cls.in_force(tenant_id)
        return parsed_hints(version.text) if version else ()


@lru_cache(maxsize=256)
def parsed_hints(text: str) -> tuple[Hint, ...]:
    """The hints of a stored version's text; kept, since a version never changes."""
    hints, _ = read_hints(read_json(text.encode()))
    return hints
