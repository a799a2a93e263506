"""Characters that pass for others: letters of other scripts, signs that imitate ASCII, digits.

The Unicode database of Python has no list of confusable characters; what is told here is told
by its rules (compatibility forms, scripts by name, one-to-one equivalents) and short lists.
"""

import re
import unicodedata
from functools import lru_cache

REMEMBERED = 8192
"""So many characters are looked up once; long texts have few different ones."""

_WORD = re.compile(r"[^\W\d_]+")
_IMITATING_SCRIPTS = frozenset({"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU"})
_ONE_WRITING = frozenset({"CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO", "KATAKANA-HIRAGANA"})
"""Scripts that stand in one word with each other and with Latin in ordinary prose."""
_LIKE_LATIN = frozenset("аеорсухіјѕԁԛԝһӏѵАВЕЅІЈКМНОРСТУХԌԜҮνοραικυτΑΒΕΖΗΙΚΜΝΟΡΤΥΧϲϳօոսհցքՕՍԼՏ")
_LIKE_ASCII = frozenset(
    "ɑɡɩɪıȷʋƅꞌǃǀƖƧƨƷȜƽᴄᴏᴠᴡᴢᴜꜱʟʏꓲꓳ"  # letters and digits
    "⁄∕⧸╱⟋⟍∖⧵⧹"  # slashes
    "‐‑‒−˗⁃꞊⹀᐀ˍ᛭∼⁓∗⁎٭"  # dashes, signs
    "꞉∶ː˸⁚ꓽ․‚ꓸꓹ⁏"  # points
    "∣⏐❘′ʹ‵ʼʻʽˈ՚ˋ˄ʔ″ʺ"  # bars and quotes
    "❨❩⟮⟯❴❵❲❳˂˃ᐸᐳ"  # brackets
)
_LIKE_AMONG_ASCII = frozenset("ノ〳〇丨丶丿ㅣㅡㅇ一ー〡口")
"""Letters of East Asia that pass for a sign where they touch ASCII."""
_DRAWN_TWICE = (
    ("µ", "µ"),
    ("⺀", "⿕"),
    ("\ufb20", "\ufb29"),
    ("\ufb50", "\ufdff"),
    ("\ufe70", "\ufefc"),
)
"""Ranges of characters that are drawn just as the one that they stand for."""
_DASH = re.compile(r"(?:(?<=\s)|^)[–—]+(?=\w)")
_SAME_SHAPE = str.maketrans("01|IO", "olllo")


def imitating(text: str) -> frozenset[int]:
    """Places of characters that pass for ASCII ones, or for the plain form of themselves."""
    places = {place for place, char in enumerate(text) if _is_alike(char)}
    places.update(_touching_ascii(text))
    places.update(_foreign_digits(text))
    for dash in _DASH.finditer(text):
        places.update(range(dash.start(), dash.end()))
    is_posing = _is_posing(text)
    for word in _WORD.finditer(text):
        foreign = [
            place
            for place in range(word.start(), word.end())
            if not text[place].isascii() and script(text[place]) in _IMITATING_SCRIPTS
        ]
        is_mixed = any(script(char) == "LATIN" for char in word.group())
        if is_mixed or (is_posing and len(foreign) == len(word.group())):
            places.update(foreign)
    return frozenset(places)


def mixed(text: str) -> frozenset[int]:
    """Places of letters of another script than the word around them began in."""
    places: set[int] = set()
    for word in _WORD.finditer(text):
        scripts = {script(char) for char in word.group()} - _ONE_WRITING - {""}
        if len(scripts) < 2:
            continue
        first = "LATIN" if "LATIN" in scripts else script(word.group()[0])
        places.update(
            word.start() + at
            for at, char in enumerate(word.group())
            if script(char) in scripts - {first}
        )
    return frozenset(places)


def skeleton(name: str) -> str:
    """The shape of a name: two names of one shape may be taken for each other."""
    plain = name
    if not name.isascii():
        folded = unicodedata.normalize("NFKD", name)
        plain = "".join(_LATIN_TWIN.get(char, char) for char in folded if _is_drawn(char))
    shape = plain.strip().translate(_SAME_SHAPE)
    return shape.replace("rn", "m").replace("vv", "w")


@lru_cache(REMEMBERED)
def script(char: str) -> str:
    """The script of a letter, by the first word of its name."""
    if char.isascii():
        return "LATIN" if char.isalpha() else ""
    return unicodedata.name(char, "").partition(" ")[0]


_LATIN_TWIN = dict(
    zip(
        "аеорсухіјѕԁԛԝһӏАВЕКМНОРСТУХІЈЅνοΑΒΕΖΗΙΚΜΝΟΡΤΥΧοսɡɑıȷ",
        "aeopcyxijsdqwhlABEKMHOPCTYXIJSvoABEZHIKMNOPTYXougaij",
        strict=True,
    )
)


def _is_drawn(char: str) -> bool:
    return unicodedata.category(char) not in ("Cf", "Mn", "Cc")


def _is_posing(text: str) -> bool:
    """Whether all letters of other scripts have a Latin twin: no prose does that."""
    letters = (char for char in set(text) if script(char) in _IMITATING_SCRIPTS)
    return all(char in _LIKE_LATIN for char in letters)


@lru_cache(REMEMBERED)
def _is_alike(char: str) -> bool:
    return _is_like_ascii(char) or _is_second_form(char)


def _is_like_ascii(char: str) -> bool:
    if char.isascii() or unicodedata.category(char) in ("Zs", "Cf"):
        return False
    plain = unicodedata.normalize("NFKC", char)
    is_letter = unicodedata.category(char)[0] == "L" or unicodedata.category(char) == "Nl"
    return char in _LIKE_ASCII or (plain.isascii() and (len(plain) == 1 or is_letter))


def _is_second_form(char: str) -> bool:
    """Whether another character is, or is drawn as, the same: Å of the unit and the letter."""
    if char.isascii():
        return False
    has_twin = any(first <= char <= last for first, last in _DRAWN_TWICE)
    return not unicodedata.is_normalized("NFKC" if has_twin else "NFC", char)


def _touching_ascii(text: str) -> set[int]:
    def is_sign(place: int) -> bool:
        return 0 <= place < len(text) and text[place].isascii() and not text[place].isspace()

    return {
        place
        for place, char in enumerate(text)
        if char in _LIKE_AMONG_ASCII and (is_sign(place - 1) or is_sign(place + 1))
    }


def _foreign_digits(text: str) -> set[int]:
    """Digits of other scripts: where no letter of that script is near, or ASCII digits are."""
    digits = {
        place: char for place, char in enumerate(text) if not char.isascii() and char.isdecimal()
    }
    if not digits:
        return set()
    has_ascii = any(char.isascii() and char.isdigit() for char in text)
    scripts = {script(char) for char in set(text) if char.isalpha()}
    return {
        place
        for place, char in digits.items()
        if has_ascii or script(char).removesuffix("-INDIC") not in scripts
    }
