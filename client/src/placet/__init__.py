"""Ask people before an agent acts: the client of a Placet server.

Public names are loaded when they are first used, so that importing `placet.protocol` needs
nothing but the standard library and `rfc8785`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from placet.protocol.canonical import NotCanonical, canonical
    from placet.protocol.digest import asked_sha256
    from placet.protocol.reading import InvalidJSON, JSONValue, read_json
    from placet.protocol.refusals import Fault, RefusalCode

__all__ = [
    "Fault",
    "InvalidJSON",
    "JSONValue",
    "NotCanonical",
    "RefusalCode",
    "asked_sha256",
    "canonical",
    "read_json",
]

_HOMES = {
    "Fault": "placet.protocol.refusals",
    "InvalidJSON": "placet.protocol.reading",
    "JSONValue": "placet.protocol.reading",
    "NotCanonical": "placet.protocol.canonical",
    "RefusalCode": "placet.protocol.refusals",
    "asked_sha256": "placet.protocol.digest",
    "canonical": "placet.protocol.canonical",
    "read_json": "placet.protocol.reading",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'placet' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
