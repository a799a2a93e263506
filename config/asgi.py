"""The one application that serves people and agents: what waits in front, Django behind."""

import re

from config.wsgi import application as django  # first: it sets Django up

# isort: split
from django.conf import settings

from approvals.api.events import EventsReader, is_plain
from approvals.api.readers import InterruptReader, RunReader, refused
from approvals.web.live import telling
from config.bridge import WSGIBridge
from identity.keys import key_digest
from placet.protocol.limits import BODY_BYTES
from runs.api.http import too_often
from runs.waiting.hub import Hub
from runs.waiting.reader import Answer, Reader
from runs.waiting.route import LongPoll, LongPolls
from runs.waiting.stream import Stream, Streams

THREADS = 16
MOST_BODY_BYTES = 2 * BODY_BYTES  # beyond the limit of the API, so that Django can refuse it

ROUTES = (
    LongPoll("interrupt", re.compile(r"/api/v1/interrupts/(?P<id>[A-Za-z0-9_]+)")),
    LongPoll("run", re.compile(r"/api/v1/runs/(?P<id>[A-Za-z0-9_]+)")),
    LongPoll("events", re.compile(r"/api/v1/events"), after="after", is_plain=is_plain),
)
READERS: dict[str, Reader] = {
    "interrupt": InterruptReader(),
    "run": RunReader(),
    "events": EventsReader(),
}
STREAMS = (Stream("/inbox/live/", telling),)


def admit(token: str) -> Answer | None:
    """The refusal of a key that makes too many requests."""
    refusal = too_often(key_digest(token))
    return refused(refusal) if refusal else None


hub = Hub(READERS)
polls = LongPolls(
    WSGIBridge(django, threads=THREADS, most_body_bytes=MOST_BODY_BYTES),
    hub=hub,
    routes=ROUTES,
    admit=admit,
)
application = Streams(polls, hub=hub, routes=STREAMS, cookie=settings.SESSION_COOKIE_NAME)
