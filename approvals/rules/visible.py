"""Text of strangers as it can be read safely: what hides, reorders or imitates is spelled out.

Guards what a person decides on: two texts that differ never look the same, and the order in
which characters are read is the order in which they are sent. What is assigned is what the
Unicode database of the running Python knows; a newer character stands as its code point.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import groupby

from approvals.rules.lookalikes import REMEMBERED, imitating, mixed
from approvals.rules.marks import odd_marks

LONG_BLANKS = 3
"""So many blanks or line ends in a row, and more, are shown as a count."""


class Trait(StrEnum):
    """Why a character is spelled out, or what else a text has that a reader has to know."""

    DIRECTION = "direction"
    RIGHT_TO_LEFT = "right_to_left"
    INVISIBLE = "invisible"
    CONTROL = "control"
    LAYOUT = "layout"
    SPACE = "space"
    BREAK = "break"
    BLANKS = "blanks"
    EDGE = "edge"
    UNKNOWN = "unknown"
    COMBINING = "combining"
    LOOKALIKE = "lookalike"
    MIXED = "mixed"
    IMITATION = "imitation"
    TWIN = "twin"


UNTOLD = frozenset({Trait.BREAK})
"""What is marked where it stands, and needs no further word."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of text to show; with a code it stands for `count` times that character."""

    text: str
    trait: Trait | None = None
    code: int | None = None
    count: int = 1

    @property
    def exact(self) -> str:
        """The characters that this piece stands for."""
        return self.text if self.code is None else chr(self.code) * self.count

    @property
    def title(self) -> str:
        """The character's code point and, where it has one, its name in the standard."""
        if self.code is None:
            return self.text
        return f"U+{self.code:04X} {_name(chr(self.code))}".rstrip()

    @property
    def is_break(self) -> bool:
        """Whether the text goes on in a new line."""
        return self.code == ord("\n")


def visible(text: str) -> tuple[Segment, ...]:
    """The text in pieces to be shown one after the other; nothing of it is left out."""
    if is_plain(text):
        return (Segment(text),) if text else ()
    return tuple(_joined(_counted(list(_pieces(text)))))


def visible_json(text: str) -> tuple[Segment, ...]:
    """A canonical JSON text in pieces that are, read together, JSON of the same value."""
    if text.isascii() and text.isprintable():
        return (Segment(text),) if text else ()
    pieces = []
    for trait, char in _marked(text):
        shown = char if trait is None else _json_escape(char)
        pieces.append(Segment(shown, trait, ord(char) if trait else None))
    return tuple(_joined(pieces))


def is_plain(text: str) -> bool:
    """Whether nothing of it needs to be spelled out, by the quickest look."""
    return (
        text.isascii()
        and text.isprintable()
        and text.strip(" ") == text
        and " " * LONG_BLANKS not in text
        and not _IMITATION.search(text)
    )


def traits(text: str, shown: Sequence[Segment]) -> dict[Trait, tuple[int, ...]]:
    """What a reader has to know of a text that is shown so, by `visible`.

    For each trait its characters, each once, in their order.
    """
    found: dict[Trait, dict[int, None]] = {}
    for segment in shown:
        if segment.trait is not None and segment.trait not in UNTOLD:
            codes = found.setdefault(segment.trait, {})
            if segment.code is not None:
                codes[segment.code] = None
    if not text.isascii() and any(map(_is_right_to_left, set(text))):
        found.setdefault(Trait.RIGHT_TO_LEFT, {})
    return {trait: tuple(codes) for trait, codes in found.items()}


_IMITATION = re.compile(
    r"U\+[0-9A-Fa-f]{4,6}|\\u[0-9A-Fa-f]{4}|\\u\{[0-9A-Fa-f]+\}|\\U[0-9A-Fa-f]{8}"
    r"|[␣↵⇥⟨⟩\u2400-\u2426]+"
)
"""Plain letters that could be taken for a mark of ours, or for an escape of a language."""


def _pieces(text: str) -> Iterator[Segment]:
    written_out = {found.start(): found.end() for found in _IMITATION.finditer(text)}
    begun = until = 0
    for place, (trait, char) in enumerate(_marked(text)):
        if place < until or (trait is None and place not in written_out):
            continue
        if begun < place:
            yield from _plain(text[begun:place])
        if place in written_out:
            until = begun = written_out[place]
            yield Segment(text[place:until], Trait.IMITATION)
        elif trait is not None:
            begun = place + 1
            yield Segment(_label(trait, char), trait, ord(char))
    if begun < len(text):
        yield from _plain(text[begun:])


_BLANKS = re.compile(f"^ +| +$| {{{LONG_BLANKS},}}")


def _plain(text: str) -> Iterator[Segment]:
    """Ordinary characters, and by themselves the blanks that may have to be counted."""
    begun = 0
    for blanks in _BLANKS.finditer(text):
        if begun < blanks.start():
            yield Segment(text[begun : blanks.start()])
        yield Segment(blanks.group())
        begun = blanks.end()
    if begun < len(text):
        yield Segment(text[begun:])


def _label(trait: Trait, char: str) -> str:
    match trait:
        case Trait.BREAK:
            return "↵"
        case Trait.LOOKALIKE | Trait.MIXED:
            return f"{char}⟨U+{ord(char):04X}⟩"
        case _:
            return {"\t": "⇥", "\r": "CR"}.get(char, f"U+{ord(char):04X}")


