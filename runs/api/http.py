"""HTTP for agents: keys, strict bodies, refusals, idempotent effects; one API object for all.

Every body is read by the strict reader and every answer is canonical JSON, so that what the API
returns can be sent back and has the same digest.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.db import transaction
from django.http import HttpRequest, HttpResponse, UnreadablePostError
from django.utils.encoding import escape_uri_path
from ninja.errors import HttpError, ValidationError
from ninja.parser import Parser
from ninja.security import HttpBearer

from audit import record
from audit.record import Draft
from audit.refusals import note_refusal_for_tenant
from identity.models import AgentKey
from identity.roles import Scope
from placet.protocol import limits
from placet.protocol.canonical import canonical
from placet.protocol.digest import sha256_hex
from placet.protocol.pointers import pointer
from placet.protocol.reading import InvalidJSON, JSONValue, read_json
from placet.protocol.refusals import Fault, RefusalCode
from runs.api.bodies import TOO_LARGE
from runs.api.description import DescribedAPI
from runs.api.docs import PlainDocs
from runs.api.problem import MEDIA_TYPE, problem_headers, problem_text
from runs.api.rate import Buckets
from runs.ids import is_id
from runs.models import IdempotencyRecord
from runs.rules.refusal import COUNTED_ONLY, Refusal, invalid


class Refused(Exception):
    """Carries a refusal out of the plumbing, before or around a command, to its one handler."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.code)
        self.refusal = refusal


@dataclass(frozen=True, slots=True)
class Reply:
    """What a command's endpoint answers: a status and a value, or a refusal."""

    status: int
    value: JSONValue = None
    refusal: Refusal | None = None

    @classmethod
    def no(cls, refusal: Refusal) -> "Reply":
        """The reply of a refused command."""
        return cls(refusal.code.status, refusal=refusal)


class AgentKeys(HttpBearer):
    """Reads `Authorization: Bearer <key>`; the key's row becomes `request.auth`."""

    def __call__(self, request: HttpRequest) -> AgentKey:
        """The key's row, or the first refusal of the contract's order."""
        header = request.headers.get("Authorization", "")
        scheme, _, token = header.partition(" ")
        token = token.strip()
        key = AgentKey.holder(token) if scheme.lower() == "bearer" and token else None
        if key is None:
            raise Refused(Refusal(code=RefusalCode.UNAUTHENTICATED))
        if refusal := too_often(key.digest):
            raise Refused(refusal)
        return key

    def authenticate(self, request: HttpRequest, token: str) -> AgentKey | None:
        """Not used: `__call__` does it all, to keep the order of refusals."""
        return None


@cache
def _buckets() -> Buckets | None:
    rate = settings.PLACET_RATE_AGENT
    return Buckets(rate.count, rate.period_s) if rate else None


def too_often(key_digest: str) -> Refusal | None:
    """The refusal of a key that makes too many requests; counts this one."""
    buckets = _buckets()
    wait_s = buckets.take(key_digest) if buckets else 0.0
    if not wait_s:
        return None
    return Refusal(code=RefusalCode.RATE_LIMITED, retry_after_s=math.ceil(wait_s))


class StrictParser(Parser):
    """Reads bodies as I-JSON objects; anything else is refused with its pointer."""

    def parse_body(self, request: HttpRequest) -> dict[str, Any]:
        """The body's object; raises Refused."""
        if len(request.body) > limits.BODY_BYTES:
            raise Refused(Refusal(code=RefusalCode.TOO_LARGE))
        try:
            value = read_json(request.body)
        except InvalidJSON as error:
            raise Refused(unreadable(error)) from None
        if not isinstance(value, dict):
            raise Refused(invalid("", "The body has to be a JSON object."))
        return value


def unreadable(error: InvalidJSON) -> Refusal:
    """The refusal of bytes that are no I-JSON."""
    return Refusal(
        code=RefusalCode.INVALID_JSON, detail=error.faults[0].message, faults=error.faults
    )


api = DescribedAPI(
    title="Placet",
    version="1",
    description=(
        "An agent asks before it does something with consequences; people answer; the agent may "
        "then do that and nothing else, once. Refusals are `application/problem+json` with a "
        "`code`."
    ),
    urls_namespace="agents",
    auth=AgentKeys(),
    parser=StrictParser(),
    docs=PlainDocs(),
)


def key_of(request: HttpRequest) -> AgentKey:
    """The key's row, with its agent and tenant."""
    key: AgentKey = request.auth  # type: ignore[attr-defined]
    return key


def require(request: HttpRequest, *scopes: Scope) -> AgentKey:
    """The request's key, which has to have one of these scopes; raises Refused.

    To be asked after the look-up: what does not exist is told before what is not permitted.
    """
    key = key_of(request)
    if not any(scope in key.scopes for scope in scopes):
        names = " or ".join(scopes)
        raise Refused(
            Refusal(code=RefusalCode.NOT_PERMITTED, detail=f"The key needs the scope {names}.")
        )
    return key


