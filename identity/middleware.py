"""Default deny: whoever is not signed in gets the login page, unless a view says otherwise."""

from collections.abc import Callable
from typing import Any

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import resolve_url
from django_htmx.http import HttpResponseClientRedirect

View = Callable[..., HttpResponse]


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
