"""A call at a glance: names with exact values, masked where sensitive, never cut.

A value too long for a row says how long it is, and what is not shown is counted, so that nobody
takes a part for the whole.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from approvals.rules.display import Hint, place
from approvals.rules.presentation import masked_value
from approvals.rules.visible import Segment, visible, visible_json
from placet.protocol.canonical import canonical
from placet.protocol.pointers import parse_pointer, pointer
from placet.protocol.reading import JSONValue

VALUE_CHARS = 120
"""Longer values say their length; texts count their characters, others those of their JSON."""


class Sort(StrEnum):
    """How a pair is shown."""

    TEXT = "text"
    JSON = "json"
    EMPTY = "empty"
    LONG = "long"
    MASKED = "masked"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Pair:
    """One argument: its name and its exact value, or why there is none; `chars` of a long one."""

    name: tuple[Segment, ...]
    sort: Sort
    value: tuple[Segment, ...] = ()
    chars: int = 0


@dataclass(frozen=True, slots=True)
class Glance:
    """What a row says: pairs, and how many members of the arguments it does not show whole.

    Without pairs the arguments are none, or too long: then `chars` of the canonical text.
    """

    pairs: tuple[Pair, ...] = ()
    more: int = 0
    chars: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether there are no arguments at all."""
        return not self.pairs and not self.chars


def whole(args: dict[str, JSONValue], sensitive: Sequence[str]) -> Glance:
    """Every argument of a short call, in canonical order."""
    names = sorted(args, key=lambda name: name.encode("utf-16-be"))
    pairs = (
        Pair(visible(name), Sort.MASKED)
        if is_masked(at := pointer([name]), sensitive)
        else told(name, args[name], within(at, sensitive), chars=None)
        for name in names
    )
    return Glance(tuple(pairs))


def hinted(args: dict[str, JSONValue], hint: Hint, sensitive: Sequence[str]) -> Glance:
    """The arguments that a hint names, in its order."""
    pairs = []
    for at in hint.show:
        found = place(args, at)
        if is_masked(at, sensitive):
            pairs.append(Pair(visible(name_of(at)), Sort.MASKED))
        elif not found.is_there:
            pairs.append(Pair(visible(name_of(at)), Sort.ABSENT))
        else:
            pairs.append(told(name_of(at), found.value, within(at, sensitive)))
    return Glance(tuple(pairs), more=unshown(hint, args))


def told(
    name: str, value: JSONValue, sensitive: Sequence[str], *, chars: int | None = VALUE_CHARS
) -> Pair:
    """A value with its name; `sensitive` are pointers into the value, `chars` its most, if any."""
    if isinstance(value, str):
        if not value:
            return Pair(visible(name), Sort.EMPTY)
        if chars is not None and len(value) > chars:
            return Pair(visible(name), Sort.LONG, chars=len(value))
        return Pair(visible(name), Sort.TEXT, visible(value))
    text = canonical(masked_value(value, sensitive))
    if chars is not None and len(text) > chars:
        return Pair(visible(name), Sort.LONG, chars=len(text))
    return Pair(visible(name), Sort.JSON, visible_json(text))


def name_of(at: str) -> str:
    """How a place is called: a member by its name, a deeper one by its pointer."""
    parts = parse_pointer(at)
    return parts[0] if len(parts) == 1 else at


def is_masked(at: str, sensitive: Sequence[str]) -> bool:
    """Whether a place, or one around it, is sensitive."""
    return any(at == hidden or at.startswith(f"{hidden}/") for hidden in sensitive)


def within(at: str, sensitive: Sequence[str]) -> list[str]:
    """The sensitive places inside this one, as pointers into its value."""
    return [hidden.removeprefix(at) for hidden in sensitive if hidden.startswith(f"{at}/")]


def unshown(hint: Hint, names: "Sequence[str] | dict[str, JSONValue]") -> int:
    """How many members of the arguments a hint does not show whole."""
    parts = [parse_pointer(at) for at in hint.show]
    return len(names) - sum(len(part) == 1 and part[0] in names for part in parts)
