"""The only door by which JSON comes in: I-JSON (RFC 7493), read strictly.

Guards the bound answer: a text that two readers could understand differently gets no value
here, hence no digest. Python's own parser would take the last of two equal names, round
numbers, and let NaN, lone surrogates and other encodings pass.
"""

import json
import re
from decimal import Decimal
from typing import Final, NoReturn, TypeAlias

from placet.protocol.limits import MAX_DEPTH, MAX_INTEGER
from placet.protocol.pointers import pointer
from placet.protocol.refusals import Fault

JSONValue: TypeAlias = (
    "dict[str, JSONValue] | list[JSONValue] | str | int | float | bool | None"  # recursive
)

MAX_FAULTS: Final = 10
"""Reading stops at this many faults."""

_WHOLE_CHARS = len(str(-MAX_INTEGER))  # longer ones are not converted: Python limits the digits
_SHOWN_CHARS = 80
_LONG_POINTER_CHARS = 1024  # one fault with so long a pointer is enough for one answer

# Quantifiers are possessive, so that no input makes the engine go back over it.
_SPACE = r"[ \t\n\r]*+"
_PLAIN = r'[^"\\\x00-\x1f]*+'
_ESCAPED = rf'"{_PLAIN}(?:\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{{4}}){_PLAIN})++"'
_WHOLE = r"-?(?:0|[1-9][0-9]*+)"
_VALUE = re.compile(
    rf"""{_SPACE}(?:
        "(?P<plain>{_PLAIN})"
      | (?P<escaped>{_ESCAPED})
      | (?P<whole>{_WHOLE})(?![.eE])
      | (?P<open>[\[{{])
      | (?P<word>true|false|null)
      | (?P<real>{_WHOLE}(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+)
      | (?P<nonfinite>-?(?:NaN|Infinity))
    ){_SPACE}""",
    re.VERBOSE,
)
_NAME = re.compile(rf'{_SPACE}(?:"(?P<plain>{_PLAIN})"|(?P<escaped>{_ESCAPED})){_SPACE}:')
_SPACES = re.compile(_SPACE)
_NONZERO = re.compile(r"-?[0.]*+[1-9]")
_WORDS: dict[str, JSONValue] = {"true": True, "false": False, "null": None}

_NONCHARACTERS = "\ufdd0-\ufdef" + "".join(
    chr(plane << 16 | last) for plane in range(17) for last in (0xFFFE, 0xFFFF)
)
_FORBIDDEN = re.compile(f"[\x00\ud800-\udfff{_NONCHARACTERS}]")

_TOO_BIG = "This number is beyond ±9007199254740991 (2^53 - 1): send it as a string."
_INEXACT = "A double (64-bit float) would change this number: send it as a string."


class InvalidJSON(ValueError):
    """A text that is not I-JSON; `faults` has at least one, in the order of the text.

    Messages name members but contain no values. Reading stops at MAX_FAULTS faults, at one with
    a very long pointer, and where the text cannot be followed any further.
    """

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        super().__init__(faults[0].message)
        self.faults = faults


def read_json(raw: bytes) -> JSONValue:
    """The value of a JSON text in UTF-8, every number an int where its value is whole.

    Raises InvalidJSON, and nothing else for any bytes, where the text is not UTF-8, not JSON
    (RFC 8259), or where other readers could take another value from it (RFC 7493): duplicate
    names, numbers beyond 2^53 - 1 or that a double cannot hold, NaN and infinity, lone
    surrogates and noncharacters; further for U+0000 and for more than MAX_DEPTH open
    containers.
    """
    if raw.startswith(b"\xef\xbb\xbf"):
        raise InvalidJSON((Fault("", "The text starts with a byte order mark: leave it out."),))
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"The text is not UTF-8: byte {error.start + 1} cannot be read."
        raise InvalidJSON((Fault("", message),)) from None
    return _Reader(text).document()


