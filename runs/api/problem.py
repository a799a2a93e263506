"""A refusal on the wire: `application/problem+json` (RFC 9457) with the contract's code."""

from typing import Any

from ninja import Schema

from placet.protocol.canonical import canonical
from placet.protocol.reading import JSONValue
from runs.rules.refusal import Refusal

MEDIA_TYPE = "application/problem+json"


class FaultOut(Schema):
    """One thing that is wrong, and where (RFC 6901)."""

    pointer: str
    message: str


class ProblemOut(Schema):
    """A refusal (RFC 9457)."""

    type: str
    title: str
    status: int
    code: str
    detail: str | None = None
    current: dict[str, Any] | None = None
    errors: list[FaultOut] | None = None
    kept: bool | None = None


PROBLEMS = dict.fromkeys((400, 401, 403, 404, 409, 413, 422, 429), ProblemOut)


def problem_text(refusal: Refusal) -> str:
    """The body: code, what happened, what is true instead, and each fault with its pointer."""
    body: dict[str, JSONValue] = {
        "type": "about:blank",
        "title": refusal.code.sentence,
        "status": refusal.code.status,
        "code": refusal.code.value,
    }
    if refusal.detail:
        body["detail"] = refusal.detail
    if refusal.current:
        body["current"] = dict(refusal.current)
    if refusal.faults:
        body["errors"] = [
            {"pointer": fault.pointer, "message": fault.message} for fault in refusal.faults
        ]
    if refusal.is_kept:
        body["kept"] = True
    return canonical(body)


def problem_headers(refusal: Refusal) -> dict[str, str]:
    """The headers that go with it."""
    headers = {"Cache-Control": "no-store"}
    if refusal.retry_after_s is not None:
        headers["Retry-After"] = str(refusal.retry_after_s)
    if refusal.code.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return headers
