"""How events are chained, so that a change of any of them shows.

Invariant: an event's hash covers every member of the event and the hash of the event
before it in the same chain. A run's events are one chain; a tenant's events without a run
are another. Whoever edits, removes, inserts or reorders events must rebuild every hash
after that place and the stored head.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from placet.protocol.canonical import canonical
from placet.protocol.digest import sha256_hex
from placet.protocol.reading import JSONValue


@dataclass(frozen=True, slots=True)
class Head:
    """Where a chain ends: the number of its events and the hash of the last one."""

    seq: int
    hash: str


EMPTY_HEAD = Head(0, "")


def instant(at: datetime) -> str:
    """Give an aware datetime as RFC 3339 text in UTC, always with microseconds."""
    return at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def event_hash(members: Mapping[str, JSONValue]) -> str:
    """Give the hash of an event: lower-case hex SHA-256 of its canonical JSON (RFC 8785).

    Members that are null are left out, so a member that is added later, null in older
    events, leaves their hashes as they are.
    """
    return sha256_hex(canonical({name: v for name, v in members.items() if v is not None}))


class SequenceDigest:
    """Digest of event hashes in the order of their numbers: SHA-256 of one hash per line.

    It commits to every event up to the last one added, to their order and to their count:
    each hash covers its event and, through the chain, all earlier ones.
    """

    def __init__(self) -> None:
        self._sha256 = hashlib.sha256()

    def add(self, event_hash: str) -> None:
        """Add the hash of the event with the next number."""
        self._sha256.update(event_hash.encode() + b"\n")

    def hex(self) -> str:
        """Give the digest of what was added so far, in lower-case hex."""
        return self._sha256.hexdigest()
