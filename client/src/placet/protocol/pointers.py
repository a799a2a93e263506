"""JSON Pointers (RFC 6901): how faults and masks name a place in a value."""

import re
from collections.abc import Iterable

_POINTER = re.compile(r"(?:/(?:[^~/]|~[01])*)*")


def pointer(parts: Iterable[str | int]) -> str:
    """The pointer to the place reached by these names and indexes; no parts name the whole."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def parse_pointer(text: str) -> tuple[str, ...]:
    """The unescaped parts of a pointer, indexes as digits; raises ValueError if it is none."""
    if not _POINTER.fullmatch(text):
        raise ValueError("not a JSON Pointer")
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:])
