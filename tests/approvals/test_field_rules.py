"""The form of the arguments as a table: which fields, what they hold, how they can change."""

from typing import Any

import pytest

from approvals.rules import described
from approvals.rules.boxes import Bound, Field, Place, Way
from approvals.rules.described import Kind
from approvals.rules.fields import DEEP, FIELDS_MAX, fields
from approvals.rules.schema import schema_faults
from placet.protocol.reading import JSONValue, read_json


def only(schema: dict[str, Any], value: JSONValue) -> Field:
    """The field of an argument `a` of which this is said."""
    whole: dict[str, Any] = {"properties": {"a": schema}, "required": ["a"]}
    assert schema_faults(whole) == ()
    [field] = fields(whole, {"a": value})
    return field


@pytest.mark.parametrize(
    ("schema", "value", "kind", "text"),
    [
        ({"type": "string"}, "V-1", Kind.TEXT, "V-1"),
        ({"type": "string"}, "", Kind.TEXT, ""),
        ({"type": "integer"}, 5, Kind.NUMBER, "5"),
        ({"type": "number"}, 0.1, Kind.NUMBER, "0.1"),
        ({"type": "number"}, 1e-7, Kind.NUMBER, "1e-7"),
        ({"type": "integer"}, 9007199254740991, Kind.NUMBER, "9007199254740991"),
        ({"type": "boolean"}, False, Kind.BOOLEAN, "false"),
        ({"type": "null"}, None, Kind.NULL, "null"),
        ({"type": ["string", "null"]}, None, Kind.NULL, "null"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, 7, Kind.NUMBER, "7"),
        ({}, "01234", Kind.TEXT, "01234"),
        ({}, 12, Kind.NUMBER, "12"),
        ({}, True, Kind.BOOLEAN, "true"),
        ({}, None, Kind.JSON, "null"),
        ({}, [], Kind.JSON, "[]"),
        ({"type": "integer"}, "12", Kind.TEXT, "12"),
        ({"type": "string"}, 12, Kind.NUMBER, "12"),
        ({"type": "string"}, "one\ntwo\n", Kind.TEXT, "one\ntwo\n"),
        ({"type": "string"}, "one\r\ntwo", Kind.TEXT, "one\ntwo"),
        ({"type": "string"}, "one\r\ntwo\n", Kind.JSON, '"one\\r\\ntwo\\n"'),
        ({"type": "string"}, "one\rtwo", Kind.JSON, '"one\\rtwo"'),
        ({"type": "string"}, "ac\u200bct", Kind.JSON, '"ac\\u200bct"'),
        ({"type": "string"}, "\u202egpj", Kind.JSON, '"\\u202egpj"'),
        ({"type": "string"}, "a\tb", Kind.JSON, '"a\\tb"'),
        ({"type": "string"}, "trailing ", Kind.JSON, '"trailing "'),
        ({"type": "string"}, "Grüße 日本", Kind.TEXT, "Grüße 日本"),
        ({"oneOf": [{"type": "object"}, {"type": "object"}]}, {"b": 1}, Kind.OBJECT, ""),
    ],
)
def test_a_field_is_of_the_kind_of_its_value_and_holds_it_exactly(
    schema: dict[str, Any], value: JSONValue, kind: Kind, text: str
) -> None:
    field = only(schema, value)

    assert (field.kind, field.text) == (kind, text)
    if kind is Kind.JSON:
        assert read_json(text.encode()) == value


def test_the_words_of_the_schema_and_its_demands_go_with_the_field() -> None:
    said = {
        "type": "integer",
        "title": "Amount",
        "description": "In paise",
        "minimum": 1,
        "maximum": 500000,
        "multipleOf": 5,
    }

    field = only(said, 100)

    assert field == Field(
        pointer="/a",
        name="a",
        label="a",
        kind=Kind.NUMBER,
        title="Amount",
        description="In paise",
        text="100",
        place=Place(is_required=True),
        is_whole=True,
        bounds=(Bound("minimum", "1"), Bound("maximum", "500000"), Bound("multipleOf", "5")),
    )


def test_references_and_what_all_of_adds_are_followed() -> None:
    schema = {
        "$defs": {
            "money": {"type": "object", "properties": {"cents": {"$ref": "#/$defs/whole"}}},
            "whole": {"type": "integer", "minimum": 0},
        },
        "properties": {
            "price": {"allOf": [{"$ref": "#/$defs/money"}, {"required": ["cents"]}], "title": "P"}
        },
    }
    assert schema_faults(schema) == ()

    [price] = fields(schema, {"price": {"cents": 5}})

    assert (price.kind, price.title) == (Kind.OBJECT, "P")
    [cents] = price.parts
    assert (cents.kind, cents.is_whole, cents.place.is_required) == (Kind.NUMBER, True, True)
    assert cents.bounds == (Bound("minimum", "0"),)