def not_found() -> Refused:
    """Absent and foreign look alike: one body, no difference."""
    return Refused(Refusal(code=RefusalCode.NOT_FOUND))


def answer(reply: Reply) -> HttpResponse:
    """An answer without side effect, in canonical JSON."""
    if reply.refusal is not None:
        raise Refused(reply.refusal)
    return _json(canonical(reply.value), reply.status)


def effect(request: HttpRequest, command: Callable[[], Reply]) -> HttpResponse:
    """Carry a command out, once a given `Idempotency-Key`, and answer."""
    key = _idempotency_key(request)
    if key is None:
        return answer(command())
    if not _names_something(request):
        raise not_found()
    agent = request.auth.agent  # type: ignore[attr-defined]
    with transaction.atomic():
        record = IdempotencyRecord.claim(
            agent,
            method=request.method or "",
            path=request.path,
            key=key,
            body_sha256=_body_digest(request),
        )
        if isinstance(record, Refusal):
            reply = Reply.no(record)
        elif record.status:
            return _json(record.body, 200, {"Idempotency-Replayed": "true"})
        else:
            reply = command()
            if reply.refusal is None:
                record.fill(status=reply.status, body=canonical(reply.value))
            else:
                record.delete()
    return answer(reply)


def _names_something(request: HttpRequest) -> bool:
    """Whether the ids of the path have the form of ids; under no other path is a key kept."""
    match = request.resolver_match
    return match is not None and all(is_id(text) for text in match.kwargs.values())


def _idempotency_key(request: HttpRequest) -> str | None:
    key = request.headers.get("Idempotency-Key")
    if key is None:
        return None
    is_visible = all("!" <= char <= "~" for char in key)
    if not is_visible or not 1 <= len(key) <= limits.IDEMPOTENCY_KEY_MAX_CHARS:
        raise Refused(
            invalid("", "An Idempotency-Key is 1 to 255 visible ASCII characters, without blanks.")
        )
    return key


def _body_digest(request: HttpRequest) -> str:
    return sha256_hex(canonical(read_json(request.body)) if request.body else "")


def _json(text: str, status: int, headers: dict[str, str] | None = None) -> HttpResponse:
    return HttpResponse(
        text,
        status=status,
        content_type="application/json",
        headers={"Cache-Control": "no-store", **(headers or {})},
    )


def refuse(request: HttpRequest, refusal: Refusal) -> HttpResponse:
    """The HTTP form of a refusal; one that no run's record holds goes to the tenant's record."""
    key: AgentKey | None = getattr(request, "auth", None)
    path = escape_uri_path(request.path)[-100:]
    if key is not None and not refusal.is_recorded and refusal.code not in COUNTED_ONLY:
        note_refusal_for_tenant(
            tenant_id=key.agent.tenant_id,
            command=f"{request.method} {_route(request)}",
            object_id=path,
            draft=Draft(
                type="command.refused",
                actor=key.agent.as_actor(),
                agent_id=key.agent_id,
                refused=record.Refused(
                    refusal.code,
                    given={"path": path},
                    current=refusal.current,
                ),
            ),
        )
    return HttpResponse(
        problem_text(refusal),
        status=refusal.code.status,
        content_type=MEDIA_TYPE,
        headers=problem_headers(refusal),
    )


def _route(request: HttpRequest) -> str:
    match = request.resolver_match
    return match.route if match else ""


@api.exception_handler(Refused)
def _on_refused(request: HttpRequest, error: Refused) -> HttpResponse:
    return refuse(request, error.refusal)


@api.exception_handler(HttpError)
def _on_unparsed(request: HttpRequest, error: HttpError) -> HttpResponse:
    # ninja wraps whatever its parser raises.
    cause = error.__cause__
    if isinstance(cause, Refused):
        return refuse(request, cause.refusal)
    return refuse(request, invalid("", "The request could not be read."))


@api.exception_handler(RequestDataTooBig)
@api.exception_handler(UnreadablePostError)
def _on_too_large(request: HttpRequest, error: Exception) -> HttpResponse:
    return refuse(request, Refusal(code=RefusalCode.TOO_LARGE))


@api.exception_handler(ValidationError)
def _on_invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    if not request.body and any(fault["loc"][0] == "body" for fault in error.errors):
        return refuse(
            request,
            Refusal(
                code=RefusalCode.INVALID_JSON,
                detail="The body is empty; it has to be a JSON object.",
                faults=(Fault("", "The body is empty."),),
            ),
        )
    faults = tuple(_fault(fault) for fault in error.errors)
    if large := next((fault for fault in error.errors if fault["type"] == TOO_LARGE), None):
        return refuse(request, Refusal(code=RefusalCode.TOO_LARGE, detail=large["msg"]))
    return refuse(
        request,
        Refusal(code=RefusalCode.INVALID_REQUEST, detail=faults[0].message, faults=faults),
    )


def _fault(error: dict[str, Any]) -> Fault:
    where: Sequence[str | int] = error["loc"]
    inside = where[2:] if where[0] == "body" else where[-1:]
    return Fault(pointer(inside), str(error["msg"]))
