"""A person's standing at one moment, as the pure rules see it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Person:
    """Who somebody is and what they belong to; `groups` are names, without those of roles."""

    id: int
    name: str
    role: str
    groups: frozenset[str]
    is_active: bool