class _Reader:
    """One pass over one text; `path` leads to the place being read.

    It calls itself once per open container, so MAX_DEPTH bounds the recursion.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.path: list[str | int] = []
        self.faults: list[Fault] = []
        self.plain_is_clean = text.isascii() or not _FORBIDDEN.search(text)

    def document(self) -> JSONValue:
        value, at = self.value(0)
        if at != len(self.text):
            self.stop(f"The text goes on after the value has ended, {self.place(at)}.")
        if self.faults:
            raise InvalidJSON(tuple(self.faults))
        return value

    def value(self, at: int) -> tuple[JSONValue, int]:
        """The value that starts at this offset, and the offset of what follows it."""
        found = _VALUE.match(self.text, at)
        if found is None:
            self.stop_at_no_value(at)
        kind = str(found.lastgroup)
        token, at = found[kind], found.end()
        value: JSONValue = None
        match kind:
            case "plain":
                value = self.string(token, is_clean=self.plain_is_clean)
            case "escaped":
                value = self.string(json.loads(token), is_clean=False)
            case "whole":
                value = self.whole(token)
            case "real":
                value = self.real(token)
            case "word":
                value = _WORDS[token]
            case "open":
                value, at = self.container(token, at)
            case "nonfinite":
                self.fault("NaN and Infinity are no JSON numbers: send null or a string.")
        return value, at

    def container(self, bracket: str, at: int) -> tuple[JSONValue, int]:
        if len(self.path) == MAX_DEPTH:
            self.stop(f"Arrays and objects are nested more than {MAX_DEPTH} deep here.")
        return self.object(at) if bracket == "{" else self.array(at)

    def object(self, at: int) -> tuple[JSONValue, int]:
        members: dict[str, JSONValue] = {}
        if self.text[at : at + 1] == "}":
            return members, self.past_space(at + 1)
        while True:
            name, at = self.name(at)
            self.path.append(name)
            if name in members:
                self.fault(f"The member {_shown(name)} appears more than once in its object.")
            members[name], at = self.value(at)
            self.path.pop()
            end, at = self.text[at : at + 1], at + 1
            if end == "}":
                return members, self.past_space(at)
            if end != ",":
                self.stop(f"A comma or a closing brace is expected, {self.place(at - 1)}.")

    def array(self, at: int) -> tuple[JSONValue, int]:
        items: list[JSONValue] = []
        if self.text[at : at + 1] == "]":
            return items, self.past_space(at + 1)
        self.path.append(0)
        while True:
            item, at = self.value(at)
            items.append(item)
            end, at = self.text[at : at + 1], at + 1
            if end == "]":
                self.path.pop()
                return items, self.past_space(at)
            if end != ",":
                self.stop(f"A comma or a closing bracket is expected, {self.place(at - 1)}.")
            self.path[-1] = len(items)

    def name(self, at: int) -> tuple[str, int]:
        found = _NAME.match(self.text, at)
        if found is None:
            self.stop(f"A name in double quotes and a colon are expected, {self.place(at)}.")
        name: str = found["plain"] if found["escaped"] is None else json.loads(found["escaped"])
        if why := _forbidden(name):  # it can stand in no pointer either, so the object's is given
            self.stop(f"The name of the member {_shown(name)} has {why}")
        return name, found.end()

    def whole(self, token: str) -> int:
        number = int(token) if len(token) <= _WHOLE_CHARS else MAX_INTEGER + 1
        if abs(number) > MAX_INTEGER:
            self.fault(_TOO_BIG)
        return number

    def real(self, token: str) -> int | float:
        number = float(token)
        if abs(number) > MAX_INTEGER:
            self.fault(_TOO_BIG)
        elif not _is_exact(token, number):
            self.fault(_INEXACT)
        elif number.is_integer():
            return int(number)
        return number

    def string(self, string: str, *, is_clean: bool) -> str:
        if not is_clean and (why := _forbidden(string)):
            self.fault(f"This text has {why}")
        return string

    def past_space(self, at: int) -> int:
        found = _SPACES.match(self.text, at)
        return found.end() if found else at

    def place(self, at: int) -> str:
        """Where the next thing after this offset stands, for people."""
        at = self.past_space(at)
        if at == len(self.text):
            return "but the text ends"
        line = self.text.count("\n", 0, at) + 1
        return f"at line {line}, column {at - self.text.rfind(chr(10), 0, at)}"

    def stop_at_no_value(self, at: int) -> NoReturn:
        if self.text.startswith('"', self.past_space(at)):
            self.stop(
                "This string is not closed, or has a raw control character or an unknown escape,"
                f" {self.place(at)}."
            )
        self.stop(f"A value is expected, {self.place(at)}.")

    def fault(self, message: str) -> None:
        fault = Fault(pointer(self.path), message)
        self.faults.append(fault)
        if len(self.faults) == MAX_FAULTS or len(fault.pointer) > _LONG_POINTER_CHARS:
            raise InvalidJSON(tuple(self.faults))

    def stop(self, message: str) -> NoReturn:
        self.fault(message)
        raise InvalidJSON(tuple(self.faults))


def _is_exact(token: str, number: float) -> bool:
    """Whether the double's shortest spelling has the decimal value that was sent."""
    if number == 0:  # also what a tiny number becomes; and no Decimal holds every exponent
        return not _NONZERO.match(token)
    return Decimal(token) == Decimal(repr(number))


def _forbidden(string: str) -> str:
    """What the string has that no text may have, or nothing."""
    found = _FORBIDDEN.search(string)
    if found is None:
        return ""
    if found[0] == "\x00":
        return "the character U+0000, which cannot be stored."
    if "\ud800" <= found[0] <= "\udfff":
        return "half of a surrogate pair without its other half."
    return "a noncharacter, a code point that Unicode keeps from being used."


def _shown(name: str) -> str:
    """A member's name in quotes, cut where it is long, hidden characters as escapes."""
    cut = name if len(name) <= _SHOWN_CHARS else name[:_SHOWN_CHARS] + "…"
    return json.dumps(cut, ensure_ascii=not cut.isprintable())
