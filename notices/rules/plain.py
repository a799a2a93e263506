"""Names in a message: what hides or reorders is spelled out, and no line grows without end."""

import unicodedata
from typing import Final

HIDING: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def plain(text: str, limit: int = 80) -> str:
    """Give one line of at most `limit` characters; a cut one ends with an ellipsis."""
    spelled = "".join(_shown(char) for char in text)
    return spelled if len(spelled) <= limit else spelled[: limit - 1] + "…"


def _shown(char: str) -> str:
    if char.isascii() and char.isprintable():
        return char
    category = unicodedata.category(char)
    is_blank = category == "Zs" or category in HIDING or category.startswith("M")
    return f"⟨U+{ord(char):04X}⟩" if is_blank else char
