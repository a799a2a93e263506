"""Arguments as a person reads them: every value whole, with its type, and no value in hiding.

Secrets are masked here, at every depth, before anything is shown. What is shown grows with the
value and no faster: a place repeats the names above it only within a bound.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from approvals.rules.differing import MemberChange, differences
from approvals.rules.lookalikes import skeleton
from approvals.rules.visible import Segment, Trait, is_plain, traits, visible, visible_json
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


class Kind(StrEnum):
    """What a line of the tree holds."""

    TEXT = "text"
    NUMBER = "number"
    BOOLEAN = "boolean"
    NULL = "null"
    LIST = "list"
    OBJECT = "object"
    MASKED = "masked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the tree: a name and a value, or a name under which more lines follow.

    `size` counts characters, items or members: of lists and objects always, of texts where they
    are empty or long. `level` is told only below `DEEP`. `closes` has as many items as levels end
    after this line.
    """

    name: tuple[Segment, ...]
    kind: Kind
    size: int | None = None
    level: int | None = None
    value: tuple[Segment, ...] = ()
    opens: bool = False
    closes: range = range(0)

    @property
    def is_text(self) -> bool:
        """Whether the value stands for a text, to be shown in quotes."""
        return self.kind is Kind.TEXT

    @property
    def is_masked(self) -> bool:
        """Whether the value is withheld."""
        return self.kind is Kind.MASKED

    @property
    def is_boxed(self) -> bool:
        """Whether a box has to show where the text ends: quotes or lines in it imitate an end."""
        return self.is_text and any(part.is_break or '"' in part.text for part in self.value)


@dataclass(frozen=True, slots=True)
class Found:
    """One thing to know of a text, and the code points that it is about."""

    trait: Trait
    codes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Notice:
    """What a reader has to know of one place, by its pointer; without one, of a text by itself."""

    where: tuple[Segment, ...]
    found: tuple[Found, ...]


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
    """One place where two contents differ; no segments where a side has nothing there.

    Where `came_from` names a place, the value stood there before, and both sides are that value.
    """

    where: tuple[Segment, ...]
    before: tuple[Segment, ...] | None
    after: tuple[Segment, ...] | None
    is_masked: bool = False
    came_from: tuple[Segment, ...] | None = None


def tree(value: JSONValue, *, at: Path = (), sensitive: Sequence[str] = ()) -> Tree:
    """A JSON object or list as lines; places that `sensitive` names are masked, whole.

    Pointers in `sensitive` begin at the value. Places are named from above: `at` is where the
    value itself stands.
    """
    walk = _Walk(_Hidden.of(sensitive), at)
    walk.inside(value, ())
    return Tree(tuple(walk.rows), tuple(walk.notices), tuple(walk.masked))


def notice(text: str) -> Notice | None:
    """What is remarkable in one text that stands by itself, or None."""
    found = traits(text, visible(text))
    return Notice((), _told(found)) if found else None


def changes(
    before: JSONValue, after: JSONValue, *, at: Path = (), sensitive: Sequence[str] = ()
) -> tuple[Change, ...]:
    """Every place where two values differ; of masked places only that they do.

    Pointers in `sensitive` begin at the values, and places are named from above, as in `tree`.
    """
    hidden, places = _Hidden.of(sensitive), _Places()
    return tuple(_change(found, hidden, places, at) for found in differences(before, after))


def _change(found: MemberChange, hidden: "_Hidden", places: "_Places", at: Path) -> Change:
    where = visible(places.name((*at, *found.path)) or "/")
    if hidden.touches(found.path) or (found.came_from and hidden.touches(found.came_from)):
        return Change(where, None, None, is_masked=True)
    came_from = visible(places.name((*at, *found.came_from))) if found.came_from else None
    return Change(where, _side(found.before), _side(found.after), came_from=came_from)


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


def _ordered(value: Iterable[str]) -> list[str]:
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
    at: Path
    places: _Places = field(default_factory=_Places)
    rows: list[Row] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    masked: list[str] = field(default_factory=list)

    def inside(self, value: JSONValue, path: Path) -> None:
        if path in self.hidden.places:
            self.mask(path)
            return
        if isinstance(value, dict):
            self.look_among(value, path)
        for part, item in _members(value):
            self.line(item, (*path, part), is_member=isinstance(value, dict))

    def line(self, value: JSONValue, path: Path, *, is_member: bool) -> None:
        name = visible(path[-1])
        if is_member:
            self.look(path, path[-1], name)
        row = Row(
            name=name,
            kind=_kind(value),
            size=_size(value),
            level=len(path) if len(path) > DEEP else None,
        )
        if path in self.hidden.places:
            self.mask(path)
            self.rows.append(replace(row, kind=Kind.MASKED, size=None))
        elif self.is_branch(value, path):
            name = visible(self.name(path)) if row.level else row.name
            self.rows.append(replace(row, name=name, opens=True))
            self.inside(value, path)
            last = self.rows[-1]
            self.rows[-1] = replace(last, closes=range(len(last.closes) + 1))
        else:
            self.leaf(value, path, row)

    def is_branch(self, value: JSONValue, path: Path) -> bool:
        if not isinstance(value, dict | list) or not value:
            return False
        if isinstance(value, dict) or self.hidden.is_at_or_below(path):
            return True
        return not all(_fits_inline(item) for item in value)

    def leaf(self, value: JSONValue, path: Path, row: Row) -> None:
        shown = visible(value) if isinstance(value, str) else visible_json(canonical(value))
        if isinstance(value, str):
            self.look(path, value, shown)
        self.rows.append(replace(row, value=shown))

    def look(self, path: Path, text: str, shown: tuple[Segment, ...]) -> None:
        if not is_plain(text) and (found := traits(text, shown)):
            self.notices.append(Notice(visible(self.name(path)), _told(found)))

    def look_among(self, members: dict[str, JSONValue], path: Path) -> None:
        """Names of one object that may be taken for each other."""
        shapes: dict[str, list[str]] = {}
        for name in members:
            shapes.setdefault(skeleton(name), []).append(name)
        for same in shapes.values():
            for name in _ordered(same) if len(same) > 1 else ():
                where = visible(self.name((*path, name)))
                self.notices.append(Notice(where, (Found(Trait.TWIN),)))

    def mask(self, path: Path) -> None:
        self.masked.append(pointer((*self.at, *path)))

    def name(self, path: Path) -> str:
        return self.places.name((*self.at, *path))


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


def _kind(value: JSONValue) -> Kind:
    return Kind.NULL if value is None else _KINDS[type(value)]


_KINDS: dict[type, Kind] = {
    str: Kind.TEXT,
    bool: Kind.BOOLEAN,
    int: Kind.NUMBER,
    float: Kind.NUMBER,
    list: Kind.LIST,
    dict: Kind.OBJECT,
}


def _size(value: JSONValue) -> int | None:
    match value:
        case str() if 0 < len(value) <= LONG_TEXT:
            return None
        case str() | list() | dict():
            return len(value)
        case _:
            return None


def _told(found: dict[Trait, tuple[int, ...]]) -> tuple[Found, ...]:
    return tuple(Found(trait, codes) for trait, codes in found.items())


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
