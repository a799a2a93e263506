"""JSON Schemas that an agent or an admin sends: which are taken, and what is wrong by them.

A schema runs inside a decision, on words of a stranger. So only draft 2020-12 with local,
non-recursive references is taken, nothing is ever fetched, and patterns run on an engine whose
time is linear in the text (contract §3, Policy).
"""

from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter

import jsonschema_rs

from placet.protocol.canonical import canonical
from placet.protocol.limits import SCHEMA_BYTES
from placet.protocol.pointers import parse_pointer, pointer
from placet.protocol.reading import JSONValue
from placet.protocol.refusals import Fault

FORBIDDEN = frozenset({"$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$id", "uniqueItems"})
SCHEMA_MAPS = frozenset({"properties", "patternProperties", "$defs", "dependentSchemas"})
DATA = frozenset({"enum", "const", "default", "examples", "required", "dependentRequired"})
DIALECT = "https://json-schema.org/draft/2020-12/schema"
PATTERNS = jsonschema_rs.RegexOptions(size_limit=1_000_000, dfa_size_limit=1_000_000)
UNFOLDED_MAX = 10_000
"""Subschemas that one value may be checked against, each reference written out in full."""

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


def value_faults(schema: dict[str, JSONValue], value: JSONValue) -> tuple[Fault, ...]:
    """What is wrong with a value by a schema that `schema_faults` took; pointers into the value.

    Messages name the rule and never repeat the value, which may be a secret.
    """
    errors = _validator(schema).iter_errors(value)
    return tuple(
        Fault(pointer([str(part) for part in error.instance_path]), error.message)
        for error in errors
    )


def is_valid(schema: dict[str, JSONValue], value: JSONValue) -> bool:
    """Whether a value fits a schema that `schema_faults` took."""
    return _validator(schema).is_valid(value)


def _validator(schema: dict[str, JSONValue]) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(
        schema, validate_formats=False, pattern_options=PATTERNS, mask="the value", offline=True
    )


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
    targets: dict[Path, Path] = {}
    for path, node in places.items():
        assert isinstance(node, dict)
        for name in sorted(FORBIDDEN & node.keys()):
            yield Fault(pointer((*path, name)), f"“{name}” is not allowed in a schema.")
        if node.get("$schema", DIALECT) != DIALECT:
            yield Fault(pointer((*path, "$schema")), f"The dialect has to be {DIALECT}.")
        if "$ref" in node:
            target = _target(node["$ref"])
            if target not in places:
                yield Fault(
                    pointer((*path, "$ref")),
                    "A reference is “#” and a JSON Pointer to another schema in this one.",
                )
            else:
                targets[path] = target
    yield from _reference_faults(places, targets)


def _target(reference: JSONValue) -> Path | None:
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    try:
        return parse_pointer(reference[1:])
    except ValueError:
        return None


def _reference_faults(places: dict[Path, JSONValue], targets: dict[Path, Path]) -> Iterator[Fault]:
    """Cycles, and references that multiply into more work than a decision may cost."""
    below: dict[Path, list[Path]] = {path: [] for path in places}
    for path in places:
        if path:
            above = next(path[:cut] for cut in range(len(path) - 1, -1, -1) if path[:cut] in below)
            below[above].append(path)
    for path, target in targets.items():
        below[path].append(target)
    unfolded: dict[Path, int] = {}
    try:
        for path in TopologicalSorter(below).static_order():
            unfolded[path] = 1 + sum(unfolded[part] for part in below[path])
    except CycleError as error:
        cycle: list[Path] = error.args[1]
        first = next(path for path in cycle if path in targets)
        yield Fault(pointer((*first, "$ref")), "A reference may not lead back to itself.")
        return
    if unfolded[()] > UNFOLDED_MAX:
        yield Fault("", f"Written out in full this has more than {UNFOLDED_MAX} schemas.")
