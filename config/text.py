"""Refuses text that is not UTF-8, which Django would silently replace by other characters.

An edit is an approval of exactly what was sent, so nothing in it may be replaced on the way.
"""

from collections.abc import Callable
from urllib.parse import unquote_to_bytes

from django.http import HttpRequest, HttpResponse

from config.errors import not_text

URL_ENCODED = "application/x-www-form-urlencoded"
FORMS = (URL_ENCODED, "multipart/form-data")


class TextOnly:
    """Lets only requests through whose query and form fields are UTF-8."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        query = unquote_to_bytes(request.META.get("QUERY_STRING", ""))
        if _is_text(query) and _is_text(_form(request)):
            return self.get_response(request)
        return not_text(request)


def _form(request: HttpRequest) -> bytes:
    if request.content_type not in FORMS:
        return b""
    is_encoded = request.content_type == URL_ENCODED
    return unquote_to_bytes(request.body) if is_encoded else request.body


def _is_text(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True
