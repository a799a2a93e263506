"""Every error under /api/ leaves as a problem with a code, also those that no view ever saw."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from placet.protocol.canonical import canonical
from placet.protocol.reading import JSONValue
from placet.protocol.refusals import RefusalCode
from runs.api.problem import MEDIA_TYPE, problem_headers, problem_text
from runs.rules.refusal import Refusal

API = "/api/"
CODES = {
    400: RefusalCode.INVALID_REQUEST,
    404: RefusalCode.NOT_FOUND,
    422: RefusalCode.INVALID_REQUEST,
}


class APIProblems:
    """Puts the errors of Django and ninja into the API's own form (RFC 9457)."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        is_error = request.path.startswith(API) and response.status_code >= 400
        if not is_error or response.headers["Content-Type"] == MEDIA_TYPE:
            return response
        return _problem(response)


def _problem(response: HttpResponse) -> HttpResponse:
    if code := CODES.get(response.status_code):
        refusal = Refusal(code=code)
        return HttpResponse(
            problem_text(refusal),
            status=code.status,
            content_type=MEDIA_TYPE,
            headers=problem_headers(refusal),
        )
    body: dict[str, JSONValue] = {
        "type": "about:blank",
        "title": response.reason_phrase,
        "status": response.status_code,
    }
    if response.status_code == 405:
        body["code"] = RefusalCode.INVALID_REQUEST.value
    kept = {name: response.headers[name] for name in ("Allow", "Retry-After") if name in response}
    return HttpResponse(
        canonical(body),
        status=response.status_code,
        content_type=MEDIA_TYPE,
        headers={"Cache-Control": "no-store", **kept},
    )
