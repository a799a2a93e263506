"""What binds an answer to exactly what was asked."""

from collections.abc import Mapping
from hashlib import sha256

from placet.protocol.canonical import canonical
from placet.protocol.reading import JSONValue


def sha256_hex(text: str) -> str:
    """The SHA-256 of a text's UTF-8, in lower-case hex."""
    return sha256(text.encode()).hexdigest()


def canonical_asked(
    *, tool: str, args: Mapping[str, JSONValue], target: Mapping[str, JSONValue] | None
) -> str:
    """The canonical form of `asked`, the part of a question that its digest covers.

    Raises NotCanonical where args or target have no canonical form.
    """
    return canonical(
        {"tool": tool, "args": dict(args), "target": None if target is None else dict(target)}
    )


def asked_sha256(
    *, tool: str, args: Mapping[str, JSONValue], target: Mapping[str, JSONValue] | None
) -> str:
    """The digest of `asked`: lower-case hex SHA-256 of its canonical form.

    Raises NotCanonical where args or target have no canonical form.
    """
    return sha256_hex(canonical_asked(tool=tool, args=args, target=target))


def idempotency_key(*, run_id: str, call_id: str, attempt: int, approved_sha256: str) -> str:
    """The key under which a target carries out one approved attempt once: 68 visible ASCII.

    The same four always give the same key, so an executor can compute and keep it before it
    acts. A retry or a resend does not make a key: it copies that of the action it follows.
    """
    made_from: JSONValue = {
        "run_id": run_id,
        "call_id": call_id,
        "attempt": attempt,
        "approved_sha256": approved_sha256,
    }
    return "idk_" + sha256_hex(canonical(made_from))
