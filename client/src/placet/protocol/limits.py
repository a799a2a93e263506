"""The sizes, spans and patterns of the wire contract. Beyond a size the answer is `too_large`."""

from typing import Final

BODY_BYTES: Final = 1024 * 1024
"""One HTTP body, as sent."""

ASKED_BYTES: Final = 256 * 1024
"""The canonical form of `asked`, in UTF-8."""

TEXT_BYTES: Final = 8 * 1024
"""One text written by an agent or a person (description, reason, note), in UTF-8."""

RESULT_BYTES: Final = 64 * 1024
"""The canonical form of one result, one evidence or one `refs`, in UTF-8."""

SCHEMA_BYTES: Final = 32 * 1024
"""The canonical form of one JSON Schema, in UTF-8."""

MAX_DEPTH: Final = 64
"""Open containers at once in one body; its outermost container is the first."""

MAX_INTEGER: Final = 2**53 - 1
"""The largest magnitude of a number in any notation (RFC 7493 §2.2)."""

TOOL_PATTERN: Final = r"[A-Za-z0-9_.:/-]{1,128}"
"""A tool's name; the whole name has to match."""

EXPIRES_IN_MIN_S: Final = 10
EXPIRES_IN_MAX_S: Final = 30 * 24 * 3600
EXPIRES_IN_DEFAULT_S: Final = 24 * 3600
"""How long a question may wait for its answer, counted from its storing."""

APPROVAL_VALID_DEFAULT_S: Final = 3600
"""How long an approval may be used, counted from when it was given."""

LEASE_TTL_MIN_S: Final = 10
LEASE_TTL_MAX_S: Final = 3600
"""How long a lease may last from one renewal to the next."""

INTERRUPTS_MAX: Final = 50
"""Questions in one request."""

IDEMPOTENCY_KEY_MAX_CHARS: Final = 255
"""An `Idempotency-Key`, in visible ASCII."""

WAIT_MAX_S: Final = 55
"""The longest long poll; a larger `wait_s` counts as this."""
