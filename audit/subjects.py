"""What the record speaks of, as the apps that own it register it.

Audit imports none of those apps. Their `AppConfig.ready` registers here how to read the
stored chain heads of runs, the present digests of content, and the tenants, so that the
verifier can compare the record with what it tells about.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from audit.chain import Head
from audit.models import Event


class RunHeads(Protocol):
    """Gives `(run_id, head)` of the tenant's runs: of all for None, else of those named.

    Runs that do not exist are left out; the order is free; memory must stay bounded.
    """

    def __call__(
        self, tenant_id: int, run_ids: Sequence[str] | None, /
    ) -> Iterator[tuple[str, Head]]: ...


class Told(Protocol):
    """What a reader of contents needs to know of an event."""

    id: int
    tenant_id: int
    type: str
    run_id: str | None
    interrupt_id: str | None
    action_id: str | None
    detail: str


class Contents(Protocol):
    """Gives, by event id, the digest that the content of an event has now.

    Asked with a batch of events of one tenant that have a `content_sha256`. Events of
    another app, and those whose content is gone, are left out.
    """

    def __call__(self, events: Sequence[Told], /) -> Mapping[int, str]: ...


class Tenants(Protocol):
    """Gives `(id, slug)` of every tenant."""

    def __call__(self) -> Iterable[tuple[int, str]]: ...


def _no_tenants() -> Iterable[tuple[int, str]]:
    return ()


def _no_run_heads(_tenant_id: int, _run_ids: Sequence[str] | None, /) -> Iterator[tuple[str, Head]]:
    return iter(())


@dataclass(slots=True)
class Subjects:
    """The registered readers."""

    tenants: Tenants = _no_tenants
    run_heads: RunHeads = _no_run_heads
    contents: list[Contents] = field(default_factory=list)

    def content_digests(self, events: Sequence[Event]) -> dict[int, str]:
        """Give the present content digests that any of the registered readers knows."""
        told = [event for event in events if event.content_sha256 is not None]
        digests: dict[int, str] = {}
        if told:
            for contents in self.contents:
                digests.update(contents(told))
        return digests


SUBJECTS = Subjects()


def register_tenants(tenants: Tenants) -> None:
    """Tell the verifier which tenants there are."""
    SUBJECTS.tenants = tenants


def register_run_heads(run_heads: RunHeads) -> None:
    """Tell the verifier where the runs' chains end."""
    SUBJECTS.run_heads = run_heads


def register_contents(contents: Contents) -> None:
    """Tell the verifier how to digest anew what some events speak of."""
    SUBJECTS.contents.append(contents)
