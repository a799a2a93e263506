"""Which arguments tell of a call at a glance: a tenant's hints, one per tool, never invented.

A hint chooses what a list shows; it hides nothing where one decides, and changes no content.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from approvals.rules.policy import names_tool
from placet.protocol import limits
from placet.protocol.pointers import parse_pointer, pointer
from placet.protocol.reading import JSONValue
from placet.protocol.refusals import Fault

SHOW_MAX = 6
POINTER_CHARS = 500
HINT_MEMBERS = frozenset({"tool", "show"})

_TOOL_GLOB = re.compile(rf"{limits.TOOL_PATTERN}\*?|\*")
_AMBIGUOUS = re.compile(r"\s*[+\-]?\s*\d+")
_INDEX = re.compile(r"0|[1-9][0-9]{0,5}")


@dataclass(frozen=True, slots=True)
class Hint:
    """The places in the arguments that tell of a tool's calls, in the order to show them."""

    tool: str
    show: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """What stands at a pointer; `is_there` tells an absent member from null."""

    is_there: bool
    value: JSONValue = None


def hint_for(hints: Sequence[Hint], tool: str) -> Hint | None:
    """The first hint that names this tool."""
    return next((hint for hint in hints if names_tool([hint.tool], tool)), None)


def place(args: JSONValue, at: str) -> Place:
    """What stands at this pointer into the arguments (RFC 6901 §4)."""
    value = args
    for part in parse_pointer(at):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and _INDEX.fullmatch(part) and int(part) < len(value):
            value = value[int(part)]
        else:
            return Place(is_there=False)
    return Place(is_there=True, value=value)


def read_hints(document: JSONValue) -> tuple[tuple[Hint, ...], tuple[Fault, ...]]:
    """The hints of a display file and every fault in it; the hints hold only without faults."""
    reader = _Reader()
    hints = tuple(reader.hints(document))
    return hints, tuple(reader.faults)


@dataclass(slots=True)
class _Reader:
    """Collects the faults of one display file while its hints are read."""

    faults: list[Fault] = field(default_factory=list)

    def fault(self, path: tuple[str | int, ...], message: str) -> None:
        self.faults.append(Fault(pointer(path), message))

    def hints(self, document: JSONValue) -> Iterator[Hint]:
        if not isinstance(document, list):
            self.fault((), "A display file is a JSON array of hints.")
            return
        seen: set[str] = set()
        for index, item in enumerate(document):
            if not isinstance(item, dict):
                self.fault((index,), "This has to be an object.")
                continue
            for name in sorted(item.keys() - HINT_MEMBERS):
                self.fault((index, name), "Nothing of this name is known here.")
            tool = item.get("tool")
            if not isinstance(tool, str) or not _TOOL_GLOB.fullmatch(tool):
                self.fault((index, "tool"), "This is no tool name and no “prefix*”.")
            elif tool in seen:
                self.fault((index, "tool"), "Two hints have this tool.")
            seen.add(str(tool))
            yield Hint(str(tool), self.show(item.get("show"), index))

    def show(self, value: JSONValue, index: int) -> tuple[str, ...]:
        if not isinstance(value, list) or not 1 <= len(value) <= SHOW_MAX:
            self.fault((index, "show"), f"This has to be a list of 1 to {SHOW_MAX} JSON Pointers.")
            return ()
        for number, text in enumerate(value):
            if message := _pointer_fault(text):
                self.fault((index, "show", number), message)
            elif text in value[:number]:
                self.fault((index, "show", number), "This place is shown already.")
        return tuple(str(text) for text in value)


def _pointer_fault(text: JSONValue) -> str | None:
    try:
        parts = parse_pointer(text) if isinstance(text, str) else ()
    except ValueError:
        parts = ()
    if not parts or len(str(text)) > POINTER_CHARS:
        return "This is no JSON Pointer to a place in the arguments, such as “/amount”."
    # PostgreSQL would count such an index from the end, or read "01" as 1.
    if any(_AMBIGUOUS.fullmatch(part) and not _INDEX.fullmatch(part) for part in parts):
        return "An index is 0, 1, 2 … without sign, blank or leading zero."
    return None
