"""What a guarded tool may use while it runs, found by the tool's own code."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Permission:
    """The key to give to the tool's target, and the grant, which the target can check."""

    idempotency_key: str
    grant: str


_PERMISSION: ContextVar[Permission] = ContextVar("placet_permission")


def permission() -> Permission:
    """The permission of the guarded tool that calls this; raises LookupError elsewhere."""
    return _PERMISSION.get()


@contextmanager
def permitting(idempotency_key: str, grant: str) -> Iterator[None]:
    """Let the code inside find its permission."""
    before = _PERMISSION.set(Permission(idempotency_key, grant))
    try:
        yield
    finally:
        _PERMISSION.reset(before)
