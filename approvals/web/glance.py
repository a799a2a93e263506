"""A question at a glance, for lists: its tool and its whole arguments where those are short.

Long arguments are not loaded and never cut: a list says how long they are, and the question's
own page has them all.
"""

from dataclasses import dataclass
from typing import Final

from django.db.models import Case, F, QuerySet, TextField, When
from django.db.models.functions import Length
from django.db.models.lookups import LessThanOrEqual

from approvals.models import Interrupt
from approvals.rules.presentation import masked_value
from approvals.rules.visible import Segment, visible_json
from placet.protocol.canonical import canonical
from placet.protocol.reading import JSONValue, read_json

SHORT_CHARS: Final = 400


@dataclass(frozen=True, slots=True)
class Glance:
    """The arguments in canonical form, masked; without segments where they are long."""

    args: tuple[Segment, ...]
    chars: int
    is_empty: bool = False


def with_glance(interrupts: "QuerySet[Interrupt]") -> "QuerySet[Interrupt]":
    """The rows without their large texts, but with what `glance` needs."""
    short = LessThanOrEqual(F("asked_chars"), SHORT_CHARS)
    return interrupts.defer("asked", "description", "args_schema", "response_schema").annotate(
        asked_chars=Length("asked"),
        short_asked=Case(When(short, then=F("asked")), output_field=TextField(null=True)),
    )


def glance(interrupt: Interrupt) -> Glance:
    """What a list says of the arguments of a row loaded by `with_glance`."""
    asked: str | None = interrupt.short_asked  # type: ignore[attr-defined]
    chars: int = interrupt.asked_chars  # type: ignore[attr-defined]
    return Glance((), chars) if asked is None else glance_at(asked, interrupt.sensitive)


def glance_at(asked: str, sensitive: list[str]) -> Glance:
    """What a list says of the arguments in a canonical text of a question."""
    if len(asked) > SHORT_CHARS:
        return Glance((), len(asked))
    args = masked_args(asked, sensitive)
    return Glance(visible_json(canonical(args)), len(asked), is_empty=not args)


def masked_args(asked: str, sensitive: list[str]) -> JSONValue:
    """The arguments in a canonical text of a question, masked."""
    content = read_json(asked.encode())
    assert isinstance(content, dict)
    return masked_value(content["args"], sensitive)
