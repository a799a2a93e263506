"""How times, digests and strangers' texts are written on pages, escaped by Django."""

from collections.abc import Iterable
from datetime import UTC, datetime, tzinfo

from django import template
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import escape
from django.utils.safestring import SafeString
from django.utils.translation import pgettext

from approvals import names
from approvals.rules.visible import Segment, visible
from approvals.sentences import sentence

register = template.Library()


@register.filter
def when(at: datetime) -> str:
    """An instant to the second in the reader's zone and form, with its offset from UTC.

    E.g. "Jan 31, 2026, 17:05:00 UTC+08:00".
    """
    return _told(at, timezone.get_current_timezone())


@register.filter
def when_utc(at: datetime) -> str:
    """The same instant in UTC, for people who agree on one with others elsewhere."""
    return _told(at, UTC)


@register.filter
def is_elsewhere(at: datetime) -> bool:
    """Whether the reader's clock differs from UTC at this instant."""
    return bool(timezone.localtime(at).utcoffset())


@register.filter
def told(text: str) -> str:
    """A sentence of the protocol or the rules, such as a fault's, in the reader's language."""
    return sentence(text)


@register.filter
def run_state(state: str) -> str:
    """A run's state in words."""
    return names.named(names.RUN_STATES, state)


@register.filter
def question_state(state: str) -> str:
    """A question's state in words."""
    return names.named(names.QUESTION_STATES, state)


@register.filter
def decision(kind: str) -> str:
    """What people answered, in words."""
    return names.named(names.DECISIONS, kind)


@register.filter
def outcome(name: str) -> str:
    """What an agent says of its run, in words."""
    return names.named(names.OUTCOMES, name)


@register.filter
def action_state(state: str) -> str:
    """What is known of an action, in words."""
    return names.named(names.ACTION_STATES, state)


@register.filter
def report(name: str) -> str:
    """What an executor said became of its action, in words."""
    return names.named(names.REPORTS, name)


@register.filter
def finding(name: str) -> str:
    """What somebody found out about an action, in words."""
    return names.named(names.FINDINGS, name)


@register.filter
def evidence(kind: str) -> str:
    """What a finding rests on, in words."""
    return names.named(names.EVIDENCE, kind)


@register.filter
def role(name: str) -> str:
    """A person's role in words."""
    return names.named(names.ROLES, name)


@register.filter
def event_type(name: str) -> str:
    """A kind of event in words."""
    return names.named(names.EVENTS, name)


@register.filter
def iso(at: datetime) -> str:
    """An instant for machines (RFC 3339)."""
    return at.astimezone(UTC).isoformat()


@register.filter
def grouped(digest: str) -> str:
    """The first sixteen digits in groups of four, for reading aloud."""
    return " ".join(digest[at : at + 4] for at in range(0, 16, 4))


@register.filter
def spelled(text: str) -> tuple[Segment, ...]:
    """A stranger's text in pieces, with what hides spelled out."""
    return visible(text)


@register.filter
def written(pieces: Iterable[Segment] | None) -> SafeString:
    """Pieces of a text as markup, each mark with the character that it stands for.

    The one place outside the tree that makes markup of strangers' texts; all of them is escaped.
    In Python, since a template for each text took longer than the rest of a list.
    """
    return SafeString("".join(map(_piece, pieces or ())))


def _piece(piece: Segment) -> str:
    text = escape(piece.text)
    if piece.trait is None:
        return text
    stands_for = (
        "" if piece.code is None else f' data-code="{piece.code}" data-count="{piece.count}"'
    )
    end = "</span><br>" if piece.is_break else "</span>"
    return f'<span class="esc {piece.trait}"{stands_for} title="{escape(piece.title)}">{text}{end}'


def _told(at: datetime, zone: tzinfo) -> str:
    local = at.astimezone(zone)
    # Translators: a date and a time to the second, in the letters of Django's filter "date".
    form = pgettext("date and time", "M j, Y, H:i:s")
    return f"{date_format(local, form)} {_offset(local)}"


def _offset(local: datetime) -> str:
    text = local.strftime("%z")
    return "UTC" if text == "+0000" else f"UTC{text[:3]}:{text[3:5]}"
