"""The strict reader: what it gives, and each way in which it refuses, with its place."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from placet.protocol.canonical import canonical
from placet.protocol.limits import MAX_DEPTH
from placet.protocol.reading import MAX_FAULTS, InvalidJSON, read_json
from placet.protocol.refusals import Fault

JCS = Path(__file__).parents[1] / "vectors" / "jcs"
REFUSE = json.loads((JCS / "own" / "refuse.json").read_text())
REFUSE_CASES = next(part for part in REFUSE.values() if isinstance(part, list))
NOT_OBJECTS = {"args-not-object-array": [1, 2], "args-not-object-string": "x"}

TOO_BIG = "This number is beyond ±9007199254740991 (2^53 - 1): send it as a string."
INEXACT = "A double (64-bit float) would change this number: send it as a string."
NONFINITE = "NaN and Infinity are no JSON numbers: send null or a string."
LONE = "This text has half of a surrogate pair without its other half."
NONCHARACTER = "This text has a noncharacter, a code point that Unicode keeps from being used."
NUL = "This text has the character U+0000, which cannot be stored."
TOO_DEEP = "Arrays and objects are nested more than 64 deep here."


def faults_of(raw: str | bytes) -> list[tuple[str, str]]:
    with pytest.raises(InvalidJSON) as refused:
        read_json(raw.encode() if isinstance(raw, str) else raw)
    return [(fault.pointer, fault.message) for fault in refused.value.faults]


def spelled_type(value: Any) -> Any:
    """The value with its types, so that 1, 1.0 and True differ."""
    match value:
        case dict():
            return {name: spelled_type(member) for name, member in value.items()}
        case list():
            return [spelled_type(item) for item in value]
        case _:
            return type(value).__name__, value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{}", {}),
        (" [ ] ", []),
        ('\t{ "a" : [ 1 , { } , [ ] , "" ] }\r\n', {"a": [1, {}, [], ""]}),
        ("[true,false,null]", [True, False, None]),
        ('"\\"\\\\\\/\\b\\f\\n\\r\\t"', '"\\/\b\f\n\r\t'),
        ('"\\ud83d\\ude00 \\u00e9"', "\U0001f600 \u00e9"),
        ('{"\\u0061":1,"A":2,"":3}', {"a": 1, "A": 2, "": 3}),
        ('"\u202e\u200b\ufeff\x7f"', "\u202e\u200b\ufeff\x7f"),
        ("[0.1,-0.5,1e-7,5e-324]", [0.1, -0.5, 1e-07, 5e-324]),
        ("[1,1.0,1e0,10E-1,0.1e+1]", [1, 1, 1, 1, 1]),
        ("[1e3,1.5e3,0.10,100e-3]", [1000, 1500, 0.1, 0.1]),
        ("[0,-0,0.0,-0.0e-5,0e99999999999999999999]", [0, 0, 0, 0, 0]),
        ("[9007199254740991,-9007199254740991]", [2**53 - 1, 1 - 2**53]),
        ("[9007199254740991.0,9.007199254740991e15]", [2**53 - 1, 2**53 - 1]),
        ("4503599627370495.5", 4503599627370495.5),
    ],
)
def test_a_text_has_its_value_and_whole_numbers_are_ints(text: str, value: Any) -> None:
    assert spelled_type(read_json(text.encode())) == spelled_type(value)


@pytest.mark.parametrize("case", REFUSE_CASES, ids=lambda case: case["name"])
def test_a_raw_text_that_must_have_no_digest_has_none(case: dict[str, Any]) -> None:
    """H-09, H-10: every case is refused here, or is a value but no object."""
    raw = base64.b64decode(case["raw_base64"])

    if case["name"] in NOT_OBJECTS:
        assert read_json(raw) == NOT_OBJECTS[case["name"]]
    else:
        assert faults_of(raw) != []


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"tool":"pay","args":{"to":"acct_good","to":"acct_bad"}}', "/args/to"),
        ('{"tool":"pay","args":{"to":"acct_good","\\u0074o":"acct_bad"}}', "/args/to"),
        ('{"args":[0,{"x":{"to":1,"cc":2,"to":1}}]}', "/args/1/x/to"),
        ('{"to":null,"to":null}', "/to"),
    ],
)
def test_a_duplicate_name_is_refused_with_its_pointer_and_named(text: str, place: str) -> None:
    """H-10: also nested, spelled by escape, and with equal values."""
    assert faults_of(text) == [(place, 'The member "to" appears more than once in its object.')]


def test_equal_names_in_different_objects_are_no_duplicates() -> None:
    assert read_json(b'{"to":{"to":[{"to":1},{"to":2}]}}') == {"to": {"to": [{"to": 1}, {"to": 2}]}}


def test_names_that_only_look_equal_are_no_duplicates() -> None:
    assert read_json('{"\u00e9":1,"e\u0301":2}'.encode()) == {"\u00e9": 1, "e\u0301": 2}


@pytest.mark.parametrize(
    ("number", "message"),
    [
        ("2512292042121000001", TOO_BIG),
        ("2512292042121000000", TOO_BIG),
        ("9007199254740992", TOO_BIG),
        ("-9007199254740992", TOO_BIG),
        ("9007199254740992.0", TOO_BIG),
        ("9007199254740991.5", TOO_BIG),
        ("0.9007199254740992e16", TOO_BIG),
        ("1e16", TOO_BIG),
        ("-1E300", TOO_BIG),
        ("1e400", TOO_BIG),
        ("1e999999999", TOO_BIG),
        ("-1e" + "9" * 5000, TOO_BIG),
        ("1" * 5000, TOO_BIG),
        ("9007199254740991.4", INEXACT),
        ("9007199254740990.9", INEXACT),
        ("0.10000000000000000055", INEXACT),
        ("0.1000000000000000055511151231257827021181583404541015625", INEXACT),
        ("333333333.33333329", INEXACT),
        ("4.9e-324", INEXACT),
        ("1e-400", INEXACT),
        ("1e-" + "9" * 5000, INEXACT),
    ],
    ids=lambda part: part[:24],
)
def test_a_number_that_readers_would_round_is_refused_and_a_string_asked_for(
    number: str, message: str
) -> None:
    """H-09: never one digest for two ids."""
    assert faults_of('{"invoice":{"ids":[7,' + number + "]}}") == [("/invoice/ids/1", message)]


def test_a_long_id_in_a_string_stays_digit_for_digit() -> None:
    """H-09: the same ids as strings."""
    assert read_json(b'["2512292042121000001","2512292042121000000"]') == [
        "2512292042121000001",
        "2512292042121000000",
    ]


@pytest.mark.parametrize(
    "number",
    ["0." + "0" * 100_000 + "1e100001", "1." + "0" * 100_000, "1e" + "0" * 100_000, "1e-0"],
    ids=["shifted", "zeros", "zero exponent", "minus zero exponent"],
)
def test_a_long_spelling_of_a_plain_number_is_that_number(number: str) -> None:
    assert canonical(read_json(number.encode())) == "1"


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity", "-NaN"])
def test_a_number_that_is_none_is_refused(word: str) -> None:
    assert faults_of('{"a":[' + word + "]}") == [("/a/0", NONFINITE)]


@pytest.mark.parametrize(
    ("string", "message"),
    [
        (r"\ud800", LONE),
        (r"x\udc00y", LONE),
        (r"\ude00\ud83d", LONE),
        (r"\ud83dx\ude00", LONE),
        (r"\ufffe", NONCHARACTER),
        ("\uffff", NONCHARACTER),
        ("\ufdd0", NONCHARACTER),
        (r"\ufdef", NONCHARACTER),
        (r"\ud83f\udffe", NONCHARACTER),
        ("\U0010ffff", NONCHARACTER),
        (r"a\u0000b", NUL),
    ],
    ids=ascii,
)
def test_text_that_not_everybody_can_hold_is_refused(string: str, message: str) -> None:
    assert faults_of('{"s":["ok","' + string + '"]}') == [("/s/1", message)]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (r"\ud83d", r'"\ud83d" has half of a surrogate pair without its other half.'),
        ("x\uffff", r'"x\uffff" has a noncharacter, a code point that Unicode keeps'),
        (r"\u0000", r'"\u0000" has the character U+0000, which cannot be stored.'),
    ],
    ids=ascii,
)
def test_a_name_that_no_pointer_can_hold_is_refused_at_its_object(name: str, message: str) -> None:
    [(place, said)] = faults_of('{"args":{"' + name + '":{"n":1e400}}}')

    assert place == "/args"
    assert said.startswith("The name of the member " + message)


@pytest.mark.parametrize("unclosed", ["[", '{"a":', '[{"a":['], ids=["[", "{", "mixed"])
def test_nesting_is_refused_from_the_65th_container_on(unclosed: str) -> None:
    [(place, message)] = faults_of(unclosed * 200_000)

    assert place.count("/") == MAX_DEPTH
    assert message == TOO_DEEP


def test_64_open_containers_are_fine_and_65_are_not() -> None:
    fine = b"[" * MAX_DEPTH + b"]" * MAX_DEPTH

    assert canonical(read_json(fine)).encode() == fine
    assert read_json((JCS / "own/input/nest-64.json").read_bytes()) is not None
    assert faults_of(b"[" + fine + b"]") == [("/0" * MAX_DEPTH, TOO_DEEP)]


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"\xef\xbb\xbf{}", "The text starts with a byte order mark: leave it out."),
        (b'{"s":"\xff"}', "The text is not UTF-8: byte 7 cannot be read."),
        ("{}".encode("utf-16"), "The text is not UTF-8: byte 1 cannot be read."),
        (b'"\xed\xa0\x80"', "The text is not UTF-8: byte 2 cannot be read."),
        (b'"\xc0\xaf"', "The text is not UTF-8: byte 2 cannot be read."),
        ("{}".encode("utf-16-be"), "A value is expected, at line 1, column 1."),
    ],
)
def test_a_text_in_another_encoding_is_refused(raw: bytes, message: str) -> None:
    assert faults_of(raw) == [("", message)]


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("", "", "A value is expected, but the text ends."),
        ("\n ", "", "A value is expected, but the text ends."),
        ('{"a":', "/a", "A value is expected, but the text ends."),
        ('{"a":[1,]}', "/a/1", "A value is expected, at line 1, column 9."),
        ('{"a":+1}', "/a", "A value is expected, at line 1, column 6."),
        ('{"a":.5}', "/a", "A value is expected, at line 1, column 6."),
        ('{"a":True}', "/a", "A value is expected, at line 1, column 6."),
        ("[\u0661]", "/0", "A value is expected, at line 1, column 2."),
        ("[1\u00a0]", "/0", "A comma or a closing bracket is expected, at line 1, column 3."),
        ('{"a":01}', "", "A comma or a closing brace is expected, at line 1, column 7."),
        ('{"a":1.}', "", "A comma or a closing brace is expected, at line 1, column 7."),
        ('{"a":1e}', "", "A comma or a closing brace is expected, at line 1, column 7."),
        ('{"a":1/*x*/}', "", "A comma or a closing brace is expected, at line 1, column 7."),
        ('[{"a":1]', "/0", "A comma or a closing brace is expected, at line 1, column 8."),
        ("[1 2]", "/0", "A comma or a closing bracket is expected, at line 1, column 4."),
        ("[1}", "/0", "A comma or a closing bracket is expected, at line 1, column 3."),
        ("[[1,2]", "/0", "A comma or a closing bracket is expected, but the text ends."),
        ('{"a":1,}', "", "A name in double quotes and a colon are expected, at line 1, column 8."),
        ("{'a':1}", "", "A name in double quotes and a colon are expected, at line 1, column 2."),
        ('{"a" 1}', "", "A name in double quotes and a colon are expected, at line 1, column 2."),
        ('{"a":1}\n\n x', "", "The text goes on after the value has ended, at line 3, column 2."),
        ("{} {}", "", "The text goes on after the value has ended, at line 1, column 4."),
        ("]", "", "A value is expected, at line 1, column 1."),
    ],
)
def test_what_is_not_json_is_refused_with_its_place(text: str, place: str, message: str) -> None:
    assert faults_of(text) == [(place, message)]


@pytest.mark.parametrize("string", ['"a', '"\\', '"\\x"', '"\\u12g4"', '"\x1f"', '"\n"', '"\x00"'])
def test_a_broken_string_is_refused_with_its_place(string: str) -> None:
    assert faults_of('{"s":\n  ' + string + "}") == [
        (
            "/s",
            "This string is not closed, or has a raw control character or an unknown escape,"
            " at line 2, column 3.",
        )
    ]


def test_all_faults_are_told_at_once_in_the_order_of_the_text() -> None:
    text = '{"a":1e400,"b":["\\ud800",NaN],"a~/":{"c":0.10000000000000000055},"b":0,"d":}'

    assert faults_of(text) == [
        ("/a", TOO_BIG),
        ("/b/0", LONE),
        ("/b/1", NONFINITE),
        ("/a~0~1/c", INEXACT),
        ("/b", 'The member "b" appears more than once in its object.'),
        ("/d", "A value is expected, at line 1, column 76."),
    ]


def test_reading_stops_after_a_number_of_faults() -> None:
    assert len(faults_of("[" + "1e400," * 1000 + "0]")) == MAX_FAULTS


def test_a_name_of_great_length_is_cut_in_the_message_and_its_pointer_given_once() -> None:
    name = "n" * 100_000
    text = '{"' + name + '":[1e400,1e400],"' + name + '":0}'

    assert faults_of(text) == [("/" + name + "/0", TOO_BIG)]
    assert faults_of(text.replace("1e400", "1")) == [
        ("/" + name, f'The member "{"n" * 80}…" appears more than once in its object.')
    ]


def test_hidden_characters_of_a_name_are_escaped_in_the_message() -> None:
    [(_, message)] = faults_of('{"\u00fc\u202eb":1,"\u00fc\u202eb":2}')

    assert message == 'The member "\\u00fc\\u202eb" appears more than once in its object.'


def test_the_error_itself_says_the_first_fault() -> None:
    with pytest.raises(InvalidJSON, match=r"^NaN and Infinity are no JSON numbers") as refused:
        read_json(b"[NaN,1e400]")

    assert refused.value.faults == (Fault("/0", NONFINITE), Fault("/1", TOO_BIG))
