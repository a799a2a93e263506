"""Who counts for which part of a rule: pure matching of people and clauses."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from identity.person import Person


@dataclass(frozen=True, slots=True)
class Stakes:
    """The two people with a stake in a run: its owner, and who answers for its agent."""

    owner_id: int
    responsible_id: int | None

    def has(self, person: Person) -> bool:
        """Whether this person is one of the two."""
        return person.id in (self.owner_id, self.responsible_id)


@dataclass(frozen=True, slots=True)
class Clause:
    """So many approvals from among these people; any of the sources admits a person."""

    count: int
    groups: frozenset[str] = frozenset()
    users: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()
    owner: bool = False
    responsible: bool = False

    def admits(self, person: Person, stakes: Stakes) -> bool:
        """Whether this person may fill a place here; an auditor never changes anything."""
        if not person.is_active or person.role == "auditor":
            return False
        return (
            person.name in self.users
            or person.role in self.roles
            or bool(person.groups & self.groups)
            or (self.owner and person.id == stakes.owner_id)
            or (self.responsible and person.id == stakes.responsible_id)
        )


def places(clauses: Sequence[Clause]) -> int:
    """How many approvals are needed in all: the sum of the counts."""
    return sum(clause.count for clause in clauses)


def places_filled(
    clauses: Sequence[Clause], people: Iterable[Person], *, stakes: Stakes, owner_counts: bool
) -> int:
    """The most places that these people can fill, each at most one (a maximum matching)."""
    seats = [clause for clause in clauses for _ in range(clause.count)]
    taken: dict[int, Person] = {}

    def seat(person: Person, tried: set[int]) -> bool:
        for number, clause in enumerate(seats):
            if number in tried or not clause.admits(person, stakes):
                continue
            tried.add(number)
            if number not in taken or seat(taken[number], tried):
                taken[number] = person
                return True
        return False

    return sum(seat(person, set()) for person in people if owner_counts or not stakes.has(person))


def is_admitted(
    clauses: Sequence[Clause], person: Person, *, stakes: Stakes, owner_counts: bool
) -> bool:
    """Whether any clause admits this person at all."""
    if not owner_counts and stakes.has(person):
        return False
    return any(clause.admits(person, stakes) for clause in clauses)
