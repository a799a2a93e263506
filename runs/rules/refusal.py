"""A "no" with its reason: a value that commands return, never an exception (contract §5).

It is recorded inside the transaction that found it, and raising it out of `atomic()` would roll
that record back.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from placet.protocol.reading import JSONValue
from placet.protocol.refusals import Fault, RefusalCode

COUNTED_ONLY = frozenset(
    {RefusalCode.UNAUTHENTICATED, RefusalCode.RATE_LIMITED, RefusalCode.TOO_LARGE}
)
"""Refusals that leave no event: they are too cheap to cause for a record of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a command changed nothing, and what is true instead.

    `current` holds ids, states, digests and times; never argument values. `is_recorded` tells
    that the record of a run holds it already, `is_kept` that the report which was refused is kept.
    """

    code: RefusalCode
    detail: str = ""
    current: Mapping[str, JSONValue] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()
    retry_after_s: int | None = None
    is_recorded: bool = False
    is_kept: bool = False

    @property
    def sentence(self) -> str:
        """What to tell a person: the detail where there is one, else the code's own sentence."""
        return self.detail or self.code.sentence


def invalid(pointer: str, message: str) -> Refusal:
    """An `invalid_request` with one fault."""
    return Refusal(
        code=RefusalCode.INVALID_REQUEST, detail=message, faults=(Fault(pointer, message),)
    )
