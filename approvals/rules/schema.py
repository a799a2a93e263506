"""JSON Schemas that an agent or an admin sends: which are taken, and what is wrong by them.

A schema runs inside a decision, on words of a stranger. So only draft 2020-12 with local,
non-recursive references is taken, nothing is ever fetched, and patterns run on an engine whose
time is linear in the text (contract §3, Policy).
"""

from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from itertools import islice

import jsonschema_rs

from placet.protocol.canonical import canonical
from placet.protocol.limits import SCHEMA_BYTES
from placet.protocol.pointers import parse_pointer, pointer
from placet.protocol.reading import JSONValue
from placet.protocol.refusals import Fault

FORBIDDEN = frozenset({"$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$id", "uniqueItems"})
SCHEMA_MAPS = frozenset({"properties", "patternProperties", "$defs", "dependentSchemas"})
DATA = frozenset({"enum", "const", "default", "examples", "required", "dependentRequired"})
_VOCABULARIES = """
    $schema $id $anchor $ref $dynamicRef $dynamicAnchor $vocabulary $comment $defs
    prefixItems items contains additionalProperties properties patternProperties dependentSchemas
    propertyNames if then else allOf anyOf oneOf not unevaluatedItems unevaluatedProperties
    type enum const multipleOf maximum exclusiveMaximum minimum exclusiveMinimum maxLength
    minLength pattern maxItems minItems uniqueItems maxContains minContains maxProperties
    minProperties required dependentRequired
    title description default deprecated readOnly writeOnly examples
    format contentEncoding contentMediaType contentSchema
"""
KEYWORDS = frozenset(_VOCABULARIES.split())
"""Every keyword of draft 2020-12."""
DIALECT = "https://json-schema.org/draft/2020-12/schema"
PATTERNS = jsonschema_rs.RegexOptions(size_limit=1_000_000, dfa_size_limit=1_000_000)
UNFOLDED_MAX = 2_000
"""Subschemas and required names of one schema, each reference written out in full."""
FAULTS_MAX = 20
"""So many faults of a value are named; a person mends no more at once."""
CHECKS_MAX = 50_000
"""Where a value may fail more checks than this, only its first fault is searched for."""

Path = tuple[str, ...]


def schema_faults(schema: JSONValue) -> tuple[Fault, ...]:
    """Why this is no schema that may be stored; pointers are into the schema."""
    if not isinstance(schema, dict):
        return (Fault("", "A schema has to be an object."),)
    if len(canonical(schema).encode()) > SCHEMA_BYTES:
        return (Fault("", f"A schema is at most {SCHEMA_BYTES} bytes in canonical form."),)
    places = dict(_subschemas(schema))
    if found := tuple(_place_faults(places)):
        return found
    try:
        _validator(schema)
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        return (_compile_fault(error),)
    return ()


def keyword_faults(schema: JSONValue) -> tuple[Fault, ...]:
    """The keywords that draft 2020-12 does not know, each at its place.

    A schema without its misspelled keyword fits more values than its author meant, so where that
    gives a right, nothing unknown is passed over.
    """
    unknown: set[Path] = set()
    for path, node in _subschemas(schema):
        assert isinstance(node, dict)
        if not any(path[:cut] in unknown for cut in range(1, len(path) + 1)):
            unknown.update((*path, name) for name in node.keys() - KEYWORDS)
    return tuple(
        Fault(pointer(path), f"“{path[-1]}” is no keyword of draft 2020-12.")
        for path in sorted(unknown)
    )


def value_faults(schema: dict[str, JSONValue], value: JSONValue) -> tuple[Fault, ...]:
    """What is wrong with a value by a schema that `schema_faults` took; pointers into the value.

    At most FAULTS_MAX are named, since each costs time and room. Messages name the rule and
    never repeat the value, which may be a secret.
    """
    validator = _validator(schema)
    if validator.is_valid(value):
        return ()
    # The engine gathers every error before it gives out the first.
    if _size(value) * _unfolded(dict(_subschemas(schema))) > CHECKS_MAX:
        try:
            validator.validate(value)
        except jsonschema_rs.ValidationError as error:
            return (_value_fault(error),)
    return tuple(_value_fault(error) for error in islice(validator.iter_errors(value), FAULTS_MAX))


