"""In which language and time zone somebody reads: what they chose, else what is true for all."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils import timezone, translation
from django.utils.translation import gettext_lazy as _

ENGLISH = "en"
AREAS = ("Africa", "America", "Antarctica", "Arctic", "Asia", "Atlantic", "Australia", "Europe")
OCEANS = ("Indian", "Pacific")


@cache
def zone_names() -> frozenset[str]:
    """Every name of a time zone that this machine knows (IANA)."""
    return frozenset(available_timezones())


@cache
def zones_by_area() -> dict[str, tuple[ZoneInfo, ...]]:
    """The zones that are named after a place, by their part of the world, in order."""
    found: dict[str, list[ZoneInfo]] = {area: [] for area in (*AREAS, *OCEANS)}
    for name in sorted(zone_names()):
        area, _slash, place = name.partition("/")
        if place and area in found:
            found[area].append(ZoneInfo(name))
    return {area: tuple(zones) for area, zones in found.items() if zones}


def language_rule(code: str) -> None:
    """ValidationError unless the code is of a language that the pages speak; "" is no choice."""
    if code and code not in dict(settings.LANGUAGES):
        raise ValidationError(_("The pages do not speak this language."))


def zone_rule(name: str) -> None:
    """ValidationError unless this machine knows the time zone; "" is no choice."""
    if name and name not in zone_names():
        raise ValidationError(_("There is no time zone of this name."))


@contextmanager
def reading(language: str, time_zone: str) -> Iterator[None]:
    """All texts and times inside are for somebody of this language and zone; "" is English, UTC.

    A zone that was stored on a machine that knew it, and is not known here, is UTC as well: what
    a page says of a time always names its offset.
    """
    zone = ZoneInfo(time_zone if time_zone in zone_names() else "UTC")
    with translation.override(language or ENGLISH), timezone.override(zone):
        yield
