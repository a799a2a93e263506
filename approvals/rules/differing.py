"""What differs between two JSON values, place by place, exactly.

What is told is enough to make the second value from the first: what went, what came, what stands
elsewhere now, what is another value. Items of a list keep their order unless they are told to
have moved.
"""

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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
    return tuple(_with_moves(list(_walk(before, after, ()))))


def _walk(old: JSONValue, new: JSONValue, path: Path) -> Iterator[MemberChange]:
    if isinstance(old, dict) and isinstance(new, dict):
        for name in sorted(old.keys() | new.keys()):
            here = (*path, name)
            if name not in new:
                yield MemberChange(here, canonical(old[name]), None)
            elif name not in old:
                yield MemberChange(here, None, canonical(new[name]))
            else:
                yield from _walk(old[name], new[name], here)
    elif isinstance(old, list) and isinstance(new, list) and old and new:
        yield from _items(old, new, path)
    elif (was := canonical(old)) != (now := canonical(new)):
        yield MemberChange(path, was, now)


def _items(old: list[JSONValue], new: list[JSONValue], path: Path) -> Iterator[MemberChange]:
    """What differs between two lists: first equal items are matched, then equal places."""
    was, now = [canonical(item) for item in old], [canonical(item) for item in new]
    kept = _matched(was, now)
    gone = [at for at in range(len(old)) if at not in kept]
    came = set(range(len(new))) - set(kept.values())
    staying = _staying(kept)
    for at in gone:
        here = (*path, str(at))
        if at in came:
            came.remove(at)
            yield from _walk(old[at], new[at], here)
        else:
            yield MemberChange(here, was[at], None)
    for at in sorted(came):
        yield MemberChange((*path, str(at)), None, now[at])
    for at, to in kept.items():
        if at not in staying:
            here, there = (*path, str(to)), (*path, str(at))
            yield MemberChange(here, was[at], now[to], came_from=there)


def _matched(was: Sequence[str], now: Sequence[str]) -> dict[int, int]:
    """For each old place whose item is there still, its new place; in the order of old places."""
    waiting: defaultdict[str, deque[int]] = defaultdict(deque)
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
