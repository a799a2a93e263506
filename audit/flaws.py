"""What can be wrong with a record, and where."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from placet.protocol.reading import JSONValue


class Flaw(StrEnum):
    """What is wrong at a place of the record."""

    GAP = "gap"
    LINK = "link"
    HASH = "hash"
    ORDER = "order"
    HEAD = "head"
    CHAIN_MISSING = "chain_missing"
    EVENTS_MISSING = "events_missing"
    CONTENT = "content"
    CONTENT_MISSING = "content_missing"
    NUMBER = "number"
    EVENT_MISSING = "event_missing"
    NOT_NUMBERED = "not_numbered"
    SEAL = "seal"
    SEAL_NOT_REACHED = "seal_not_reached"
    TENANT_MISSING = "tenant_missing"
    EXPORT_DIFFERS = "export_differs"
    EXPORT_NOT_REACHED = "export_not_reached"

    @property
    def sentence(self) -> str:
        """Say it in words."""
        return _SENTENCES[self]


_SENTENCES: Final = {
    Flaw.GAP: "an event before this one is missing, or this one was added",
    Flaw.LINK: "the event does not follow the one before it",
    Flaw.HASH: "the event is not the one that was recorded",
    Flaw.ORDER: "the event was moved: ids or numbers do not ascend along its chain",
    Flaw.HEAD: "the chain ends elsewhere than its stored head says",
    Flaw.CHAIN_MISSING: "the stored head of the chain is gone",
    Flaw.EVENTS_MISSING: "all events of the chain are gone",
    Flaw.CONTENT: "the content that the event speaks of was changed",
    Flaw.CONTENT_MISSING: "the content that the event speaks of is gone",
    Flaw.NUMBER: "a number before this one is missing",
    Flaw.EVENT_MISSING: "the event with this number is gone",
    Flaw.NOT_NUMBERED: "the event has no number and does not wait for one",
    Flaw.SEAL: "the events up to this number are not the sealed ones, or the seal was changed",
    Flaw.SEAL_NOT_REACHED: "the record ends before its last seal",
    Flaw.TENANT_MISSING: "the tenant of the record is gone",
    Flaw.EXPORT_DIFFERS: "the events up to this number are not the exported ones",
    Flaw.EXPORT_NOT_REACHED: "the record ends before the exported head",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bad:
    """An altered place; members that do not apply are None.

    `run_id` None means the tenant's own chain where `run_seq` is given.
    """

    flaw: Flaw
    tenant_id: int
    run_id: str | None = None
    run_seq: int | None = None
    event_id: int | None = None
    n: int | None = None

    def shape(self) -> dict[str, JSONValue]:
        """Give the place as JSON members, with the flaw in words."""
        return {
            "flaw": str(self.flaw),
            "sentence": self.flaw.sentence,
            "tenant_id": self.tenant_id,
            "run_id": self.run_id,
            "run_seq": self.run_seq,
            "event_id": self.event_id,
            "n": self.n,
        }
