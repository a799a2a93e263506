"""What one place of the form holds: a text, a number, a choice, or JSON where those would lie."""

import re
from dataclasses import dataclass, replace

from approvals.rules.described import Described, Kind, choices
from approvals.rules.presentation import pretty
from approvals.rules.visible import Trait, visible, visible_json
from placet.protocol.canonical import canonical
from placet.protocol.reading import InvalidJSON, JSONValue, read_json

LONG_TEXT = 60
"""Texts of more characters, and texts with line ends, get a box that grows."""
BOUNDS = {
    Kind.TEXT: ("minLength", "maxLength", "pattern", "format"),
    Kind.NUMBER: ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf"),
    Kind.LIST: ("minItems", "maxItems"),
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a field stands: as an item of a list, or as a member that may have to be there.

    `is_left_out` says that the member was asked with and is absent now.
    """

    is_item: bool = False
    is_required: bool = False
    is_first: bool = False
    is_last: bool = False
    is_left_out: bool = False


NO_PLACE = Place()


@dataclass(frozen=True, slots=True)
class Bound:
    """What the schema demands of a value, by its keyword."""

    keyword: str
    value: str


@dataclass(frozen=True, slots=True)
class Way:
    """Another kind of value that a place may take, and the JSON with which it begins."""

    kind: Kind
    blank: str
    is_taken: bool


@dataclass(frozen=True, slots=True)
class Option:
    """One value of a choice as JSON, and as it is read."""

    json: str
    text: str
    is_taken: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One place of the arguments; `label` names it in plain text, hidden characters spelled out.

    `text` is what its box holds: the text or number itself, else JSON. `blank` is the JSON with
    which an absent member, or a list's next item, begins. `has_crlf` says that every line end of
    the text is CR LF, of which a box shows only LF.
    """

    pointer: str
    name: str
    label: str
    kind: Kind
    title: str = ""
    description: str = ""
    text: str = ""
    place: Place = NO_PLACE
    is_whole: bool = False
    may_be_negative: bool = False
    is_long: bool = False
    is_spelled: bool = False
    has_crlf: bool = False
    blank: str | None = None
    bounds: tuple[Bound, ...] = ()
    ways: tuple[Way, ...] = ()
    options: tuple[Option, ...] = ()
    parts: tuple["Field", ...] = ()

    @property
    def is_one_of_ways(self) -> bool:
        """Whether the value is of a kind that the place may take."""
        return any(way.is_taken for way in self.ways)


def json_box(plain: Field, value: JSONValue) -> Field:
    """The field with its value as JSON, every character of it to be seen."""
    text = pretty(value)
    is_long = "\n" in text or len(text) > LONG_TEXT
    return replace(plain, kind=Kind.JSON, text=text, is_long=is_long, bounds=())


def text_box(plain: Field, value: str) -> Field:
    """How a text is typed; as JSON where it holds what cannot be typed, or not be seen."""
    has_crlf = "\r\n" in value and not re.search(r"(?<!\r)\n|\r(?!\n)", value)
    shown = value.replace("\r\n", "\n") if has_crlf else value
    if not _can_be_typed(shown):
        return replace(json_box(plain, value), is_spelled=True)
    is_long = len(value) > LONG_TEXT or "\n" in value
    return replace(plain, text=shown, is_long=is_long, has_crlf=has_crlf)


def _can_be_typed(text: str) -> bool:
    marks = {segment.trait for segment in visible(text)}
    return marks <= {None, Trait.BREAK} and text == text.strip(" ")


def number_box(plain: Field, said: Described, value: float) -> Field:
    """The field with a number in its canonical spelling."""
    least = said.get("minimum", said.get("exclusiveMinimum"))
    is_below = isinstance(least, int | float) and least < 0
    return replace(
        plain,
        text=canonical(value),
        is_whole=said.get("type") == "integer",
        may_be_negative=is_below or value < 0,
    )


def options(said: Described, value: JSONValue) -> tuple[Option, ...]:
    """The values of a choice, the taken one marked."""
    now = canonical(value)
    return tuple(
        Option(spelled(text), _read(choice), text == now)
        for choice in choices(said)
        for text in [canonical(choice)]
    )


def bounds(said: Described, kind: Kind) -> tuple[Bound, ...]:
    """What the schema demands of a value of this kind."""
    found = ((keyword, said.get(keyword)) for keyword in BOUNDS.get(kind, ()))
    return tuple(
        Bound(keyword, value if isinstance(value, str) else canonical(value))
        for keyword, value in found
        if value is not None
    )


def _read(choice: JSONValue) -> str:
    """A choice as one reads it: text that can be taken for nothing else without its quotes."""
    is_plain = isinstance(choice, str) and choice.strip() and not _is_json(choice)
    shown = visible(str(choice)) if is_plain else visible_json(canonical(choice))
    return "".join(segment.text for segment in shown)


def _is_json(text: str) -> bool:
    try:
        read_json(text.encode())
    except InvalidJSON:
        return False
    return True


def spelled(json: str) -> str:
    """JSON of the same value in which nothing hides."""
    return "".join(segment.text for segment in visible_json(json))


def words_of(said: Described, name: str) -> str:
    """The agent's words under this keyword."""
    found = said.get(name)
    return found if isinstance(found, str) else ""
