"""What holds for every text: one value, one spelling, one digest, or InvalidJSON."""

import contextlib
import json
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from placet.protocol.canonical import canonical
from placet.protocol.digest import sha256_hex
from placet.protocol.limits import MAX_INTEGER
from placet.protocol.pointers import parse_pointer
from placet.protocol.reading import InvalidJSON, JSONValue, read_json

NONCHARACTERS = [*range(0xFDD0, 0xFDF0)] + [
    plane << 16 | last for plane in range(17) for last in (0xFFFE, 0xFFFF)
]
texts = st.text(
    st.characters(codec="utf-8", exclude_characters=["\0", *map(chr, NONCHARACTERS)]), max_size=12
)
floats = st.floats(min_value=-MAX_INTEGER, max_value=MAX_INTEGER)
scalars = st.none() | st.booleans() | st.integers(-MAX_INTEGER, MAX_INTEGER) | floats | texts
few_scalars = st.sampled_from([None, False, True, 0, 1, 0.0, -0.0, 1.0, 0.5, "", "0", "1", "null"])


def nested(leaves: st.SearchStrategy[Any], names: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4),
        max_leaves=15,
    )


values = nested(scalars, texts)
close_values = nested(few_scalars, st.sampled_from(["a", "b", "\uffff\U00010000"]))


def is_same(one: Any, other: Any) -> bool:
    """Equality by RFC 8785: numbers by value, and no number is a boolean."""
    match one, other:
        case dict(), dict():
            return one.keys() == other.keys() and all(is_same(one[k], other[k]) for k in one)
        case list(), list():
            return len(one) == len(other) and all(map(is_same, one, other))
        case (bool() | None, _) | (_, bool() | None):
            return one is other
        case _:
            return bool(one == other)


def spelled_anyhow(value: Any, random: Random) -> str:
    """A JSON text of this value, its spaces, escapes, order and numbers chosen at random."""

    def space() -> str:
        return random.choice(["", "", " ", "\n", "\t\r "])

    def text(string: str) -> str:
        if random.random() < 0.5:
            return json.dumps(string, ensure_ascii=random.random() < 0.5)
        units = string.encode("utf-16-be")
        return '"' + "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2)) + '"'

    match value:
        case dict():
            members = [
                f"{space()}{text(name)}{space()}:{spelled_anyhow(member, random)}"
                for name, member in value.items()
            ]
            random.shuffle(members)
            spelled = "{" + (",".join(members) or space()) + "}"
        case list():
            spelled = "[" + (",".join(spelled_anyhow(item, random) for item in value)) + "]"
        case str():
            spelled = text(value)
        case bool() | None:
            spelled = json.dumps(value)
        case _:
            spelled = number_anyhow(value, random)
    return space() + spelled + space()


def number_anyhow(number: float, random: Random) -> str:
    plain = str(number)
    mantissa, _, exponent = plain.partition("e")
    shift = random.randrange(4)
    whole, _, fraction = mantissa.partition(".")
    sign, digits = ("-", whole[1:]) if whole.startswith("-") else ("", whole)
    moved = f"{sign}0.{'0' * shift}{digits}{fraction}{'0' * random.randrange(3)}"
    return f"{moved}{random.choice('eE')}{int(exponent or 0) + len(digits) + shift}"


@given(values)
def test_the_canonical_form_reads_as_the_same_value_and_is_its_own_form(value: JSONValue) -> None:
    text = canonical(value)

    again = read_json(text.encode())

    assert is_same(again, value)
    assert canonical(again) == text


@given(values, st.randoms(use_true_random=False))
def test_spelling_leaves_no_trace(value: JSONValue, random: Random) -> None:
    read = read_json(spelled_anyhow(value, random).encode())

    assert canonical(read) == canonical(value)


@given(close_values, close_values)
@example({"a": 1}, {"a": True})
@example([0], [-0.0])
@example({"a": None}, {})
@example([1, [2]], [[1], 2])
def test_two_values_share_a_text_and_digest_only_if_they_are_the_same(
    one: JSONValue, other: JSONValue
) -> None:
    texts = canonical(one), canonical(other)

    assert (texts[0] == texts[1]) == is_same(one, other)
    assert (sha256_hex(texts[0]) == sha256_hex(texts[1])) == is_same(one, other)


@given(st.integers(-MAX_INTEGER, MAX_INTEGER))
def test_an_integer_has_one_form_however_it_is_typed(number: int) -> None:
    spelled = [f"{number}", f"{number}.0", f"{number}e0", f"{number}.000E-0", f"{number * 10}e-1"]

    assert {canonical(read_json(text.encode())) for text in spelled} == {str(number)}
    assert canonical(float(number)) == str(number)