def test_a_union_lets_one_choose_among_its_kinds() -> None:
    union = {"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 3}, {"type": "null"}]}

    assert only(union, "x").ways == (
        Way(Kind.TEXT, '""', True),
        Way(Kind.NUMBER, "3", False),
        Way(Kind.NULL, "null", False),
    )
    assert only({"type": "string"}, "x").ways == ()


def test_a_value_that_the_schema_does_not_take_can_be_brought_to_what_it_takes() -> None:
    assert only({"type": "string"}, 12).ways == (Way(Kind.TEXT, '""', False),)
    assert only({"enum": ["a", "b"]}, "c").ways == (Way(Kind.CHOICE, '"a"', False),)


def test_a_choice_keeps_the_types_of_its_values_apart() -> None:
    field = only({"enum": ["fast", "", "1", 1, True, None]}, 1)

    assert [(option.json, option.text, option.is_taken) for option in field.options] == [
        ('"fast"', "fast", False),
        ('""', '""', False),
        ('"1"', '"1"', False),
        ("1", "1", True),
        ("true", "true", False),
        ("null", "null", False),
    ]
    [fixed] = only({"const": "eur"}, "eur").options
    assert (fixed.json, fixed.is_taken) == ('"eur"', True)


def test_absent_members_can_be_added_and_left_out_ones_brought_back() -> None:
    schema = {
        "properties": {
            "memo": {"type": "string", "title": "Memo"},
            "mode": {"enum": ["fast", "slow"]},
            "count": {"type": "integer", "default": 7},
            "to": {
                "type": "object",
                "required": ["iban"],
                "properties": {"iban": {"type": "string"}},
            },
            "never": False,
        },
        "required": ["count"],
    }

    found = fields(schema, {"zip": "01234"}, {"zip": "01234", "old": 1})

    assert [(field.name, field.kind, field.blank) for field in found] == [
        ("zip", Kind.TEXT, None),
        ("count", Kind.ABSENT, "7"),
        ("memo", Kind.ABSENT, '""'),
        ("mode", Kind.ABSENT, '"fast"'),
        ("old", Kind.ABSENT, "null"),
        ("to", Kind.ABSENT, '{"iban":""}'),
    ]
    assert [field.name for field in found if field.place.is_required] == ["count"]


def test_items_of_a_list_know_their_place_and_what_the_next_one_is() -> None:
    field = only({"type": "array", "items": {"type": "integer"}, "maxItems": 9}, [4, 5])

    assert (field.kind, field.blank, field.bounds) == (Kind.LIST, "0", (Bound("maxItems", "9"),))
    assert [(part.pointer, part.label, part.text, part.place) for part in field.parts] == [
        ("/a/0", "a 0", "4", Place(True, is_first=True)),
        ("/a/1", "a 1", "5", Place(True, is_last=True)),
    ]
    assert only({}, [True]).blank == "false"
    assert only({"type": "array", "items": {"type": "string"}}, []).kind is Kind.LIST


def test_names_that_hide_something_are_spelled_in_labels_and_exact_in_pointers() -> None:
    [field] = fields({}, {"a/b\u200b": 1})

    assert (field.pointer, field.label) == ("/a~1b\u200b", "a/bU+200B")


def test_what_is_too_much_for_a_form_is_one_box_of_json() -> None:
    assert fields({}, {f"m{at}": at for at in range(FIELDS_MAX + 1)}) == ()
    [wide] = fields({}, {"a": list(range(FIELDS_MAX))})
    assert wide.kind is Kind.JSON
    deep: JSONValue = 1
    for _ in range(DEEP + 1):
        deep = {"a": deep}
    assert isinstance(deep, dict)
    [field] = fields({}, deep)
    for _ in range(DEEP - 1):
        [field] = field.parts
    assert (field.kind, field.pointer) == (Kind.JSON, "/a" * DEEP)


def of_a_list(item: dict[str, Any], values: list[JSONValue]) -> tuple[Field, ...]:
    """The fields of the items of a list of which this is said."""
    return only({"type": "array", "items": item}, values).parts


def test_what_a_schema_says_once_does_not_grow_with_every_place_that_follows_it() -> None:
    """Otherwise 32 KiB of a schema and a short list are pages of hundreds of megabytes."""
    worded = of_a_list({"type": "string", "description": "я" * 15_000}, ["x"] * 299)
    chosen = of_a_list({"enum": list(range(5_500))}, [5_499] * 299)

    assert [len(field.description) for field in worded] == [15_000] * 19 + [0] * 280
    assert {(field.kind, field.text) for field in worded} == {(Kind.TEXT, "x")}
    assert [len(field.options) for field in chosen] == [5_500] * 2 + [0] * 297
    assert [(field.kind, field.text) for field in chosen[2:]] == [(Kind.NUMBER, "5499")] * 297

    absent = fields(
        {
            "$defs": {"a": {"default": "я" * 5_000}},
            "properties": {f"p{number}": {"$ref": "#/$defs/a"} for number in range(600)},
        },
        {},
    )
    assert sum(len(field.blank or "") > 4 for field in absent) == 29


def test_a_subschema_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    joined: list[int] = []

    def join(said: Any, more: Any) -> Any:
        joined.append(1)
        return both(said, more)

    both = described._both
    monkeypatch.setattr(described, "_both", join)
    parts = [{"properties": {f"a{number}": {}}} for number in range(100)]

    assert len(of_a_list({"allOf": parts}, [1] * 99)) == 99
    assert len(joined) < 300


def test_a_keyboard_for_numbers_is_asked_for_where_no_sign_is_needed() -> None:
    assert not only({"type": "integer"}, 5).may_be_negative
    assert only({"type": "integer", "minimum": -5}, 5).may_be_negative
    assert only({"type": "number"}, -0.5).may_be_negative