def is_valid(schema: dict[str, JSONValue], value: JSONValue) -> bool:
    """Whether a value fits a schema that `schema_faults` took."""
    return _validator(schema).is_valid(value)


def _validator(schema: dict[str, JSONValue]) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(
        schema, validate_formats=False, pattern_options=PATTERNS, mask="the value", offline=True
    )


def _value_fault(error: jsonschema_rs.ValidationError) -> Fault:
    return Fault(pointer([str(part) for part in error.instance_path]), error.message)


def _size(value: JSONValue) -> int:
    """How many values this one holds, itself among them."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(_size(item) for item in inner)


def _compile_fault(error: Exception) -> Fault:
    path = [str(part) for part in getattr(error, "instance_path", ())]
    return Fault(pointer(path), getattr(error, "message", None) or str(error))


def _subschemas(node: JSONValue, path: Path = ()) -> Iterator[tuple[Path, JSONValue]]:
    """Every place of a schema that is a schema itself, by its path; data is passed over."""
    if isinstance(node, list):
        for index, item in enumerate(node):
            yield from _subschemas(item, (*path, str(index)))
    if not isinstance(node, dict):
        return
    yield path, node
    for name, item in node.items():
        here = (*path, name)
        if name in SCHEMA_MAPS and isinstance(item, dict):
            for member, below in item.items():
                yield from _subschemas(below, (*here, member))
        elif name not in DATA:
            yield from _subschemas(item, here)


def _place_faults(places: dict[Path, JSONValue]) -> Iterator[Fault]:
    for path, node in places.items():
        assert isinstance(node, dict)
        for name in sorted(FORBIDDEN & node.keys()):
            yield Fault(pointer((*path, name)), f"“{name}” is not allowed in a schema.")
        if node.get("$schema", DIALECT) != DIALECT:
            yield Fault(pointer((*path, "$schema")), f"The dialect has to be {DIALECT}.")
        if "$ref" in node and _target(node["$ref"]) not in places:
            yield Fault(
                pointer((*path, "$ref")),
                "A reference is “#” and a JSON Pointer to another schema in this one.",
            )
    try:
        if _unfolded(places) > UNFOLDED_MAX:
            yield Fault("", f"Written out in full this has more than {UNFOLDED_MAX} checks.")
    except CycleError as error:
        cycle: list[Path] = error.args[1]
        first = next(path for path in cycle if path in _targets(places))
        yield Fault(pointer((*first, "$ref")), "A reference may not lead back to itself.")


def _target(reference: JSONValue) -> Path | None:
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    try:
        return parse_pointer(reference[1:])
    except ValueError:
        return None


def _targets(places: dict[Path, JSONValue]) -> dict[Path, Path]:
    """Where each reference leads, of those that lead to a schema."""
    found: dict[Path, Path] = {}
    for path, node in places.items():
        target = _target(node["$ref"]) if isinstance(node, dict) and "$ref" in node else None
        if target is not None and target in places:
            found[path] = target
    return found


def _unfolded(places: dict[Path, JSONValue]) -> int:
    """The checks of a schema, each reference written out; CycleError where one never ends.

    References may multiply into more work than a decision may cost.
    """
    below: dict[Path, list[Path]] = {path: [] for path in places}
    for path in places:
        if path:
            above = next(path[:cut] for cut in range(len(path) - 1, -1, -1) if path[:cut] in below)
            below[above].append(path)
    for path, target in _targets(places).items():
        below[path].append(target)
    unfolded: dict[Path, int] = {}
    for path in TopologicalSorter(below).static_order():
        unfolded[path] = _own(places[path]) + sum(unfolded[part] for part in below[path])
    return unfolded[()]


def _own(node: JSONValue) -> int:
    """The checks at one place: itself, and every name that it requires."""
    assert isinstance(node, dict)
    required, dependent = node.get("required"), node.get("dependentRequired")
    lists = [required, *(dependent.values() if isinstance(dependent, dict) else ())]
    return 1 + sum(len(names) for names in lists if isinstance(names, list))