@given(st.integers(2**53, 10**40), st.sampled_from(["", "-"]))
def test_no_integer_beyond_the_safe_range_is_read_in_any_notation(number: int, sign: str) -> None:
    """H-09: whatever the notation."""
    for text in (f"{number}", f"{number}.0", f"{number}e0", f"0.{number}e{len(str(number))}"):
        with pytest.raises(InvalidJSON, match="send it as a string"):
            read_json((sign + text).encode())


@given(
    st.from_regex(r"-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,3})?", fullmatch=True)
)
def test_a_number_is_read_as_exactly_its_decimal_value_or_not_at_all(text: str) -> None:
    try:
        value = read_json(text.encode())
    except InvalidJSON as refused:
        assert "send it as a string" in refused.faults[0].message
    else:
        assert Fraction(canonical(value)) == Fraction(text)
        assert abs(Fraction(text)) <= MAX_INTEGER


def lenient(raw: bytes) -> Any:
    """What Python's own parser makes of it, which accepts more than we do."""
    return json.loads(raw.decode("utf-8"))


def read_or_refuse(raw: bytes) -> None:
    """Read, and hold what is promised for any bytes at all."""
    try:
        value = read_json(raw)
    except InvalidJSON as refused:
        assert refused.faults
        for fault in refused.faults:
            parse_pointer(fault.pointer)
            assert "\0" not in fault.pointer + fault.message
            (fault.pointer + fault.message).encode()
        return
    text = canonical(value)
    assert is_same(lenient(raw), value)
    assert canonical(read_json(text.encode())) == text


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(raw: bytes) -> None:
    read_or_refuse(raw)


BITS = [
    b"{", b"}", b"[", b"]", b",", b":", b'"', b'"a":', b'"a"', b"1", b"-", b"0", b".5", b"e", b"E+",
    b"1e400", b"9007199254740993", b"9" * 5000, b"true", b"null", b"NaN", b"-Infinity", b"\\",
    b"\\u", rb"\ud800", rb"\udc00", rb"\u0000", b"\xff", b"\xef\xbb\xbf", b"\xef\xbf\xbf", b"\0",
    b"\n", b" ", b"[" * 70,
]  # fmt: skip


@given(st.lists(st.sampled_from(BITS), max_size=30).map(b"".join))
def test_any_pieces_of_json_are_read_or_refused(raw: bytes) -> None:
    read_or_refuse(raw)


@given(values, st.randoms(use_true_random=False), st.data())
def test_any_damaged_json_is_read_or_refused(
    value: JSONValue, random: Random, data: st.DataObject
) -> None:
    raw = spelled_anyhow(value, random).encode()
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(raw)))
        end = data.draw(st.integers(start, min(len(raw), start + 4)))
        raw = raw[:start] + data.draw(st.sampled_from([b"", *BITS])) + raw[end:]

    read_or_refuse(raw)


@given(
    values, st.sampled_from(["1e400", "NaN", "0.10000000000000000055", '"\\ud800"', "]", "[" * 70])
)
def test_a_message_repeats_no_text_that_was_sent(value: JSONValue, fault: str) -> None:
    secret = "s3cr3t-v4lue"
    raw = f'{{"a":"{secret}","b":[{canonical(value)},{fault}],"a":"{secret}\\ufffe"}}'

    with pytest.raises(InvalidJSON) as refused:
        read_json(raw.encode())

    assert all(secret not in fault.message for fault in refused.value.faults)


MIB = 1024 * 1024


@pytest.mark.parametrize(
    "raw",
    [
        b"[" * MIB,
        b'{"a":' * (MIB // 5),
        b"1" * MIB,
        b"1e" + b"9" * MIB,
        b"0." + b"1" * MIB,
        b'"' + b"a" * MIB,
        b'"' + b"\\n" * (MIB // 2),
        b'"\\' * (MIB // 2),
        b" " * MIB,
        b'{"' + b"n" * MIB + b'":1e400',
        b"[" + b"1e400," * (MIB // 6),
        b"[" + b"[],0.5,{}," * (MIB // 10) + b"0]",
        b'{"a":"' + b"\xc3\xa9" * (MIB // 2) + b'"}',
    ],
    ids=lambda raw: raw[:12].decode(),
)
def test_a_full_body_of_anything_is_read_or_refused(raw: bytes) -> None:
    with contextlib.suppress(InvalidJSON):
        read_json(raw)
