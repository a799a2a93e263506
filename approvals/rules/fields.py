"""The form of the arguments: which places there are, what each holds, how it can be changed.

The form never carries values of its own into an answer. Each field names a place of the JSON text
that is posted, and the page replaces that place alone, so what nobody touched keeps every byte
and every type (contract §3, Decisions; H-33).
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from approvals.rules.boxes import (
    NO_PLACE,
    Field,
    Place,
    Way,
    bounds,
    json_box,
    number_box,
    options,
    spelled,
    text_box,
    words_of,
)
from approvals.rules.described import (
    Described,
    Kind,
    Schema,
    fits,
    kind_described,
    kind_of,
    required,
)
from approvals.rules.visible import visible
from placet.protocol.canonical import canonical
from placet.protocol.pointers import pointer
from placet.protocol.reading import JSONValue

FIELDS_MAX = 300
"""So many fields at most; a container for which there is no room is one box of JSON."""
DEEP = 6
"""Containers below so many levels are boxes of JSON."""
TOLD_CHARS = 300_000
"""So many characters of the schema are told with all fields together; a place for which there is
no room is filled as if the schema said nothing of it."""
Path = tuple[str, ...]


def fields(
    schema: Mapping[str, JSONValue],
    args: dict[str, JSONValue],
    asked: Mapping[str, JSONValue] | None = None,
) -> tuple[Field, ...]:
    """The fields of these arguments: those they have, those asked, those the schema knows.

    `asked` are the arguments before anything was changed; what was left out of them can be
    brought back. None at all where there are more than FIELDS_MAX on the first level.
    """
    if len(args) > FIELDS_MAX:
        return ()
    walk = _Walk(Schema(schema))
    before = args if asked is None else dict(asked)
    return walk.members(walk.schema.at(dict(schema)), args, before, ())


class _Walk:
    """One pass over the arguments in canonical order, as long as there is room."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.room = FIELDS_MAX
        self.words = TOLD_CHARS

    def members(
        self, said: Described, value: dict[str, JSONValue], asked: JSONValue, path: Path
    ) -> tuple[Field, ...]:
        before = asked if isinstance(asked, dict) else {}
        properties = said.get("properties")
        known = {
            name
            for name, node in (properties.items() if isinstance(properties, dict) else ())
            if node is not False
        }
        needed = frozenset(required(said))
        absent = (known | before.keys() | needed) - value.keys()
        self.room -= len(value) + len(absent)
        given = [
            self.field(
                self.schema.member(said, name),
                value[name],
                before.get(name),
                (*path, name),
                place=Place(is_required=name in needed),
            )
            for name in _ordered(value.keys())
        ]
        missing = [
            self.absent(
                self.schema.member(said, name),
                (*path, name),
                place=Place(is_required=name in needed, is_left_out=name in before),
            )
            for name in _ordered(absent)
        ]
        return (*given, *missing)

    def items(
        self, said: Described, value: list[JSONValue], asked: JSONValue, path: Path
    ) -> tuple[Field, ...]:
        before = asked if isinstance(asked, list) and len(asked) == len(value) else value
        self.room -= len(value)
        return tuple(
            self.field(
                self.schema.item(said, index),
                item,
                before[index],
                (*path, str(index)),
                place=Place(True, is_first=index == 0, is_last=index == len(value) - 1),
            )
            for index, item in enumerate(value)
        )

    def absent(self, node: JSONValue, path: Path, *, place: Place) -> Field:
        said, blank = self.schema.at(node), self.schema.blank(node) or "null"
        if not self.has_words(self.schema.weight(said) + len(blank)):
            said, blank = {}, "null"
        return Field(
            pointer=pointer(path),
            name=path[-1],
            label=_label(path),
            kind=Kind.ABSENT,
            title=words_of(said, "title"),
            description=words_of(said, "description"),
            place=place,
            blank=spelled(blank),
        )

    def field(
        self,
        node: JSONValue,
        value: JSONValue,
        asked: JSONValue,
        path: Path,
        place: Place = NO_PLACE,
    ) -> Field:
        ways = self.schema.ways(node)
        said = _taken(ways, value)
        named = said or self.schema.at(node)
        has_others = len(ways) > 1 or not said
        blanks = sum(len(self.schema.blank(way) or "") for way in ways) if has_others else 0
        if not self.has_words(self.schema.weight(named) + blanks):
            ways, said, named = [], {}, {}
        kind = kind_described(said) or kind_of(value)
        plain = Field(
            pointer=pointer(path),
            name=path[-1],
            label=_label(path, is_item=place.is_item),
            kind=kind,
            title=words_of(named, "title"),
            description=words_of(named, "description"),
            text=canonical(value) if kind in _ATOMS else "",
            ways=self.alternatives(ways, said),
            bounds=bounds(said, kind),
            place=place,
        )
        match value:
            case str() if kind is Kind.TEXT:
                return text_box(plain, value)
            case int() | float() if kind is Kind.NUMBER:
                return number_box(plain, said, value)
            case dict() if kind is Kind.OBJECT and self.has_room(value, path):
                return replace(plain, parts=self.members(said, value, asked, path))
            case list() if kind is Kind.LIST and self.has_room(value, path):
                return self.list_field(plain, said, value, asked, path)
        if kind is Kind.CHOICE:
            return replace(plain, options=options(said, value))
        return plain if kind in _ATOMS else json_box(plain, value)

    def list_field(
        self,
        plain: Field,
        said: Described,
        value: list[JSONValue],
        asked: JSONValue,
        path: Path,
    ) -> Field:
        blank = self.schema.blank(self.schema.item(said, len(value)))
        if blank is None and value:
            blank = _LIKE[kind_of(value[-1])]
        if blank is None or not self.has_words(len(blank)):
            return json_box(plain, value)
        parts = self.items(said, value, asked, path)
        return replace(plain, parts=parts, blank=spelled(blank))

    def has_room(self, value: dict[str, JSONValue] | list[JSONValue], path: Path) -> bool:
        return len(value) <= self.room and len(path) < DEEP

    def has_words(self, chars: int) -> bool:
        if chars > self.words:
            return False
        self.words -= chars
        return True

    def alternatives(self, ways: list[Described], taken: Described) -> tuple[Way, ...]:
        found: dict[Kind, Way] = {}
        for way in ways:
            kind, blank = kind_described(way), self.schema.blank(way)
            if kind is None or blank is None:
                return ()
            if kind not in found or way is taken:
                found[kind] = Way(kind, spelled(blank), way is taken)
        has_others = len(found) > 1 or not taken
        return tuple(found.values()) if has_others else ()


_ATOMS = frozenset({Kind.BOOLEAN, Kind.NULL})
_LIKE = {
    Kind.TEXT: '""',
    Kind.NUMBER: "0",
    Kind.BOOLEAN: "false",
    Kind.OBJECT: "{}",
    Kind.LIST: "[]",
    Kind.JSON: "null",
}


def _taken(ways: list[Described], value: JSONValue) -> Described:
    """The alternative that a value follows; {} where none, or where only the engine can tell."""
    fitting = [way for way in ways if fits(way, value)]
    if len(fitting) > 1 and isinstance(value, dict | list):
        return {}
    return fitting[0] if fitting else {}


def _label(path: Path, *, is_item: bool = False) -> str:
    """What a button beside the field names it: an item together with its list."""
    names = path[-2:] if is_item else path[-1:]
    return " ".join("".join(segment.text for segment in visible(name)) for name in names)


def _ordered(names: Iterable[str]) -> list[str]:
    return sorted(names, key=lambda name: name.encode("utf-16-be"))