def _counted(pieces: list[Segment]) -> Iterator[Segment]:
    """Blanks in a long row or at an end, and the same mark over and over, get a count."""
    at = 0
    for (text, trait), group in groupby(pieces, key=lambda piece: (piece.text, piece.trait)):
        same = list(group)
        count = len(same)
        is_edge = at == 0 or at + count == len(pieces)
        at += count
        if trait is None and text.isspace() and (len(text) >= LONG_BLANKS or is_edge):
            shown = "␣" if len(text) == 1 else f"␣×{len(text)}"
            kind = Trait.BLANKS if len(text) >= LONG_BLANKS else Trait.EDGE
            yield Segment(shown, kind, ord(" "), len(text))
        elif trait in (None, Trait.IMITATION) or count < LONG_BLANKS:
            yield from same
        else:
            kind = Trait.BLANKS if trait is Trait.BREAK else trait
            yield Segment(f"{text}×{count}", kind, same[0].code, count)


def _joined(pieces: Iterator[Segment] | list[Segment]) -> Iterator[Segment]:
    for trait, group in groupby(pieces, key=lambda piece: piece.trait):
        if trait is None:
            yield Segment("".join(piece.text for piece in group))
        else:
            yield from group


def _marked(text: str) -> Iterator[tuple[Trait | None, str]]:
    if text.isascii():
        yield from ((None if char.isprintable() else _trait(char), char) for char in text)
        return
    looking_alike, of_others, marks = imitating(text), mixed(text), odd_marks(text)
    for place, char in enumerate(text):
        if char.isascii() and char.isprintable():
            yield None, char
        elif (trait := _trait(char)) is not None:
            yield trait, char
        elif place in marks:
            yield Trait.COMBINING, char
        elif place in looking_alike:
            yield Trait.LOOKALIKE, char
        else:
            yield Trait.MIXED if place in of_others else None, char


_DIRECTION = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_BLANK_LETTERS = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u2800\u303f\u3164\uffa0\U00016fe4\U0001d159"
)
_BLANK_LETTERS_RANGES = ((0x180B, 0x180F), (0xFE00, 0xFE0F), (0xE0000, 0xE0FFF))
_DRAWN_FORMATS = frozenset(
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
)
_NO_CHARACTER = frozenset("\ufffc\ufffd")
"""What stands where an object, or a character that could not be read, was left out."""

_BY_CATEGORY = {
    "Cf": Trait.INVISIBLE,
    "Cc": Trait.CONTROL,
    "Zs": Trait.SPACE,
    "Zl": Trait.SPACE,
    "Zp": Trait.SPACE,
    "Co": Trait.UNKNOWN,
    "Cn": Trait.UNKNOWN,
    "Cs": Trait.UNKNOWN,
}


@lru_cache(REMEMBERED)
def _trait(char: str) -> Trait | None:
    """Why a character is spelled out wherever it stands."""
    if char == "\n":
        return Trait.BREAK
    if char in _DIRECTION:
        return Trait.DIRECTION
    if char in _BLANK_LETTERS or _is_in(ord(char), _BLANK_LETTERS_RANGES):
        return Trait.INVISIBLE
    if char in _DRAWN_FORMATS:
        return Trait.LAYOUT
    if char in _NO_CHARACTER:
        return Trait.UNKNOWN
    return _BY_CATEGORY.get(unicodedata.category(char))


@lru_cache(REMEMBERED)
def _is_right_to_left(char: str) -> bool:
    is_sign = unicodedata.bidirectional(char) in ("R", "AL", "AN")
    return is_sign and _trait(char) is not Trait.DIRECTION


def _is_in(code: int, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(first <= code <= last for first, last in ranges)


_CONTROLS = (
    *("NULL", "START OF HEADING", "START OF TEXT", "END OF TEXT", "END OF TRANSMISSION"),
    *("ENQUIRY", "ACKNOWLEDGE", "ALERT", "BACKSPACE", "CHARACTER TABULATION", "LINE FEED"),
    *("LINE TABULATION", "FORM FEED", "CARRIAGE RETURN", "SHIFT OUT", "SHIFT IN"),
    *("DATA LINK ESCAPE", "DEVICE CONTROL ONE", "DEVICE CONTROL TWO", "DEVICE CONTROL THREE"),
    *("DEVICE CONTROL FOUR", "NEGATIVE ACKNOWLEDGE", "SYNCHRONOUS IDLE"),
    *("END OF TRANSMISSION BLOCK", "CANCEL", "END OF MEDIUM", "SUBSTITUTE", "ESCAPE"),
    *("INFORMATION SEPARATOR FOUR", "INFORMATION SEPARATOR THREE"),
    *("INFORMATION SEPARATOR TWO", "INFORMATION SEPARATOR ONE"),
)
_OTHER_CONTROLS = {"\x7f": "DELETE", "\x85": "NEXT LINE", "\x9b": "CONTROL SEQUENCE INTRODUCER"}


def _name(char: str) -> str:
    if ord(char) < len(_CONTROLS):
        return _CONTROLS[ord(char)]
    return unicodedata.name(char, _OTHER_CONTROLS.get(char, ""))


def _json_escape(char: str) -> str:
    """The character as JSON spells it out: one escape, or the two of a surrogate pair."""
    units = char.encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
