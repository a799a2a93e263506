"""The numbered events behind a number, each once and in order, for many who ask at once.

Those who have read nearly all, as everybody who waits has, share one reading of their tenant.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from audit.models import Event
from audit.reading import Feed, events_after, newest_numbers

NEAR: Final = 200
"""So far behind the last number several who ask share one reading."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedAsk:
    """What one caller asks for: a tenant's events behind `after`, or an agent's or a run's."""

    tenant_id: int
    after: int
    limit: int
    agent_id: int | None = None
    run_id: str | None = None

    def read(self, newest: int) -> Feed:
        """Give the events up to the tenant's number `newest`, in one query at most."""
        if self.after >= newest:
            return Feed((), self.after)
        return events_after(
            tenant_id=self.tenant_id,
            after=self.after,
            limit=self.limit,
            run_id=self.run_id,
            agent_id=self.agent_id,
            newest=newest,
        )

    def pick(self, events: Collection[Event], newest: int) -> Feed:
        """Give the same from all the tenant's events of which any are behind `after`."""
        behind = [event for event in events if event.numbered.n > self.after and self._is_of(event)]
        return Feed.of(tuple(behind[: self.limit]), limit=self.limit, last=newest)

    def _is_of(self, event: Event) -> bool:
        is_agents = event.run_id is not None and event.agent_id == self.agent_id
        return (self.agent_id is None or is_agents) and self.run_id in (None, event.run_id)


def read_feeds(asked: Collection[FeedAsk]) -> dict[FeedAsk, Feed]:
    """Give each its feed: one query, and one for each tenant and each who is far behind."""
    feeds: dict[FeedAsk, Feed] = {}
    for tenant_id, newest in newest_numbers(list({ask.tenant_id for ask in asked})).items():
        asks = [ask for ask in asked if ask.tenant_id == tenant_id]
        near = [ask for ask in asks if newest - NEAR <= ask.after < newest]
        if len(near) > 1:
            first = min(ask.after for ask in near)
            every = FeedAsk(tenant_id=tenant_id, after=first, limit=NEAR).read(newest).events
            feeds |= {ask: ask.pick(every, newest) for ask in near}
        feeds |= {ask: ask.read(newest) for ask in asks if ask not in feeds}
    return feeds
