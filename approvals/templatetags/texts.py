"""How times, digests and strangers' texts are written on pages; escaping is left to Django."""

from datetime import UTC, datetime

from django import template

from approvals.rules.visible import Segment, visible

register = template.Library()


@register.filter
def when(at: datetime) -> str:
    """An instant in UTC to the second, e.g. "2026-01-31 09:05:00 UTC"."""
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


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
