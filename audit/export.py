"""A tenant's record as JSON Lines, with a head to keep outside the database.

The head commits to every numbered event up to its number: which there were, in which order,
and through their hashes to their content and to the chain of each run.

Found by `audit_verify` without an exported head, because the record then contradicts itself
or the rows it speaks of:

- an event was edited, inserted or removed anywhere but at the end of its chain;
- events at the end of a chain, or all events of a run, were removed and the run's stored
  head was left (or the reverse: the run was removed and its events were left);
- a chain was rebuilt after an edit and the stored head was left;
- events were removed together with their run, and their numbers were left, or numbers other
  than the tenant's last ones were removed with them;
- sealed events were altered and their seals were left, or seals before others were altered;
- content that an event speaks of was edited or removed.

Found only with the exported head, because the attacker made every table agree, seals too:

- a chain was rebuilt after an edit together with the stored head (and the content);
- the newest events were cut off together with their numbers, and the heads were set back;
- a whole run was removed with its numbers, where those were the last or the rest was
  numbered anew.

Not found at all: such an alteration of events that are newer than the exported head. So
export often, and keep the heads where those who hold the database cannot write.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from django.db.models import Q
from django.utils import timezone

from audit.chain import SequenceDigest, instant
from audit.models import Event
from audit.reading import EventFilter, event_shape, newest_n
from placet.protocol.canonical import canonical
from placet.protocol.reading import JSONValue

_BATCH: Final = 200


@dataclass(frozen=True, slots=True)
class ExportedHead:
    """What an export commits to: the tenant's first `n` numbered events.

    `events_sha256` is the `SequenceDigest` of their hashes in order of their numbers.
    """

    tenant_id: int
    n: int
    events_sha256: str


class Contents(Protocol):
    """Gives, by event id, what to tell of the content that some of these events speak of."""

    def __call__(self, events: Sequence[Event], /) -> Mapping[int, JSONValue]: ...


def export_lines(
    tenant_id: int, *, filters: EventFilter | None = None, contents: Contents | None = None
) -> Iterator[str]:
    """Give the tenant's numbered events in order, one JSON line each, then the head's line.

    Each event has the members of the API's event shape and every other one that its hash
    covers, so that the hash can be computed anew from the line (`audit.chain`). `contents` adds
    a member `content`, which the hash does not cover. Of an export that `filters` restrict there
    is no head. Memory is bounded, and no transaction is held between batches: numbered events do
    not change.
    """
    last, digest = newest_n(tenant_id), SequenceDigest()
    for after in range(0, last, _BATCH):
        events = _numbered_events(tenant_id, filters, after, min(after + _BATCH, last))
        told = contents(events) if contents and events else {}
        for event in events:
            digest.add(event.hash)
            content = {"content": told[event.id]} if event.id in told else {}
            yield canonical(_exported(event, event.numbered.n) | content) + "\n"
    if filters is not None:
        return
    head: dict[str, JSONValue] = {
        "tenant": tenant_id,
        "n": last,
        "events_sha256": digest.hex(),
        "at": instant(timezone.now()),
    }
    yield canonical({"head": head}) + "\n"


def read_head(lines: Iterable[str]) -> ExportedHead:
    """Read the head from an export, or from a file that kept only its last line.

    Raises ValueError for anything else.
    """
    last = ""
    for line in lines:
        last = line if line.strip() else last
    try:
        head = json.loads(last)["head"]
        found = ExportedHead(head["tenant"], head["n"], head["events_sha256"])
    except (ValueError, LookupError, TypeError) as error:
        raise ValueError("the last line is not the head of an export") from error
    members = (found.tenant_id, found.n, found.events_sha256)
    if [type(member) for member in members] != [int, int, str]:
        raise ValueError("the last line is not the head of an export")
    return found


def _numbered_events(
    tenant_id: int, filters: EventFilter | None, after: int, last: int
) -> list[Event]:
    wanted = filters.condition() if filters is not None else Q()
    events = Event.objects.filter(
        wanted, numbered__tenant_id=tenant_id, numbered__n__gt=after, numbered__n__lte=last
    )
    return list(events.select_related("numbered").order_by("numbered__n"))


def _exported(event: Event, n: int) -> dict[str, JSONValue]:
    return event_shape(event, n) | {
        "tenant_id": event.tenant_id,
        "agent_id": event.agent_id,
        "tool": event.tool,
        "content_sha256": event.content_sha256,
        "detail": json.loads(event.detail),
        "previous_hash": event.previous_hash,
        "hash": event.hash,
    }
