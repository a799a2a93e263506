"""What became of one attempt to send."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Delivered:
    """Whoever carries it on has taken it."""


@dataclass(frozen=True, slots=True)
class Failed:
    """It was not taken; `error` is a class of error, without the words of anybody."""

    error: str


@dataclass(frozen=True, slots=True)
class Gone:
    """There is nobody at this address any more."""


Outcome = Delivered | Failed | Gone
