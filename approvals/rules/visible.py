"""Text of strangers as it can be read safely: what hides, reorders or imitates is spelled out.

Guards what a person decides on: two texts that differ never look the same, and the order in
which characters are read is the order in which they are sent.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby

LONG_BLANKS = 3
"""So many blanks in a row, and more, are shown as a count."""


class Trait(StrEnum):
    """Why a character is spelled out."""

    DIRECTION = "direction"
    INVISIBLE = "invisible"
    CONTROL = "control"
    SPACE = "space"
    BREAK = "break"
    BLANKS = "blanks"
    UNKNOWN = "unknown"
    COMBINING = "combining"
    LOOKALIKE = "lookalike"


WARNED = {
    Trait.DIRECTION: "change the direction in which text is read",
    Trait.INVISIBLE: "cannot be seen",
    Trait.CONTROL: "control a terminal, a printer or the end of lines",
    Trait.SPACE: "look like an ordinary blank or line end and are none",
    Trait.BLANKS: "blanks in a long row, shown as a count",
    Trait.UNKNOWN: "have no meaning that everybody shares",
    Trait.COMBINING: "are drawn onto the character before them",
    Trait.LOOKALIKE: "look like other characters",
}


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of text to show; with a trait it stands for `count` times the character `code`."""

    text: str
    trait: Trait | None = None
    code: int = 0
    count: int = 1

    @property
    def title(self) -> str:
        """The character's name, for whoever asks."""
        name = unicodedata.name(chr(self.code), "character without a name")
        return f"U+{self.code:04X} {name}"

    @property
    def is_break(self) -> bool:
        """Whether the text goes on in a new line."""
        return self.trait is Trait.BREAK


def visible(text: str) -> tuple[Segment, ...]:
    """The text in pieces to be shown one after the other; nothing of it is left out."""
    if is_plain(text):
        return (Segment(text),) if text else ()
    return tuple(_segments(text))


def visible_json(text: str) -> tuple[Segment, ...]:
    """A canonical JSON text in pieces that are, read together, JSON of the same value."""
    if text.isascii() and text.isprintable():
        return (Segment(text),) if text else ()
    pieces = []
    for trait, code, char in _marked(text):
        shown = char if trait is None else _json_escape(char)
        pieces.append(Segment(shown, trait, code if trait else 0))
    return tuple(_joined(pieces))


def is_plain(text: str) -> bool:
    """Whether nothing of it needs to be spelled out, by the quickest look."""
    return text.isascii() and text.isprintable() and " " * LONG_BLANKS not in text


def traits(text: str) -> dict[Trait, list[int]]:
    """What is spelled out in a text: for each trait the characters, each once, in their order."""
    found: dict[Trait, list[int]] = {}
    for segment in visible(text):
        if segment.trait in WARNED:
            codes = found.setdefault(segment.trait, [])
            if segment.code not in codes:
                codes.append(segment.code)
    if any(unicodedata.bidirectional(char) in ("R", "AL") for char in text):
        found.setdefault(Trait.DIRECTION, [])
    return found


def _segments(text: str) -> Iterator[Segment]:
    pieces = []
    for trait, code, char in _marked(text):
        pieces.append(Segment(_label(trait, char), trait, code if trait else 0))
    yield from _joined(_counted(pieces))


def _label(trait: Trait | None, char: str) -> str:
    match trait:
        case None:
            return char
        case Trait.BREAK:
            return "↵"
        case Trait.LOOKALIKE:
            return f"{char}⟨U+{ord(char):04X}⟩"
        case _:
            return {"\t": "⇥", "\r": "CR"}.get(char, f"U+{ord(char):04X}")


def _counted(pieces: list[Segment]) -> Iterator[Segment]:
    """Blanks in a long row, and the same mark again and again, become one piece with a count."""
    for (text, trait), group in groupby(pieces, key=lambda piece: (piece.text, piece.trait)):
        same = list(group)
        count = len(same)
        if text == " " and trait is None and count >= LONG_BLANKS:
            yield Segment(f"␣×{count}", Trait.BLANKS, ord(" "), count)
        elif trait in (None, Trait.BREAK) or count < LONG_BLANKS:
            yield from same
        else:
            yield Segment(f"{text}×{count}", trait, same[0].code, count)


