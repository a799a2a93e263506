"""What a stored schema says of one place in a value, read for a person who is to fill it.

Nothing is judged here: where a schema says more than a form can tell, the place stays without a
description and the schema itself is applied to the whole value (`schema.value_faults`).
"""

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from itertools import islice
from typing import Any

from placet.protocol.canonical import canonical
from placet.protocol.pointers import parse_pointer
from placet.protocol.reading import JSONValue

Described = dict[str, JSONValue]
"""A subschema with its reference followed; {} says nothing."""

WAYS_MAX = 8
"""A place with more alternatives than this is left to JSON."""


class Kind(StrEnum):
    """How a place of the form is filled."""

    TEXT = "text"
    NUMBER = "number"
    BOOLEAN = "boolean"
    NULL = "null"
    CHOICE = "choice"
    OBJECT = "object"
    LIST = "list"
    JSON = "json"
    ABSENT = "absent"


_BY_TYPE = {
    "string": Kind.TEXT,
    "integer": Kind.NUMBER,
    "number": Kind.NUMBER,
    "boolean": Kind.BOOLEAN,
    "null": Kind.NULL,
    "object": Kind.OBJECT,
    "array": Kind.LIST,
}


def kind_described(node: Described) -> Kind | None:
    """The kind that a subschema without alternatives asks for; None where it does not say."""
    if "enum" in node or "const" in node:
        return Kind.CHOICE
    name = node.get("type")
    if isinstance(name, str):
        return _BY_TYPE.get(name)
    if "properties" in node:
        return Kind.OBJECT
    return Kind.LIST if "items" in node or "prefixItems" in node else None


def kind_of(value: JSONValue) -> Kind:
    """The kind of a value of which nothing is said; null may become anything, so it is JSON."""
    match value:
        case None:
            return Kind.JSON
        case bool():
            return Kind.BOOLEAN
        case int() | float():
            return Kind.NUMBER
        case str():
            return Kind.TEXT
        case list():
            return Kind.LIST
        case dict():
            return Kind.OBJECT


def choices(node: Described) -> list[JSONValue]:
    """The values among which a CHOICE lets one choose."""
    if "const" in node:
        return [node["const"]]
    listed = node.get("enum")
    return listed if isinstance(listed, list) else []


def fits(node: Described, value: JSONValue) -> bool:
    """Whether a value is of the kind that a subschema asks for."""
    kind = kind_described(node)
    if kind is Kind.CHOICE:
        text = canonical(value)
        # What is written alike is equal; only 1 and true are equal and not written alike.
        return any(one == value and canonical(one) == text for one in choices(node))
    if kind is Kind.NULL:
        return value is None
    return value is not None and kind is kind_of(value)


TOLD = ("title", "description", "default", "enum", "const", "pattern", "format")
"""What a form repeats of a subschema wherever a value follows it."""
CHOICE_CHARS = 20
"""A choice of a list costs a page so many characters besides its own."""


