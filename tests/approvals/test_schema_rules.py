"""Which JSON Schemas are taken, and what they say of values."""

import time
from typing import Any

import pytest

from approvals.rules.schema import keyword_faults, schema_faults, value_faults


def pointers(schema: Any) -> list[str]:
    return [fault.pointer for fault in schema_faults(schema)]


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
        {"$schema": "https://json-schema.org/draft/2020-12/schema"},
        {"$defs": {"a": {"type": "string"}}, "properties": {"x": {"$ref": "#/$defs/a"}}},
        {"properties": {"$ref": {"type": "string"}, "uniqueItems": {}, "$id": {}}},
        {"const": {"uniqueItems": True, "$ref": "anything"}},
        {"enum": [{"$id": "x"}]},
        {"pattern": "^(a+)+$"},
        {"format": "email"},
    ],
)
def test_an_ordinary_schema_is_taken(schema: dict[str, Any]) -> None:
    assert pointers(schema) == []


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ([], ""),
        (True, ""),
        ({"type": "strange"}, "/type"),
        ({"$schema": "http://json-schema.org/draft-07/schema#"}, "/$schema"),
        ({"$id": "https://x.example/"}, "/$id"),
        ({"items": {"uniqueItems": False}}, "/items/uniqueItems"),
        ({"$dynamicRef": "#x"}, "/$dynamicRef"),
        ({"$ref": "https://x.example/schema"}, "/$ref"),
        ({"$ref": "other.json"}, "/$ref"),
        ({"$ref": "#/$defs/none"}, "/$ref"),
        ({"$ref": 3}, "/$ref"),
        ({"$ref": "#"}, "/$ref"),
        (
            {"const": {"type": "string"}, "properties": {"a": {"$ref": "#/const"}}},
            "/properties/a/$ref",
        ),
        ({"properties": {"a": {"$ref": "#"}}}, "/properties/a/$ref"),
        ({"pattern": "("}, "/pattern"),
        ({"pattern": "(?=look)"}, "/pattern"),
        ({"patternProperties": {"(": {}}}, "/patternProperties/("),
        ({"description": "x" * 40_000}, ""),
    ],
)
def test_a_schema_beyond_the_contract_is_refused_at_its_place(schema: Any, pointer: str) -> None:
    assert pointer in pointers(schema)


@pytest.mark.parametrize(
    ("schema", "unknown"),
    [
        ({"propertys": {"args": {"minimun": 1}}}, ["/propertys"]),
        ({"properties": {"args": {"minimun": 1}}}, ["/properties/args/minimun"]),
        ({"allOf": [{"a/b": 1}, {"requires": []}]}, ["/allOf/0/a~1b", "/allOf/1/requires"]),
        ({"properties": {"propertys": {"const": {"any": 1}}}, "$defs": {"x": {}}}, []),
    ],
)
def test_an_unknown_keyword_is_named_at_its_place(schema: Any, unknown: list[str]) -> None:
    assert [fault.pointer for fault in keyword_faults(schema)] == unknown


def test_references_that_lead_around_are_refused() -> None:
    schema: dict[str, Any] = {
        "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"properties": {"x": {"$ref": "#/$defs/a"}}}},
        "$ref": "#/$defs/a",
    }

    (fault,) = schema_faults(schema)

    assert fault.message == "A reference may not lead back to itself."


def test_references_that_multiply_are_refused_quickly() -> None:
    def twice(n: int) -> list[dict[str, Any]]:
        return [{"$ref": f"#/$defs/{n}"}] * 2

    defs: dict[str, Any] = {str(n): {"allOf": twice(n + 1)} for n in range(60)}
    schema: dict[str, Any] = {"$defs": {**defs, "60": {"type": "string"}}, "$ref": "#/$defs/0"}
    began = time.monotonic()

    (fault,) = schema_faults(schema)

    assert "2000" in fault.message
    assert time.monotonic() - began < 2


def test_a_pattern_costs_linear_time() -> None:
    schema: dict[str, Any] = {"pattern": "^(a+)+$"}
    began = time.monotonic()

    assert value_faults(schema, "a" * 200_000 + "!")

    assert time.monotonic() - began < 2


def test_a_format_asserts_nothing() -> None:
    assert value_faults({"format": "email"}, "no address") == ()


def test_faults_name_their_place_and_never_the_value() -> None:
    schema: dict[str, Any] = {
        "properties": {"a": {"properties": {"pass/word": {"type": "integer"}}}}
    }

    (fault,) = value_faults(schema, {"a": {"pass/word": "hunter2"}})

    assert fault.pointer == "/a/pass~1word"
    assert "hunter2" not in fault.message


def test_of_many_faults_the_first_twenty_are_named() -> None:
    found = value_faults({"items": {"type": "string"}}, list(range(2000)))

    assert [fault.pointer for fault in found] == [f"/{place}" for place in range(20)]


@pytest.mark.parametrize(
    "items",
    [
        {"allOf": [{"type": "string", "minLength": number} for number in range(700)]},
        {"required": [f"n{number}" for number in range(1900)]},
    ],
)
def test_a_value_that_fails_everywhere_is_refused_quickly(items: dict[str, Any]) -> None:
    schema: dict[str, Any] = {"items": items}
    value: list[Any] = [{} for _ in range(2000)]
    assert schema_faults(schema) == ()
    began = time.monotonic()

    (fault,) = value_faults(schema, value)

    assert fault.pointer == "/0"
    assert time.monotonic() - began < 2


def test_more_checks_than_a_decision_may_cost_are_refused_at_storing() -> None:
    (fault,) = schema_faults({"required": [f"n{number}" for number in range(2000)]})

    assert "2000" in fault.message


def test_types_are_exact() -> None:
    schema: dict[str, Any] = {"properties": {"n": {"type": "integer"}, "b": {"type": "boolean"}}}

    assert value_faults(schema, {"n": 1, "b": True}) == ()
    assert [fault.pointer for fault in value_faults(schema, {"n": True, "b": 1})] == ["/n", "/b"]