def _joined(pieces: Iterator[Segment] | list[Segment]) -> Iterator[Segment]:
    for trait, group in groupby(pieces, key=lambda piece: piece.trait):
        if trait is None:
            yield Segment("".join(piece.text for piece in group))
        else:
            yield from group


def _marked(text: str) -> Iterator[tuple[Trait | None, int, str]]:
    imitating = _imitating(text)
    before = ""
    for place, char in enumerate(text):
        if char.isascii() and char.isprintable():
            trait = None
        elif place in imitating:
            trait = Trait.LOOKALIKE
        else:
            trait = _trait(char, before)
        yield trait, ord(char), char
        before = char


_DIRECTION = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_BLANK_LETTERS = frozenset("\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\u034f")
_BLANK_LETTERS_RANGES = ((0x180B, 0x180F), (0xFE00, 0xFE0F), (0xE0000, 0xE0FFF))


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


def _trait(char: str, before: str) -> Trait | None:
    category = unicodedata.category(char)
    if char == "\n":
        return Trait.BREAK
    if char in _DIRECTION:
        return Trait.DIRECTION
    if char in _BLANK_LETTERS or _is_in(ord(char), _BLANK_LETTERS_RANGES):
        return Trait.INVISIBLE
    if category in ("Mn", "Me", "Mc") and _is_decomposed(before, char):
        return Trait.COMBINING
    return _BY_CATEGORY.get(category)


def _is_in(code: int, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(first <= code <= last for first, last in ranges)


def _is_decomposed(before: str, mark: str) -> bool:
    """Whether a mark stands where no script needs it: alone, on ASCII, or instead of one letter."""
    if not before or before.isascii() or unicodedata.category(mark) == "Me":
        return True
    return len(unicodedata.normalize("NFC", before + mark)) == 1


_WORD = re.compile(r"[^\W\d_]+")
_IMITATING_SCRIPTS = frozenset({"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU"})
_LIKE_LATIN = frozenset("аеорсухіјѕԁԛԝһӏАВЕКМНОРСТУХІЈЅоνΑΒΕΖΗΙΚΜΝΟΡΤΥΧοορսօոհ")
_LIKE_ASCII = frozenset("⁄∕⧸‐‑‒−˗꞉∶ǀ∣ɑɡıȷ․‚")


def _imitating(text: str) -> frozenset[int]:
    """Places of letters that imitate ASCII: compatibility forms, and other scripts among Latin."""
    places = {place for place, char in enumerate(text) if _is_like_ascii(char)}
    is_posing = _is_posing(text)
    for word in _WORD.finditer(text):
        foreign = [
            place
            for place in range(word.start(), word.end())
            if not text[place].isascii() and _script(text[place]) in _IMITATING_SCRIPTS
        ]
        is_mixed = any(_script(char) == "LATIN" for char in word.group())
        if is_mixed or (is_posing and len(foreign) == len(word.group())):
            places.update(foreign)
    return frozenset(places)


def _is_posing(text: str) -> bool:
    """Whether all letters of other scripts have a Latin twin: no prose does that."""
    letters = [char for char in text if _script(char) in _IMITATING_SCRIPTS]
    return all(char in _LIKE_LATIN for char in letters)


def _is_like_ascii(char: str) -> bool:
    if char.isascii() or unicodedata.category(char) in ("Zs", "Cf"):
        return False
    plain = unicodedata.normalize("NFKC", char)
    return char in _LIKE_ASCII or (len(plain) == 1 and plain.isascii())


def _script(char: str) -> str:
    if char.isascii():
        return "LATIN" if char.isalpha() else ""
    return unicodedata.name(char, "").partition(" ")[0]


def _json_escape(char: str) -> str:
    """The character as JSON spells it out: one escape, or the two of a surrogate pair."""
    units = char.encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
