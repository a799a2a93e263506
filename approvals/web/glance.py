"""Questions at a glance, for lists: what their tool's display hint names, or all where short.

Large arguments are not loaded: what a hint names is read where it lies, in one query for all
rows, and without a hint a list says how long they are. The question's own page has them all.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from django.db import connection
from django.db.models import Case, F, QuerySet, TextField, When
from django.db.models.functions import Length
from django.db.models.lookups import LessThanOrEqual

from approvals.models import DisplayVersion, Interrupt
from approvals.rules.display import Hint, hint_for
from approvals.rules.glance import (
    VALUE_CHARS,
    Glance,
    Pair,
    Sort,
    hinted,
    is_masked,
    name_of,
    told,
    unshown,
    whole,
    within,
)
from approvals.rules.presentation import masked_value
from approvals.rules.visible import visible
from placet.protocol.pointers import parse_pointer
from placet.protocol.reading import JSONValue, read_json

SHORT_CHARS: Final = 400
"""Arguments are shown whole up to so many characters of what was asked, in canonical form."""
LOADED_CHARS: Final = 4000
"""Up to so many the text is loaded with the row; a longer one stays where it is."""

PLACES = """
SELECT wanted.id, wanted.number, names.all, json_typeof(there.value),
       length(CASE json_typeof(there.value)
              WHEN 'string' THEN there.text ELSE there.value::text END),
       CASE WHEN length(there.value::text) <= %(chars)s THEN there.value::text END
FROM unnest(%(ids)s::text[], %(numbers)s::int[], %(paths)s::text[])
     AS wanted (id, number, path)
JOIN approvals_interrupt ON approvals_interrupt.id = wanted.id
CROSS JOIN LATERAL (SELECT ARRAY(SELECT json_array_elements_text(wanted.path::json)) AS path) AS at
CROSS JOIN LATERAL (
    SELECT asked::json #> at.path AS value, asked::json #>> at.path AS text) AS there
CROSS JOIN LATERAL (
    SELECT ARRAY(SELECT json_object_keys(asked::json -> 'args')) AS all) AS names
"""
ESCAPED_CHARS: Final = 6 * VALUE_CHARS + 2
"""The most that a text of `VALUE_CHARS` can take in JSON, where a control character takes six."""


@dataclass(frozen=True, slots=True)
class _Found:
    """What lies at one place of a long call; `text` is None where it is too long for a row."""

    kind: str | None
    chars: int
    text: str | None


def with_glance(interrupts: "QuerySet[Interrupt]") -> "QuerySet[Interrupt]":
    """The rows without their large texts, but with what `glances` needs."""
    is_loaded = LessThanOrEqual(F("asked_chars"), LOADED_CHARS)
    return interrupts.defer("asked", "description", "args_schema", "response_schema").annotate(
        asked_chars=Length("asked"),
        loaded_asked=Case(When(is_loaded, then=F("asked")), output_field=TextField(null=True)),
    )


def glances(
    interrupts: Iterable[Interrupt], hints: Sequence[Hint], *, are_short_whole: bool = False
) -> dict[str, Glance]:
    """What a list says of each of these rows, which `with_glance` loaded, by id.

    `are_short_whole` shows all of short arguments in spite of a hint.
    """
    rows = list(interrupts)
    chosen = {row.pk: hint_for(hints, row.tool) for row in rows}
    long = _long({row.pk: hint for row in rows if not _asked(row) and (hint := chosen[row.pk])})
    found = {}
    for row in rows:
        hint, asked = chosen[row.pk], _asked(row)
        if asked is not None:
            found[row.pk] = glance_at(asked, row.sensitive, hint, is_short_whole=are_short_whole)
        elif hint is None or row.pk not in long:
            found[row.pk] = Glance(chars=row.asked_chars)  # type: ignore[attr-defined]
        else:
            found[row.pk] = _of_long(hint, row.sensitive, *long[row.pk])
    return found


def hints_of(tenant_id: int) -> tuple[Hint, ...]:
    """The tenant's display hints."""
    return DisplayVersion.hints_of(tenant_id)


def glance_at(
    asked: str, sensitive: Sequence[str], hint: Hint | None, *, is_short_whole: bool = False
) -> Glance:
    """What a list says of a call by its canonical text."""
    args = _args(asked)
    is_short = len(asked) <= SHORT_CHARS
    if not args:
        return Glance()
    if hint is None or (is_short and is_short_whole):
        return whole(args, sensitive) if is_short else Glance(chars=len(asked))
    return hinted(args, hint, sensitive)


def masked_args(asked: str, sensitive: list[str]) -> JSONValue:
    """The arguments in a canonical text of a question, masked."""
    return masked_value(_args(asked), sensitive)


def _asked(row: Interrupt) -> str | None:
    text: str | None = row.loaded_asked  # type: ignore[attr-defined]
    return text


def _args(asked: str) -> dict[str, JSONValue]:
    content = read_json(asked.encode())
    assert isinstance(content, dict)
    args = content["args"]
    assert isinstance(args, dict)
    return args


def _long(hints: dict[str, Hint]) -> dict[str, tuple[list[str], list[_Found]]]:
    """The names of all arguments, and what lies at the hint's places, of these rows by id."""
    wanted = [
        (pk, number, json.dumps(["args", *parse_pointer(at)]))
        for pk, hint in hints.items()
        for number, at in enumerate(hint.show)
    ]
    if not wanted:
        return {}
    ids, numbers, paths = (list(column) for column in zip(*wanted, strict=True))
    found: dict[str, tuple[list[str], list[_Found]]] = {}
    with connection.cursor() as cursor:
        cursor.execute(
            PLACES, {"ids": ids, "numbers": numbers, "paths": paths, "chars": ESCAPED_CHARS}
        )
        for pk, _, names, kind, chars, text in sorted(cursor.fetchall(), key=lambda one: one[:2]):
            found.setdefault(pk, (names, []))[1].append(_Found(kind, chars or 0, text))
    return found


def _of_long(hint: Hint, sensitive: Sequence[str], names: list[str], found: list[_Found]) -> Glance:
    pairs = tuple(_pair(at, sensitive, one) for at, one in zip(hint.show, found, strict=True))
    return Glance(pairs, more=unshown(hint, names))


def _pair(at: str, sensitive: Sequence[str], found: _Found) -> Pair:
    name = visible(name_of(at))
    if is_masked(at, sensitive):
        return Pair(name, Sort.MASKED)
    if found.kind is None:
        return Pair(name, Sort.ABSENT)
    if found.text is None:
        return Pair(name, Sort.LONG, chars=found.chars)
    return told(name_of(at), read_json(found.text.encode()), within(at, sensitive))
