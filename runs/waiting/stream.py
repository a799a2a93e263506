"""Keeps pages told by server-sent events, without a thread or a database connection for each.

A stream sleeps until its key is woken, or for a heartbeat; then what it tells is read anew by
the hub's thread, the session with it, and said where it differs. Guards that no open page costs
the agents' waits: a stream reads at most once in `PAUSE_S`, few read at once, and a person has
few streams.
"""

import asyncio
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from runs.waiting.hub import OUTAGES, Hub
from runs.waiting.route import App, Message, Receive, Scope, Send

RETRY: Final = b"retry: 3000\n\n"
"""How long a browser waits before it comes back, in milliseconds."""
ENDED: Final = b"event: ended\ndata: {}\n\n"
HEARTBEAT: Final = b": still here\n\n"
HEARTBEAT_S: Final = 20.0
PAUSE_S: Final = 1.0
READERS: Final = 4
PER_PERSON: Final = 12
HEADERS: Final = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
    (b"x-content-type-options", b"nosniff"),
]


@dataclass(frozen=True, slots=True)
class Telling:
    """What one stream is told now: to whom, the id that wakes it, and the event as sent."""

    who: str
    key: str
    text: bytes


Tell = Callable[[str], Telling | None]


@dataclass(frozen=True, slots=True)
class Stream:
    """A route that goes on telling; `tell` reads for a session, None where that has ended.

    `tell` runs in the hub's thread.
    """

    path: str
    tell: Tell


class Streams:
    """An ASGI application: streams of signed-in people from the hub, everything else to `app`.

    Who has no session, and who has too many streams, gets what `app` answers at this path.
    """

    def __init__(
        self,
        app: App,
        *,
        hub: Hub,
        routes: Sequence[Stream],
        cookie: str,
        heartbeat_s: float = HEARTBEAT_S,
        pause_s: float = PAUSE_S,
        per_person: int = PER_PERSON,
    ) -> None:
        self._app = app
        self._hub = hub
        self._tells = {route.path: route.tell for route in routes}
        self._cookie = re.compile(rf"(?:^|;)\s*{re.escape(cookie)}=([A-Za-z0-9]+)\s*(?:;|$)")
        self._heartbeat_s = heartbeat_s
        self._pause_s = pause_s
        self._per_person = per_person
        self._reading = asyncio.Semaphore(READERS)
        self._open: Counter[str] = Counter()

    @property
    def open(self) -> int:
        """How many streams are open just now."""
        return self._open.total()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection scope (ASGI 3)."""
        tell = self._tells.get(scope.get("path", "")) if scope["type"] == "http" else None
        session = self._session(scope) if tell and scope["method"] == "GET" else None
        if tell is None or session is None or self._hub.is_draining:
            await self._app(scope, receive, send)
            return
        try:
            first = await self._read(tell, session)
        except OUTAGES:
            first = None
        if first is None or self._open[first.who] >= self._per_person:
            await self._app(scope, receive, send)
            return
        await self._keep(tell, session, first, receive, send)

    async def _keep(
        self, tell: Tell, session: str, first: Telling, receive: Receive, send: Send
    ) -> None:
        """Count the stream while it is open, and end it when its client goes away."""
        self._open[first.who] += 1
        bell = self._hub.bell(first.key)
        bell.set()  # what was committed between the first reading and now rang nothing
        telling = asyncio.ensure_future(self._go_on(tell, session, first, bell, send))
        leaving = asyncio.ensure_future(_disconnected(receive))
        try:
            done, _ = await asyncio.wait({telling, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if telling in done:
                telling.result()
        finally:
            self._hub.silence(first.key, bell)
            self._open[first.who] -= 1
            self._open += Counter()  # without those who have none
            leaving.cancel()
            telling.cancel()
            await asyncio.gather(telling, leaving, return_exceptions=True)

    async def _go_on(
        self, tell: Tell, session: str, first: Telling, bell: asyncio.Event, send: Send
    ) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        await send(_part(RETRY + first.text))
        told = first.text
        while not self._hub.is_draining:
            # What was committed since the read before is told now, whatever woke whom.
            is_woken = await _rung(bell, self._heartbeat_s)
            if self._hub.is_draining:
                break
            if is_woken:  # a burst of commits is one reading
                await asyncio.sleep(self._pause_s * random.uniform(0.1, 0.4))
            bell.clear()
            try:
                now = await self._read(tell, session)
            except OUTAGES:
                await send(_part(HEARTBEAT))
                await asyncio.sleep(self._pause_s)
                bell.set()
                continue
            if now is None or (now.who, now.key) != (first.who, first.key):
                await send(_part(ENDED))
                break
            await send(_part(HEARTBEAT if now.text == told else now.text))
            told = now.text
            await asyncio.sleep(self._pause_s)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _read(self, tell: Tell, session: str) -> Telling | None:
        async with self._reading:
            return await self._hub.read(tell, session)

    def _session(self, scope: Scope) -> str | None:
        given = [value for name, value in scope["headers"] if name == b"cookie"]
        found = self._cookie.search(b"; ".join(given).decode("latin1"))
        return found[1] if found else None


async def _rung(bell: asyncio.Event, within_s: float) -> bool:
    try:
        async with asyncio.timeout(within_s):
            await bell.wait()
    except TimeoutError:
        return False
    return True


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _part(body: bytes) -> Message:
    return {"type": "http.response.body", "body": body, "more_body": True}
