"""Pages of webhooks: admins make and change them, auditors look."""

import json
from collections.abc import Callable
from enum import StrEnum
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from audit.record import Draft, Refused
from audit.refusals import note_refusal_for_tenant
from identity.models import User
from identity.roles import Role
from placet.protocol.refusals import RefusalCode
from webhooks.access import CHANGE, SEE, reach_delivery, reach_endpoint
from webhooks.models import Endpoint
from webhooks.rules.kinds import CHOICES, DisabledBecause
from webhooks.web.forms import SPANS_H, Typed, since
from webhooks.web.lists import FAILED, attempts, deliveries, fares

Given = ParamSpec("Given")
View = Callable[Concatenate[HttpRequest, User, Given], HttpResponse]


class Said(StrEnum):
    """What the page says after a form did what it should."""

    SAVED = "saved"
    TEST_SENT = "test_sent"
    DISABLED = "disabled"
    ENABLED = "enabled"
    RESENT = "resent"
    NOTHING = "nothing"
    IS_DISABLED = "is_disabled"


def _for(roles: frozenset[Role]) -> Callable[[View[Given]], Callable[..., HttpResponse]]:
    """Let in only people with one of these roles; the refusal of a form goes on record.

    For whoever may not see a webhook it is absent.
    """

    def guard(view: View[Given]) -> Callable[..., HttpResponse]:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Given.args, **named: Given.kwargs) -> HttpResponse:
            user = request.user
            assert isinstance(user, User)
            if user.role in roles:
                return view(request, user, *args, **named)
            if named and user.role not in SEE:
                _note(request, user, RefusalCode.NOT_FOUND)
                raise Http404
            _note(request, user, RefusalCode.NOT_PERMITTED)
            return _not_permitted(request)

        return guarded

    return guard


@require_safe
@_for(SEE)
def webhooks(request: HttpRequest, user: User) -> HttpResponse:
    """Every webhook of the tenant."""
    return _page(request, "webhooks.html", {"fares": fares(user), "may_change": _may(user)})


@require_safe
@_for(CHANGE)
def new(request: HttpRequest, user: User) -> HttpResponse:
    """The form for another one."""
    return _form(request, Typed())


@require_POST
@_for(CHANGE)
def add(request: HttpRequest, user: User) -> HttpResponse:
    """Make one, and show its secret, once."""
    typed = Typed.read(request.POST)
    if typed.faults:
        return _form(request, typed, status=422)
    endpoint, secret = Endpoint.add(
        user.tenant,
        url=typed.url,
        types=typed.types,
        description=typed.description,
        by=user.as_actor(),
    )
    return _secret(request, endpoint, secret, is_new=True)


@require_safe
@_for(SEE)
def webhook(request: HttpRequest, user: User, endpoint_id: str) -> HttpResponse:
    """One webhook with its deliveries."""
    return _whole(request, user, reach_endpoint(user, endpoint_id))


@require_POST
@_for(CHANGE)
def change(request: HttpRequest, user: User, endpoint_id: str) -> HttpResponse:
    """Set where it leads and what it is told of."""
    endpoint = reach_endpoint(user, endpoint_id)
    typed = Typed.read(request.POST, before=endpoint.url)
    if typed.faults:
        return _whole(request, user, endpoint, typed=typed, status=422)
    endpoint.change(
        url=typed.url, types=typed.types, description=typed.description, by=user.as_actor()
    )
    return _again(endpoint, Said.SAVED)


@require_POST
@_for(CHANGE)
def rotate(request: HttpRequest, user: User, endpoint_id: str) -> HttpResponse:
    """Give it another secret, shown once."""
    endpoint = reach_endpoint(user, endpoint_id)
    return _secret(request, endpoint, endpoint.rotate(by=user.as_actor()), is_new=False)


@require_POST
@_for(CHANGE)
def test(request: HttpRequest, user: User, endpoint_id: str) -> HttpResponse:
    """Let a test go there."""
    endpoint = reach_endpoint(user, endpoint_id)
    is_sent = endpoint.test(by=user.as_actor())
    return _again(endpoint, Said.TEST_SENT if is_sent else Said.IS_DISABLED)


@require_POST
@_for(CHANGE)
def disable(request: HttpRequest, user: User, endpoint_id: str) -> HttpResponse:
    """Send nothing more there; repeating it changes nothing."""
    endpoint = reach_endpoint(user, endpoint_id)
    endpoint.disable(DisabledBecause.BY_HAND, by=user.as_actor())
    return _again(endpoint, Said.DISABLED)


