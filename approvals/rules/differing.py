"""What differs between two JSON values, place by place, exactly.

What is told is enough to make the second value from the first: what went, what came, what stands
elsewhere now, what is another value. Items of a list keep their order unless they are told to
have moved.
"""

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from placet.protocol.canonical import canonical
from placet.protocol.reading import JSONValue

Path = tuple[str, ...]

TELLING_NOTHING = frozenset({"null", "true", "false", '""', "[]", "{}"})
"""Values that stand in many places by chance; they are never told to have moved."""


@dataclass(frozen=True, slots=True)
class MemberChange:
    """One place where two values differ; None where a side has nothing there.

    Where `came_from` is given, exactly this value stood there before, and nothing is there now
    or something else.
    """

    path: Path
    before: str | None
    after: str | None
    came_from: Path | None = None


def differences(before: JSONValue, after: JSONValue) -> tuple[MemberChange, ...]:
    """Every place at which two values differ, in the order of names, values in canonical form."""
    return tuple(_with_moves(list(_Walk().inside(before, after, ()))))


@dataclass(slots=True)
class _Walk:
    """One pass over two values, in which equal values have equal numbers.

    So that items are compared without being written out anew at every level of lists in lists.
    """

    numbers: dict[object, int] = field(default_factory=dict)
    known: dict[int, int] = field(default_factory=dict)
    """The numbers of lists and objects by their identity; both values outlive the pass."""

    def number(self, value: JSONValue) -> int:
        if not isinstance(value, dict | list):
            return self.numbers.setdefault(canonical(value), len(self.numbers))
        if (known := self.known.get(id(value))) is None:
            parts: object
            if isinstance(value, list):
                parts = tuple(self.number(item) for item in value)
            else:
                parts = frozenset((name, self.number(item)) for name, item in value.items())
            known = self.numbers.setdefault(parts, len(self.numbers))
            self.known[id(value)] = known
        return known

    def inside(self, old: JSONValue, new: JSONValue, path: Path) -> Iterator[MemberChange]:
        if isinstance(old, dict) and isinstance(new, dict):
            for name in sorted(old.keys() | new.keys()):
                here = (*path, name)
                if name not in new:
                    yield MemberChange(here, canonical(old[name]), None)
                elif name not in old:
                    yield MemberChange(here, None, canonical(new[name]))
                else:
                    yield from self.inside(old[name], new[name], here)
        elif isinstance(old, list) and isinstance(new, list) and old and new:
            yield from self.items(old, new, path)
        elif self.number(old) != self.number(new):
            yield MemberChange(path, canonical(old), canonical(new))

    def items(
        self, old: list[JSONValue], new: list[JSONValue], path: Path
    ) -> Iterator[MemberChange]:
        """What differs between two lists: first equal items are matched, then equal places.

        Only an item that keeps its order can have changed inside; one that others move past is
        told as replaced.
        """
        kept = _matched([self.number(item) for item in old], [self.number(item) for item in new])
        gone = [at for at in range(len(old)) if at not in kept]
        came = set(range(len(new))) - set(kept.values())
        changed = came.intersection(gone)
        staying = _staying(dict(sorted([*kept.items(), *((at, at) for at in changed)])))
        for at in gone:
            here = (*path, str(at))
            if at in staying:
                yield from self.inside(old[at], new[at], here)
            else:
                after = canonical(new[at]) if at in changed else None
                yield MemberChange(here, canonical(old[at]), after)
        for at in sorted(came - changed):
            yield MemberChange((*path, str(at)), None, canonical(new[at]))
        for at, to in kept.items():
            if at not in staying:
                here, there = (*path, str(to)), (*path, str(at))
                value = canonical(new[to])
                yield MemberChange(here, value, value, came_from=there)


def _matched(was: Sequence[int], now: Sequence[int]) -> dict[int, int]:
    """For each old place whose item is there still, its new place; in the order of old places."""
    waiting: defaultdict[int, deque[int]] = defaultdict(deque)
    for place, item in enumerate(now):
        waiting[item].append(place)
    return {at: waiting[item].popleft() for at, item in enumerate(was) if waiting[item]}


def _staying(kept: dict[int, int]) -> frozenset[int]:
    """Old places of a longest row of kept items whose order is the same; all others moved."""
    ends: list[int] = []
    rows: list[int] = []
    before: dict[int, int | None] = {}
    for at, to in kept.items():
        rank = bisect_left(ends, to)
        before[at] = rows[rank - 1] if rank else None
        ends[rank : rank + 1] = [to]
        rows[rank : rank + 1] = [at]
    found: list[int] = []
    last = rows[-1] if rows else None
    while last is not None:
        found.append(last)
        last = before[last]
    return frozenset(found)


def _with_moves(found: list[MemberChange]) -> Iterator[MemberChange]:
    """The same, but what went from one place and came, equal, to just one other has moved."""
    gone, came = _sole(found, is_gone=True), _sole(found, is_gone=False)
    moved = gone.keys() & came.keys() - TELLING_NOTHING
    for change in found:
        if change.after is None and change.before in moved:
            continue
        if change.before is None and change.after in moved:
            came_from = gone[change.after].path
            yield MemberChange(change.path, change.after, change.after, came_from=came_from)
        else:
            yield change


def _sole(found: list[MemberChange], *, is_gone: bool) -> dict[str, MemberChange]:
    """Changes of one side whose value no other change of that side has, by their value."""
    sole: dict[str, MemberChange | None] = {}
    for change in found:
        value = change.before if is_gone else change.after
        other = change.after if is_gone else change.before
        if value is not None and other is None:
            sole[value] = None if value in sole else change
    return {value: change for value, change in sole.items() if change is not None}