class Schema:
    """A schema that `schema_faults` took, so its references are local and end.

    A subschema is read once, however many places of a value follow it.
    """

    def __init__(self, root: Mapping[str, JSONValue]) -> None:
        self.root = dict(root)
        self.read: dict[tuple[str, int], tuple[JSONValue, Any]] = {}
        """What was read of each subschema; it is kept too, so that nothing else gets its id."""

    def _once(self, name: str, node: JSONValue, read: Callable[[JSONValue], Any]) -> Any:
        key = (name, id(node))
        if key not in self.read:
            self.read[key] = (node, read(node))
        return self.read[key][1]

    def at(self, node: JSONValue) -> Described:
        """This subschema with its reference, and whatever else it requires, written out."""
        found: Described = self._once("at", node, self._at)
        return found

    def _at(self, node: JSONValue) -> Described:
        if not isinstance(node, dict):
            return {}
        parts = [*self._referred(node), *self._all_of(node)]
        said = {name: item for name, item in node.items() if name not in ("$ref", "allOf")}
        for part in parts:
            said = _both(said, part)
        return said

    def ways(self, node: JSONValue) -> list[Described]:
        """The alternatives of a place; one where the schema leaves no choice."""
        found: list[Described] = self._once("ways", node, self._few_ways)
        return found

    def _few_ways(self, node: JSONValue) -> list[Described]:
        found = list(islice(self._ways(self.at(node)), WAYS_MAX + 1))
        return found if len(found) <= WAYS_MAX else [{}]

    def weight(self, said: Described) -> int:
        """How many characters a field takes to tell what is said of it."""
        weight: int = self._once("weight", said, _weight)
        return weight

    def member(self, node: Described, name: str) -> JSONValue:
        """What is said of this member; False where it may not be."""
        properties, others = node.get("properties"), node.get("additionalProperties", {})
        if isinstance(properties, dict) and name in properties:
            return properties[name]
        # A pattern may say something of it, which only the engine knows.
        return {} if "patternProperties" in node else others

    def item(self, node: Described, index: int) -> JSONValue:
        """What is said of this item."""
        first = node.get("prefixItems")
        if isinstance(first, list) and index < len(first):
            return first[index]
        return node.get("items", {})

    def blank(self, node: JSONValue) -> str | None:
        """The JSON with which a new place begins; None where it is not said what belongs there."""
        found: str | None = self._once("blank", node, self._blank)
        return found

    def _blank(self, node: JSONValue) -> str | None:
        said = self.ways(node)[0]
        if "default" in said:
            return canonical(said["default"])
        match kind_described(said):
            case Kind.CHOICE:
                listed = choices(said)
                return canonical(listed[0]) if listed else None
            case Kind.OBJECT:
                return self._blank_object(said)
            case Kind.NUMBER:
                return canonical(_least(said))
            case None:
                return None
            case kind:
                return _BLANKS[kind]

    def _blank_object(self, said: Described) -> str:
        members = {name: self.blank(self.member(said, name)) for name in required(said)}
        return (
            "{" + ",".join(f"{canonical(n)}:{text or 'null'}" for n, text in members.items()) + "}"
        )

    def _ways(self, node: Described) -> Iterator[Described]:
        branches, types = node.get("anyOf", node.get("oneOf")), node.get("type")
        if "enum" in node or "const" in node:
            yield node
        elif isinstance(branches, list):
            rest = {name: node[name] for name in node.keys() - {"anyOf", "oneOf"}}
            for branch in branches:
                yield from self._ways(_both(rest, self.at(branch)))
        elif isinstance(types, list):
            for name in types:
                yield {**node, "type": name}
        else:
            yield node

    def _referred(self, node: Described) -> Iterator[Described]:
        reference = node.get("$ref")
        if isinstance(reference, str):
            found: JSONValue = self.root
            for part in parse_pointer(reference[1:]):
                found = found[int(part)] if isinstance(found, list) else _members(found)[part]
            yield self.at(found)

    def _all_of(self, node: Described) -> Iterator[Described]:
        parts = node.get("allOf")
        yield from (self.at(part) for part in parts) if isinstance(parts, list) else ()


_BLANKS = {Kind.TEXT: '""', Kind.BOOLEAN: "false", Kind.NULL: "null", Kind.LIST: "[]"}


def required(node: Described) -> list[str]:
    """The names of the members that an object has to have."""
    names = node.get("required")
    return [str(name) for name in names] if isinstance(names, list) else []


def _members(value: JSONValue) -> dict[str, JSONValue]:
    assert isinstance(value, dict), "a reference leads to a schema of its own document"
    return value


def _weight(said: JSONValue) -> int:
    told = _members(said)
    text = canonical({name: told[name] for name in TOLD if name in told})
    return len(text) + CHOICE_CHARS * len(choices(told))


def _both(said: Described, more: Described) -> Described:
    """Two descriptions of one place; what stands nearer to it goes first."""
    properties = {**_object(more, "properties"), **_object(said, "properties")}
    names: list[JSONValue] = [*dict.fromkeys([*required(said), *required(more)])]
    both = {**more, **said}
    if properties:
        both["properties"] = properties
    if names:
        both["required"] = names
    return both


def _object(node: Described, name: str) -> dict[str, JSONValue]:
    found = node.get(name)
    return found if isinstance(found, dict) else {}


def _least(said: Described) -> JSONValue:
    least = said.get("minimum")
    return least if isinstance(least, int | float) and least > 0 else 0
