"""Arguments as a person reads them: every value whole, with its type, and no value in hiding.

Secrets are masked here, at every depth, before anything is shown. What is shown grows with the
value and no faster: a place repeats the names above it only within a bound.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from approvals.rules.editing import differences
from approvals.rules.visible import WARNED, Segment, is_plain, traits, visible, visible_json
from placet.protocol.canonical import canonical
from placet.protocol.pointers import parse_pointer, pointer
from placet.protocol.reading import JSONValue

MASK = "masked"
LONG_TEXT = 80
"""Texts of more characters than this say how many they have."""
DEEP = 6
"""Below so many levels a line says its level, and an opening one its pointer: indenting ends."""
POINTERS_CHARS = 20_000
"""Pointers of a tree or a list of changes have so many characters; later places give their name."""

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the tree: a name and a value, or a name under which more lines follow.

    `closes` has as many items as levels end after this line.
    """

    name: tuple[Segment, ...]
    kind: str
    value: tuple[Segment, ...] = ()
    is_text: bool = False
    is_masked: bool = False
    opens: bool = False
    closes: range = range(0)


@dataclass(frozen=True, slots=True)
class Notice:
    """What a reader has to know of one place, by its pointer."""

    where: tuple[Segment, ...]
    sentence: str


@dataclass(frozen=True, slots=True)
class Tree:
    """A value as lines, what is remarkable in it, and the places that are masked."""

    rows: tuple[Row, ...]
    notices: tuple[Notice, ...]
    masked: tuple[str, ...]

    @property
    def is_whole(self) -> bool:
        """Whether every value is there to be read."""
        return not self.masked


@dataclass(frozen=True, slots=True)
class Change:
    """One place where two contents differ; no segments where a side has nothing there."""

    where: tuple[Segment, ...]
    before: tuple[Segment, ...] | None
    after: tuple[Segment, ...] | None
    is_masked: bool = False


def tree(value: JSONValue, *, sensitive: Sequence[str] = ()) -> Tree:
    """A JSON object or list as lines; places that `sensitive` names are masked, whole."""
    walk = _Walk(_Hidden.of(sensitive))
    walk.inside(value, ())
    return Tree(tuple(walk.rows), tuple(walk.notices), tuple(walk.masked))


def notice(where: str, text: str) -> Notice | None:
    """What is remarkable in one text, or None."""
    found = traits(text)
    if not found:
        return None
    parts = [_sentence(WARNED[trait], codes) for trait, codes in found.items()]
    return Notice(visible(where), "; ".join(parts) + ".")


def changes(
    before: JSONValue, after: JSONValue, *, sensitive: Sequence[str] = ()
) -> tuple[Change, ...]:
    """Every place where two values differ; of masked places only that they do."""
    hidden, places = _Hidden.of(sensitive), _Places()
    return tuple(
        Change(visible(places.name(found.path) or "/"), None, None, is_masked=True)
        if hidden.touches(found.path)
        else Change(
            visible(places.name(found.path) or "/"), _side(found.before), _side(found.after)
        )
        for found in differences(before, after)
    )


def args_paths(sensitive: Sequence[str]) -> list[str]:
    """Pointers into the arguments as pointers into `{tool, args, target}`."""
    return [f"/args{path}" for path in sensitive]


def masked_value(value: JSONValue, sensitive: Sequence[str]) -> JSONValue:
    """The value with the word “masked” at the places named, for what leaves as JSON."""
    hidden = {parse_pointer(text) for text in sensitive}
    return _masked(value, (), hidden) if hidden else value


def pretty(value: JSONValue, indent: str = "") -> str:
    """JSON of the same value for an edit box: in lines, unseen characters as escapes."""
    deeper = indent + "  "
    if isinstance(value, dict) and value:
        members = (
            f"{deeper}{_spelled(name)}: {pretty(value[name], deeper)}" for name in _ordered(value)
        )
        return "{\n" + ",\n".join(members) + f"\n{indent}}}"
    if isinstance(value, list) and any(isinstance(item, dict | list) and item for item in value):
        items = (deeper + pretty(item, deeper) for item in value)
        return "[\n" + ",\n".join(items) + f"\n{indent}]"
    if isinstance(value, list):
        return "[" + ", ".join(_spelled(item) for item in value) + "]"
    return _spelled(value)


def _spelled(value: JSONValue) -> str:
    return "".join(segment.text for segment in visible_json(canonical(value)))


def _ordered(value: dict[str, JSONValue]) -> list[str]:
    return sorted(value, key=lambda name: name.encode("utf-16-be"))


