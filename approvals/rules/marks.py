"""Combining marks that make one text look like another, or like more than it is."""

import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from approvals.rules.lookalikes import REMEMBERED

FLOOD = 4
"""So many marks on one letter, and more, are spelled out: no script needs them."""


def odd_marks(text: str) -> frozenset[int]:
    """Places of marks where no script needs them.

    Those are marks alone, on ASCII, through or around a letter, in a flood, and where the same
    letters could be written with fewer or in another order (NFD beside NFC).
    """
    places: set[int] = set()
    for start, end in _clusters(text):
        marks = range(start + _has_base(text[start]), end)
        is_odd = len(marks) >= FLOOD or text[start].isascii() or marks.start == start
        whole = text[start:end]
        if is_odd or not unicodedata.is_normalized("NFC", whole):
            places.update(marks)
        else:
            places.update(place for place in marks if _is_overlay(text[place]))
    return frozenset(places)


def _clusters(text: str) -> Iterator[tuple[int, int]]:
    """Each character that others follow as marks, with its marks: from where to where."""
    start = 0
    for place in range(1, len(text) + 1):
        if place < len(text) and _is_mark(text[place], text[place - 1]):
            continue
        if place - start > 1 or not _has_base(text[start]):
            yield start, place
        start = place


def _has_base(char: str) -> int:
    return 0 if _is_sign(char) else 1


@lru_cache(REMEMBERED)
def _is_sign(char: str) -> bool:
    return unicodedata.category(char)[0] == "M"


def _is_mark(char: str, before: str) -> bool:
    return _is_sign(char) or _is_jamo_after(char, before)


def _is_jamo_after(char: str, before: str) -> bool:
    """Whether a part of a Korean syllable joins the one before it into one letter."""
    if not "\u1161" <= char <= "\u11c2":
        return False
    return len(unicodedata.normalize("NFC", before + char)) == 1 or "\u1161" <= before <= "\u1175"


def _is_overlay(mark: str) -> bool:
    return unicodedata.combining(mark) == 1 or unicodedata.category(mark) == "Me"
