"""Ask people before an agent acts: the client of a Placet server.

Public names are loaded when they are first used, so that importing `placet.protocol` needs
nothing but the standard library and `rfc8785`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from placet import grants, webhooks
    from placet.async_client import AsyncClient, AsyncRun
    from placet.async_lease import AsyncLease
    from placet.client import Client, Run
    from placet.errors import (
        Failed,
        InvalidGrant,
        InvalidSignature,
        KeysUnavailable,
        LeaseLost,
        NotExecuted,
        PlacetError,
        Refused,
        StopReason,
        UnexpectedAnswer,
        Unreachable,
    )
    from placet.grants import Grant
    from placet.lease import Lease
    from placet.models import Action, Actor, Decision, Event, Interrupt, Me, Observed, RunView
    from placet.protocol.canonical import NotCanonical, canonical
    from placet.protocol.digest import asked_sha256
    from placet.protocol.reading import InvalidJSON, JSONValue, read_json
    from placet.protocol.refusals import Fault, RefusalCode
    from placet.question import Question

__all__ = [
    "Action",
    "Actor",
    "AsyncClient",
    "AsyncLease",
    "AsyncRun",
    "Client",
    "Decision",
    "Event",
    "Failed",
    "Fault",
    "Grant",
    "Interrupt",
    "InvalidGrant",
    "InvalidJSON",
    "InvalidSignature",
    "JSONValue",
    "KeysUnavailable",
    "Lease",
    "LeaseLost",
    "Me",
    "NotCanonical",
    "NotExecuted",
    "Observed",
    "PlacetError",
    "Question",
    "RefusalCode",
    "Refused",
    "Run",
    "RunView",
    "StopReason",
    "UnexpectedAnswer",
    "Unreachable",
    "asked_sha256",
    "canonical",
    "grants",
    "read_json",
    "webhooks",
]

_HOMES = {
    "Action": "placet.models",
    "Actor": "placet.models",
    "AsyncClient": "placet.async_client",
    "AsyncLease": "placet.async_lease",
    "AsyncRun": "placet.async_client",
    "Client": "placet.client",
    "Decision": "placet.models",
    "Event": "placet.models",
    "Failed": "placet.errors",
    "Fault": "placet.protocol.refusals",
    "Grant": "placet.grants",
    "Interrupt": "placet.models",
    "InvalidGrant": "placet.errors",
    "InvalidJSON": "placet.protocol.reading",
    "InvalidSignature": "placet.errors",
    "JSONValue": "placet.protocol.reading",
    "KeysUnavailable": "placet.errors",
    "Lease": "placet.lease",
    "LeaseLost": "placet.errors",
    "Me": "placet.models",
    "NotCanonical": "placet.protocol.canonical",
    "NotExecuted": "placet.errors",
    "Observed": "placet.models",
    "PlacetError": "placet.errors",
    "Question": "placet.question",
    "RefusalCode": "placet.protocol.refusals",
    "Refused": "placet.errors",
    "Run": "placet.client",
    "RunView": "placet.models",
    "StopReason": "placet.errors",
    "UnexpectedAnswer": "placet.errors",
    "Unreachable": "placet.errors",
    "asked_sha256": "placet.protocol.digest",
    "canonical": "placet.protocol.canonical",
    "read_json": "placet.protocol.reading",
}
_MODULES = ("grants", "webhooks")


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(f"placet.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'placet' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
