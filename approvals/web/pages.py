"""How every page leaves: whole, or its part for htmx; never kept by a browser or a proxy."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.utils.cache import patch_vary_headers

from audit.record import Draft, Refused
from audit.refusals import note_refusal_for_tenant
from identity.models import User
from placet.protocol.refusals import RefusalCode
from runs.rules.refusal import COUNTED_ONLY, Refusal


def signed_in(request: HttpRequest) -> User:
    """The person whose session this is; the middleware lets nobody else in."""
    assert isinstance(request.user, User)
    return request.user


def page(
    request: HttpRequest, template: str, context: dict[str, Any], *, status: int = 200
) -> HttpResponse:
    """The page, or its content alone where htmx asks for what it will put into the open page."""
    name = f"{template}#content" if is_partial(request) else template
    response = render(request, name, context, status=status)
    response.headers["Cache-Control"] = "no-store"
    patch_vary_headers(response, ["Cookie", "HX-Request"])
    return response


def is_partial(request: HttpRequest) -> bool:
    """Whether htmx wants a part of a page; for whole pages it says that it was boosted."""
    headers = request.headers
    is_whole = "HX-Boosted" in headers or "HX-History-Restore-Request" in headers
    return headers.get("HX-Request") == "true" and not is_whole


def see(name: str, *args: str) -> HttpResponseRedirect:
    """Lead on to a page by GET, so that a reload repeats nothing."""
    response = redirect(name, *args)
    response.status_code = 303
    return response


def absent(request: HttpRequest, *, command: str, object_id: str) -> Http404:
    """What to raise for absent and foreign alike; a refused command goes on record."""
    if request.method == "POST":
        note(request, Refusal(code=RefusalCode.NOT_FOUND), command=command, object_id=object_id)
    return Http404()


def note(request: HttpRequest, refusal: Refusal, *, command: str, object_id: str) -> None:
    """Record a refusal that no run's record holds, in the tenant's own."""
    if refusal.is_recorded or refusal.code in COUNTED_ONLY:
        return
    user = signed_in(request)
    note_refusal_for_tenant(
        tenant_id=user.tenant_id,
        command=command,
        object_id=object_id[:100],
        draft=Draft(
            type="command.refused",
            actor=user.as_actor(),
            refused=Refused(refusal.code, given={"object": object_id[:100]}),
        ),
    )
