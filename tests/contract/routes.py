"""Every route of the server, in the one list that a new route has to be put into.

PUBLIC is the whole list of what somebody without any credentials may reach.
"""

import re
from collections.abc import Iterator
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

from runs.ids import new_id

PUBLIC = {
    "/login/",
    "/healthz",
    "/readyz",
    "/api/v1/openapi.json",
    "/api/v1/docs",
    "/.well-known/jwks.json",
    "/static/css/app.css",
}
"""Sign-in, health, the API's documentation, the keys of grants, static files."""

PAGES = {
    "/",
    "/inbox/changes/",
    "/inbox/live/",
    "/logout/",
    "/interrupts/<interrupt_id>/",
    "/interrupts/<interrupt_id>/decide/",
    "/interrupts/<interrupt_id>/preview/",
    "/interrupts/<interrupt_id>/reveal/",
    "/runs/",
    "/runs/<run_id>/",
    "/runs/<run_id>/cancel/",
    "/unknown/",
    "/actions/<action_id>/reconcile/",
    "/audit/",
    "/audit/export/",
    "/components/",
    "/statistics/",
    "/settings/you/",
    "/settings/notices/",
    "/settings/notices/choice/",
    "/settings/notices/address/",
    "/settings/notices/confirm/",
    "/settings/notices/remove/",
    "/settings/notices/test/",
    "/settings/notices/browser/",
    "/settings/notices/waiting/",
    "/settings/webhooks/",
    "/settings/webhooks/new/",
    "/settings/webhooks/add/",
    "/settings/webhooks/<endpoint_id>/",
    "/settings/webhooks/<endpoint_id>/change/",
    "/settings/webhooks/<endpoint_id>/rotate/",
    "/settings/webhooks/<endpoint_id>/test/",
    "/settings/webhooks/<endpoint_id>/disable/",
    "/settings/webhooks/<endpoint_id>/enable/",
    "/settings/webhooks/<endpoint_id>/resend/",
    "/settings/webhooks/<endpoint_id>/deliveries/<delivery_id>/",
    "/settings/webhooks/<endpoint_id>/deliveries/<delivery_id>/resend/",
}
"""Pages: a session, else the way to the sign-in page."""

AGENTS = {
    "/api/v1/": "",
    "/api/v1/runs": "GET POST",
    "/api/v1/runs/<run_id>": "GET",
    "/api/v1/runs/<run_id>/interrupts": "POST",
    "/api/v1/runs/<run_id>/cancel": "POST",
    "/api/v1/runs/<run_id>/finish": "POST",
    "/api/v1/runs/<run_id>/lease": "POST",
    "/api/v1/runs/<run_id>/lease/renew": "POST",
    "/api/v1/runs/<run_id>/lease/release": "POST",
    "/api/v1/runs/<run_id>/dispatch": "POST",
    "/api/v1/runs/<run_id>/observations": "POST",
    "/api/v1/actions/<action_id>": "GET",
    "/api/v1/actions/<action_id>/result": "POST",
    "/api/v1/actions/<action_id>/unknown": "POST",
    "/api/v1/actions/<action_id>/reconcile": "POST",
    "/api/v1/interrupts/<interrupt_id>": "GET",
    "/api/v1/interrupts/<interrupt_id>/cancel": "POST",
    "/api/v1/interrupts/<interrupt_id>/observations": "POST",
    "/api/v1/events": "GET",
    "/api/v1/me": "GET",
}
"""The API for agents: a key, else 401; the methods that each call takes."""

OPERATORS = {"/metrics"}
"""Figures of the whole installation: the operator's token, else 401, or 404 where there is none."""

OUTSIDE_DJANGO = {"/static/css/app.css"}

CONVERTER = re.compile(r"<(?:\w+:)?(\w+)>")


def mounted() -> set[str]:
    """The paths of the whole URL configuration, with the names of their parameters."""
    return {"/" + CONVERTER.sub(r"<\1>", path) for path in _walk(get_resolver(), "")}


def _walk(resolver: URLResolver, prefix: str) -> Iterator[str]:
    for entry in resolver.url_patterns:
        path = prefix + str(entry.pattern)
        if isinstance(entry, URLResolver):
            yield from _walk(entry, path)
        else:
            assert isinstance(entry, URLPattern)
            yield path


def filled(path: str, **ids: Any) -> str:
    """The path with these ids in it; of webhooks, whose tests have their own, ids of nothing."""
    nothing = {"endpoint_id": new_id("ept"), "delivery_id": new_id("dlv")}
    return CONVERTER.sub(lambda found: str({**nothing, **ids}[found[1]]), path)
