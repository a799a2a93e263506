"""The last resort: answers for what no view caught, as a page or as a problem."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from placet.protocol.refusals import RefusalCode
from runs.api.problem import MEDIA_TYPE, problem_headers, problem_text
from runs.rules.refusal import Refusal

API = "/api/"


def csrf_failed(request: HttpRequest, reason: str = "") -> HttpResponse:
    """The form is too old, or came from elsewhere."""
    return _page(
        request,
        status=403,
        title="This form can no longer be sent",
        text="You may have signed in again since the page was opened. Nothing was changed. "
        "Open the page again and repeat what you did.",
    )


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Absent and foreign alike."""
    if request.path.startswith(API):
        refusal = Refusal(code=RefusalCode.NOT_FOUND)
        return HttpResponse(
            problem_text(refusal),
            status=404,
            content_type=MEDIA_TYPE,
            headers=problem_headers(refusal),
        )
    return _page(
        request,
        status=404,
        title="There is nothing here that you can see",
        text="The address may be wrong, or what was here is for other people.",
    )


def broken(request: HttpRequest) -> HttpResponse:
    """Something failed on our side."""
    return _page(
        request,
        status=500,
        title="Something went wrong on our side",
        text="It is not known whether what you sent was recorded. Open the page again: it shows "
        "how things stand.",
    )


def _page(request: HttpRequest, *, status: int, title: str, text: str) -> HttpResponse:
    context = {"title": title, "text": text, "status": status}
    if request.headers.get("HX-Request") == "true":
        return render(request, "error.html#message", context, status=status)
    return render(request, "error.html", context, status=status)
