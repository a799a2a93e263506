"""The events of the record over HTTP: each once, in the order of the tenant's numbers.

One code reads for the view and for the hub, so a long poll says the same as a plain GET, and the
key and what it may see are read anew every time.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from django.http import HttpRequest, HttpResponse
from ninja import Router

from approvals.api.answers import EventsOut
from approvals.api.parameters import AfterNumber, Filter, Limit, WaitS
from approvals.api.readers import NOT_FOUND, UNKNOWN_KEY, held_keys, refused, told
from audit.feed import FeedAsk, read_feeds
from audit.reading import Feed, event_shape, newest_numbers
from identity.models import AgentKey
from identity.roles import Scope
from placet.protocol.reading import JSONValue
from runs.api.http import Refused, Reply, answer, require
from runs.api.problem import PROBLEMS
from runs.ids import is_id
from runs.models import Run
from runs.rules.refusal import Refusal
from runs.waiting.notifier import feed_key, feed_tenant_id
from runs.waiting.reader import Answer, Wait

router = Router(tags=["events"])

PAGE: Final = 50
_TAKEN: Final = {
    "limit": re.compile(r"[1-9][0-9]?|1[0-9]{2}|200"),
    "run": re.compile(r"[^\x00]{1,255}"),
}


@router.get("/events", response={200: EventsOut, **PROBLEMS})
def list_events(
    request: HttpRequest,
    after: AfterNumber = "0",
    limit: Limit = PAGE,
    run: Filter = None,
    wait_s: WaitS = None,
) -> HttpResponse:
    """The events behind the number `after`, in order; with `wait_s` as soon as there is one.

    Those of the agent's own runs, or of the whole tenant where the key has the scope `events`.
    The hub in front of this view waits; what arrives here is answered at once.
    """
    key = require(request, *Scope)
    ask = _ask(key, _runs([key], [run]), after=int(after), limit=limit, run_id=run)
    if isinstance(ask, Refusal):
        raise Refused(ask)
    return answer(Reply(200, _page(read_feeds([ask])[ask])))


class EventsReader:
    """Answers who waits for events: ready once there is one for the caller."""

    def answer(self, waits: Sequence[Wait]) -> Sequence[Answer]:
        """Each one's events, or why they are not told."""
        keys = held_keys({wait.token for wait in waits})
        runs = _runs(keys.values(), [dict(wait.query).get("run") for wait in waits])
        asks = [_asked(wait, keys.get(wait.token), runs) for wait in waits]
        feeds = read_feeds({ask for ask in asks if isinstance(ask, FeedAsk)})
        pages = {ask: told(_page(feed), is_final=bool(feed.events)) for ask, feed in feeds.items()}
        return [
            refused(ask)
            if isinstance(ask, Refusal)
            else replace(pages[ask], onward=_onward(wait, ask, feeds[ask]))
            for wait, ask in zip(waits, asks, strict=True)
        ]

    def ripe(self, waits: Sequence[Wait]) -> Sequence[bool]:
        """Behind whose number the tenant has others, which need not be for the caller."""
        tenants = [feed_tenant_id(wait.object_id) for wait in waits]  # None: not read yet
        newest = newest_numbers([each for each in set(tenants) if each is not None])
        return [
            tenant_id is None or newest[tenant_id] > (wait.after_seq or 0)
            for wait, tenant_id in zip(waits, tenants, strict=True)
        ]


def is_plain(query: Iterable[tuple[str, str]]) -> bool:
    """Whether the reader takes these parameters; of others the view says what is wrong."""
    given = [(name, text) for name, text in query if name in _TAKEN]
    is_once = len(dict(given)) == len(given)
    return is_once and all(_TAKEN[name].fullmatch(text) for name, text in given)


def _asked(wait: Wait, key: AgentKey | None, runs: Mapping[str, Run]) -> FeedAsk | Refusal:
    if key is None:
        return UNKNOWN_KEY
    query = dict(wait.query)
    limit = int(query.get("limit", PAGE))
    return _ask(key, runs, after=wait.after_seq or 0, limit=limit, run_id=query.get("run"))


def _ask(
    key: AgentKey, runs: Mapping[str, Run], *, after: int, limit: int, run_id: str | None
) -> FeedAsk | Refusal:
    agent, sees_all = key.agent, Scope.EVENTS in key.scopes
    ask = FeedAsk(tenant_id=agent.tenant_id, after=after, limit=limit)
    if run_id is None:
        return ask if sees_all else replace(ask, agent_id=agent.pk)
    run = runs.get(run_id)
    if run is None or run.tenant_id != agent.tenant_id:
        return NOT_FOUND
    return replace(ask, run_id=run_id) if sees_all or run.agent_id == agent.pk else NOT_FOUND


def _runs(keys: Iterable[AgentKey], run_ids: Iterable[str | None]) -> dict[str, Run]:
    """The runs of these ids in the tenants of these keys, whoever's they are; often no query."""
    ids = {run_id for run_id in run_ids if run_id is not None and is_id(run_id)}
    tenants = {key.agent.tenant_id for key in keys}
    runs = Run.objects.filter(tenant_id__in=tenants, pk__in=ids) if ids else ()
    return {run.pk: run for run in runs}


def _onward(wait: Wait, ask: FeedAsk, feed: Feed) -> Wait:
    return replace(wait, object_id=feed_key(ask.tenant_id), after_seq=feed.next)


def _page(feed: Feed) -> dict[str, JSONValue]:
    items = [event_shape(event, event.numbered.n) for event in feed.events]
    return {"items": [*items], "next": feed.next}
