"""The tree of a value in words: what each line holds, and what is remarkable at a place."""

from collections.abc import Iterator
from typing import Final

from django import template
from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from approvals.rules.presentation import Found, Kind, Notice, Row
from approvals.rules.visible import Trait

register = template.Library()

CODES_SHOWN: Final = 6
"""A notice names so many code points; how many more there are stands behind them."""


@register.filter
def kind_words(row: Row) -> str:
    """What a line of the tree holds, how much of it, and how deep it lies."""
    words = _kind(row.kind, row.size)
    if row.level is None:
        return words
    return gettext("%(kind)s, level %(level)d") % {"kind": words, "level": row.level}


@register.filter
def sentences(notice: Notice) -> Iterator[str]:
    """What a reader has to know of one place, a sentence for each thing."""
    return (_sentence(found) for found in notice.found)


def _kind(kind: Kind, size: int | None) -> str:
    if not size:
        return str((PLAIN if size is None else EMPTY)[kind])
    match kind:
        case Kind.LIST:
            words = ngettext("list, %(n)s item", "list, %(n)s items", size)
        case Kind.OBJECT:
            words = ngettext("object, %(n)s member", "object, %(n)s members", size)
        case _:
            words = ngettext("text, %(n)s character", "text, %(n)s characters", size)
    return words % {"n": intcomma(size)}


PLAIN: Final = {
    Kind.TEXT: _("text"),
    Kind.NUMBER: _("number"),
    Kind.BOOLEAN: _("true or false"),
    Kind.NULL: _("null"),
    Kind.MASKED: _("masked"),
}
EMPTY: Final = {
    Kind.TEXT: _("text, empty"),
    Kind.LIST: _("list, empty"),
    Kind.OBJECT: _("object, empty"),
}
WORDS: Final = {
    Trait.DIRECTION: _("Has characters that change the direction of reading: %(codes)s."),
    Trait.RIGHT_TO_LEFT: _(
        "Has letters that are read from right to left; here they stand as sent."
    ),
    Trait.INVISIBLE: _("Has characters that cannot be seen: %(codes)s."),
    Trait.CONTROL: _("Has control characters for terminals, printers or line ends: %(codes)s."),
    Trait.LAYOUT: _("Has characters that lay out those beside them: %(codes)s."),
    Trait.SPACE: _("Has blanks or line ends of an unusual kind: %(codes)s."),
    Trait.BLANKS: _("Has blanks or line ends in a long row, shown as a count."),
    Trait.EDGE: _("Begins or ends with a blank."),
    Trait.UNKNOWN: _("Has characters without a meaning that everybody shares: %(codes)s."),
    Trait.COMBINING: _("Has signs that are drawn onto the character before them: %(codes)s."),
    Trait.LOOKALIKE: _("Has characters that look like others: %(codes)s."),
    Trait.MIXED: _("Has letters of another script inside a word: %(codes)s."),
    Trait.IMITATION: _("Has ordinary letters that look like an escape or a mark of this page."),
    Trait.TWIN: _("The name looks like that of another member beside it."),
}
"""What to say of each thing that is found in a text, with its code points."""


def _sentence(found: Found) -> str:
    return str(WORDS[found.trait]) % {"codes": _codes(found.codes)}


def _codes(codes: tuple[int, ...]) -> str:
    named = ", ".join(f"U+{code:04X}" for code in codes[:CODES_SHOWN])
    more = len(codes) - CODES_SHOWN
    return f"{named} (+{more})" if more > 0 else named
