"""The body of a webhook: `{type, timestamp, data}`, spelled once, stored and sent as it is."""

from collections.abc import Mapping
from datetime import datetime

from audit.chain import instant
from placet.protocol.canonical import canonical
from placet.protocol.reading import JSONValue
from webhooks.rules.kinds import WebhookType


def body(kind: WebhookType, *, at: datetime, data: Mapping[str, JSONValue]) -> bytes:
    """Give the bytes that tell of something that happened at `at`.

    `data` holds ids, states, counters and digests, and no argument values: who is told reads the
    rest from the server.
    """
    return canonical({"type": kind.value, "timestamp": instant(at), "data": dict(data)}).encode()
