"""The last resort: pages for what no view caught; `config.problems` tells agents the same."""

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from approvals.sentences import sentence
from placet.protocol.refusals import RefusalCode


def csrf_failed(request: HttpRequest, reason: str = "") -> HttpResponse:
    """The form is too old, or came from elsewhere."""
    return _page(
        request,
        status=403,
        title=_("This form can no longer be sent"),
        text=_(
            "You may have signed in again since the page was opened. Nothing was changed. "
            "Open the page again and repeat what you did."
        ),
    )


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Something that no view could read: too much of it, or nothing that a form sends."""
    if isinstance(exception, RequestDataTooBig):
        return _page(
            request,
            status=RefusalCode.TOO_LARGE.status,
            title=sentence(RefusalCode.TOO_LARGE.sentence),
            text=_("Nothing was changed. Open the page again and send less."),
            code=RefusalCode.TOO_LARGE,
        )
    return _page(
        request,
        status=400,
        title=_("This request could not be read"),
        text=_("Nothing was changed. Open the page again and repeat what you did."),
    )


def not_text(request: HttpRequest) -> HttpResponse:
    """Bytes that are no UTF-8, which nothing may replace by other characters."""
    return _page(
        request,
        status=RefusalCode.INVALID_REQUEST.status,
        title=_("What was sent is not text in UTF-8"),
        text=_("Nothing was changed. Open the page again and repeat what you did."),
        code=RefusalCode.INVALID_REQUEST,
    )


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Absent and foreign alike."""
    return _page(
        request,
        status=404,
        title=_("There is nothing here that you can see"),
        text=_("The address may be wrong, or what was here is for other people."),
        code=RefusalCode.NOT_FOUND,
    )


def broken(request: HttpRequest) -> HttpResponse:
    """Something failed on our side."""
    return _page(
        request,
        status=500,
        title=_("Something went wrong on our side"),
        text=_(
            "It is not known whether what you sent was recorded. Open the page again: it shows "
            "how things stand."
        ),
    )


def _page(
    request: HttpRequest, *, status: int, title: str, text: str, code: RefusalCode | None = None
) -> HttpResponse:
    """A whole page; or its message alone, for the place that the open page keeps for it."""
    is_repeatable = request.method == "POST" and status != RefusalCode.NOT_FOUND.status
    again = request.path if is_repeatable else None  # what a form posts to leads on by GET
    context = {"title": title, "text": text, "code": code, "again": again}
    is_part = request.headers.get("HX-Request") == "true" and "HX-Boosted" not in request.headers
    response = render(request, "error.html#message" if is_part else "error.html", context)
    response.status_code = status
    response.headers["Cache-Control"] = "no-store"
    if is_part:
        response.headers["HX-Retarget"] = "#notice"
        response.headers["HX-Reswap"] = "innerHTML"
    return response