@dataclass(frozen=True, slots=True)
class _Hidden:
    """The places to mask, also in order, so that a look at one place does not pass them all."""

    places: frozenset[Path]
    ordered: tuple[Path, ...]

    @classmethod
    def of(cls, sensitive: Sequence[str]) -> "_Hidden":
        places = frozenset(parse_pointer(text) for text in sensitive)
        return cls(places, tuple(sorted(places)))

    def is_at_or_below(self, path: Path) -> bool:
        """Whether a masked place is this one or inside it."""
        at = bisect_left(self.ordered, path)
        return at < len(self.ordered) and self.ordered[at][: len(path)] == path

    def touches(self, path: Path) -> bool:
        """Whether a masked place is this one, inside it or around it."""
        around = any(path[:cut] in self.places for cut in range(len(path)))
        return around or self.is_at_or_below(path)


@dataclass(slots=True)
class _Places:
    """Names of places: the whole pointer while there is room for it, then the last name."""

    room: int = POINTERS_CHARS

    def name(self, path: Path) -> str:
        whole = pointer(path)
        if len(whole) > self.room:
            return path[-1]
        self.room -= len(whole)
        return whole


@dataclass(slots=True)
class _Walk:
    """One pass over a value in canonical order."""

    hidden: _Hidden
    places: _Places = field(default_factory=_Places)
    rows: list[Row] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    masked: list[str] = field(default_factory=list)

    def inside(self, value: JSONValue, path: Path) -> None:
        if path in self.hidden.places:
            self.masked.append(pointer(path))
            return
        for part, item in _members(value):
            self.line(item, (*path, part), is_member=isinstance(value, dict))

    def line(self, value: JSONValue, path: Path, *, is_member: bool) -> None:
        if is_member:
            self.look(path, path[-1])
        name, level = visible(path[-1]), f", level {len(path)}" if len(path) > DEEP else ""
        if path in self.hidden.places:
            self.masked.append(pointer(path))
            self.rows.append(Row(name=name, kind=MASK + level, is_masked=True))
        elif self.is_branch(value, path):
            name = visible(self.places.name(path)) if level else name
            self.rows.append(Row(name=name, kind=_kind(value) + level, opens=True))
            self.inside(value, path)
            last = self.rows[-1]
            self.rows[-1] = replace(last, closes=range(len(last.closes) + 1))
        else:
            self.leaf(value, path, Row(name=name, kind=_kind(value) + level))

    def is_branch(self, value: JSONValue, path: Path) -> bool:
        if not isinstance(value, dict | list) or not value:
            return False
        if isinstance(value, dict) or self.hidden.is_at_or_below(path):
            return True
        return not all(_fits_inline(item) for item in value)

    def leaf(self, value: JSONValue, path: Path, row: Row) -> None:
        is_text = isinstance(value, str)
        if isinstance(value, str):
            self.look(path, value)
        shown = visible(value) if isinstance(value, str) else visible_json(canonical(value))
        self.rows.append(replace(row, value=shown, is_text=is_text))

    def look(self, path: Path, text: str) -> None:
        if not is_plain(text) and (found := notice(self.places.name(path), text)):
            self.notices.append(found)


def _members(value: JSONValue) -> Iterator[tuple[str, JSONValue]]:
    if isinstance(value, dict):
        for name in _ordered(value):
            yield name, value[name]
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield str(index), item


def _fits_inline(item: JSONValue) -> bool:
    if isinstance(item, str):
        return len(item) <= LONG_TEXT and is_plain(item)
    return not item or not isinstance(item, dict | list)


def _kind(value: JSONValue) -> str:
    kind = "null" if value is None else _KINDS[type(value)]
    match value:
        case str() | list() | dict() if not value:
            return f"{kind}, empty"
        case str() if len(value) > LONG_TEXT:
            return f"{kind}, {len(value):,} characters"
        case list():
            return f"{kind}, {_many(len(value), 'item')}"
        case dict():
            return f"{kind}, {_many(len(value), 'member')}"
        case _:
            return kind


_KINDS: dict[type, str] = {
    str: "text",
    bool: "true or false",
    int: "number",
    float: "number",
    list: "list",
    dict: "object",
}


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _side(text: str | None) -> tuple[Segment, ...] | None:
    return None if text is None else visible_json(text)


def _masked(value: JSONValue, path: Path, hidden: set[Path]) -> JSONValue:
    if path in hidden:
        return MASK
    if isinstance(value, dict):
        return {name: _masked(item, (*path, name), hidden) for name, item in value.items()}
    if isinstance(value, list):
        return [_masked(item, (*path, str(at)), hidden) for at, item in enumerate(value)]
    return value


def _sentence(what: str, codes: list[int]) -> str:
    if not codes:
        return "Has letters that are read from right to left; they stand in the order of sending"
    if codes == [ord(" ")]:
        return f"Has {what}"
    named = ", ".join(f"U+{code:04X}" for code in codes[:3])
    more = f" and {len(codes) - 3} others" if len(codes) > 3 else ""
    return f"Has characters that {what}: {named}{more}"
