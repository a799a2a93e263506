"""A person's own settings: in which language and time zone they read."""

from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from django.conf import settings
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from identity.languages import zones_by_area
from identity.models import User


@dataclass(frozen=True, slots=True)
class Zone:
    """One time zone to choose: its name, and how far it is from UTC now."""

    name: str
    offset: str


@require_http_methods(["GET", "HEAD", "OPTIONS", "POST"])
def you(request: HttpRequest) -> HttpResponse:
    """The signed-in person's language and time zone."""
    user = request.user
    assert isinstance(user, User)
    faults: dict[str, list[str]] = {}
    if request.method == "POST":
        chosen = {name: request.POST.get(name, "") for name in ("language", "time_zone")}
        try:
            user.read_in(**chosen)
            return _again()
        except ValidationError as error:
            faults = error.message_dict
    context = {
        "languages": settings.LANGUAGES,
        "areas": {area: [_zone(zone) for zone in zones] for area, zones in zones_by_area().items()},
        "faults": faults,
        "is_saved": "saved" in request.GET,
    }
    response = render(request, "settings/you.html", context, status=422 if faults else 200)
    response.headers["Cache-Control"] = "no-store"
    return response


def _again() -> HttpResponse:
    response = redirect(f"{reverse('you')}?saved")
    response.status_code = 303
    return response


def _zone(zone: ZoneInfo) -> Zone:
    text = datetime.now(UTC).astimezone(zone).strftime("%z")
    return Zone(zone.key, f"UTC{text[:3]}:{text[3:]}")