@require_POST
@_for(CHANGE)
def enable(request: HttpRequest, user: User, endpoint_id: str) -> HttpResponse:
    """Send what happens from now on; repeating it changes nothing."""
    endpoint = reach_endpoint(user, endpoint_id)
    endpoint.enable(by=user.as_actor())
    return _again(endpoint, Said.ENABLED)


@require_POST
@_for(CHANGE)
def resend_failed(request: HttpRequest, user: User, endpoint_id: str) -> HttpResponse:
    """Send again all that failed within the span chosen."""
    endpoint, begin = reach_endpoint(user, endpoint_id), since(request.POST)
    if begin is None:
        faults = {"hours": _("Choose one of these spans.")}
        return _whole(request, user, endpoint, faults=faults, status=422)
    match endpoint.resend_failed(since=begin, by=user.as_actor()):
        case None:
            return _again(endpoint, Said.IS_DISABLED)
        case 0:
            return _again(endpoint, Said.NOTHING)
        case _count:
            return _again(endpoint, Said.RESENT)


@require_safe
@_for(SEE)
def delivery(request: HttpRequest, user: User, endpoint_id: str, delivery_id: str) -> HttpResponse:
    """One delivery: the bytes, and every attempt."""
    endpoint = reach_endpoint(user, endpoint_id)
    row = reach_delivery(endpoint, delivery_id)
    context = {
        "endpoint": endpoint,
        "delivery": row,
        "body": bytes(row.body).decode(),
        "data": json.loads(bytes(row.body))["data"],
        "attempts": attempts(row),
        "may_change": _may(user) and endpoint.is_active,
    }
    return _page(request, "delivery.html", context)


@require_POST
@_for(CHANGE)
def resend(request: HttpRequest, user: User, endpoint_id: str, delivery_id: str) -> HttpResponse:
    """Send one delivery again."""
    endpoint = reach_endpoint(user, endpoint_id)
    row = reach_delivery(endpoint, delivery_id)
    is_sent = endpoint.resend(by=user.as_actor(), delivery_id=row.pk)
    return _again(endpoint, Said.RESENT if is_sent else Said.IS_DISABLED)


def _may(user: User) -> bool:
    return user.role in CHANGE


def _whole(
    request: HttpRequest,
    user: User,
    endpoint: Endpoint,
    *,
    typed: Typed | None = None,
    faults: dict[str, str] | None = None,
    status: int = 200,
) -> HttpResponse:
    said, state = request.GET.get("said", ""), request.GET.get("state", "")
    context = {
        "endpoint": endpoint,
        "cut": deliveries(endpoint, request.GET.dict()),
        "state": state if state == FAILED else "",
        "typed": typed or Typed.of(endpoint),
        "faults": faults or {},
        "choices": [kind.value for kind in CHOICES],
        "spans": SPANS_H,
        "said": Said(said) if said in list(Said) else None,
        "may_change": _may(user),
    }
    return _page(request, "webhook.html", context, status=status)


def _form(request: HttpRequest, typed: Typed, *, status: int = 200) -> HttpResponse:
    context = {"typed": typed, "choices": [kind.value for kind in CHOICES]}
    return _page(request, "webhook_new.html", context, status=status)


def _secret(request: HttpRequest, endpoint: Endpoint, secret: str, *, is_new: bool) -> HttpResponse:
    context = {"endpoint": endpoint, "secret": secret, "is_new": is_new}
    return _page(request, "webhook_secret.html", context)


def _note(request: HttpRequest, user: User, refusal: RefusalCode) -> None:
    if request.method == "POST":
        note_refusal_for_tenant(
            tenant_id=user.tenant_id,
            command="webhooks",
            object_id=request.path[:100],
            draft=Draft(
                type="command.refused",
                actor=user.as_actor(),
                refused=Refused(refusal, given={"object": request.path[:100]}),
            ),
        )


def _not_permitted(request: HttpRequest) -> HttpResponse:
    code = RefusalCode.NOT_PERMITTED
    return _page(request, "webhooks_refused.html", {"code": code}, status=code.status)


def _page(
    request: HttpRequest, template: str, context: dict[str, Any], *, status: int = 200
) -> HttpResponse:
    response = render(request, f"settings/{template}", context, status=status)
    response.headers["Cache-Control"] = "no-store"
    return response


def _again(endpoint: Endpoint, said: Said) -> HttpResponse:
    response = redirect(f"{reverse('webhook', args=[endpoint.pk])}?said={said.value}")
    response.status_code = 303
    return response
