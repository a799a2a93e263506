"""Who may come in, and in which language they read.

Default deny: whoever is not signed in gets the login page, unless a view says otherwise.
"""

from collections.abc import Callable
from typing import Any

from django.contrib.auth.views import redirect_to_login
from django.db import Error as DatabaseFailure
from django.http import HttpRequest, HttpResponse
from django.shortcuts import resolve_url
from django.utils.cache import patch_vary_headers
from django.utils.translation import get_language, get_language_from_request
from django_htmx.http import HttpResponseClientRedirect

from identity.languages import ENGLISH, reading

View = Callable[..., HttpResponse]
FOR_MACHINES = ("/api/", "/healthz", "/readyz", "/metrics", "/.well-known/")
"""Paths whose answers are for programs: always English, whatever language a header asks for."""


def public(view: View) -> View:
    """Mark a view as open to everybody; a contract test holds the list of those."""
    view.is_public = True  # type: ignore[attr-defined]
    return view


def _has_keys(request: HttpRequest) -> bool:
    """Whether the route belongs to the API, which lets in nobody without a key by itself."""
    return request.resolver_match is not None and "ninja" in request.resolver_match.app_names


class SignedInOnly:
    """Lets only signed-in people reach views that are not public."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: View, args: list[Any], kwargs: dict[str, Any]
    ) -> HttpResponse | None:
        """Send strangers to the login page; into a panel of a page goes a full redirect."""
        if getattr(view, "is_public", False) or _has_keys(request):
            return None
        if request.user.is_authenticated:
            return None
        if request.headers.get("HX-Request") == "true":
            return HttpResponseClientRedirect(resolve_url("account_login"))
        return redirect_to_login(request.get_full_path())


class InOwnLanguage:
    """Speaks a person's language and tells times in their zone, on every page and error page.

    What they chose comes first, then what the browser asks for; a zone is only ever chosen.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path.startswith(FOR_MACHINES):
            with reading(ENGLISH, ""):
                return self.get_response(request)
        chosen, time_zone = _choice(request)
        with reading(chosen or get_language_from_request(request), time_zone):
            response = self.get_response(request)
            response.headers["Content-Language"] = get_language() or ENGLISH
        patch_vary_headers(response, ["Accept-Language", "Cookie"])
        return response


def _choice(request: HttpRequest) -> tuple[str, str]:
    """The language and zone that the person of this session chose, "" for each not chosen.

    While the database is away nobody's choice is known, and the page that says so still leaves.
    """
    try:
        if request.user.is_authenticated:
            return request.user.language, request.user.time_zone
    except DatabaseFailure:
        pass
    return "", ""
