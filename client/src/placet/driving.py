"""What carries flows out: one driver in the calling thread, one on an event loop."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

import httpx

from placet.flows import Flow, Lost, Pause, Send, Step, Work
from placet.requests import Answer, Request

T = TypeVar("T")

CONNECT_S = 5.0


def site(base_url: str) -> str:
    """A server's address without its last slash; raises ValueError for what is none."""
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ValueError("base_url has to be the http or https address of a Placet server")
    return base_url.rstrip("/")


class Threaded:
    """Carries flows out in the calling thread; any number of threads may share it."""

    def __init__(self, http: httpx.Client) -> None:
        self.http = http

    def run(self, flow: Flow[T]) -> T:
        """What the flow gives; raises what it raises."""
        try:
            step = next(flow)
            while True:
                try:
                    outcome = self.carry_out(step)
                except BaseException as error:
                    step = flow.throw(error)
                else:
                    step = flow.send(outcome)
        except StopIteration as done:
            return cast(T, done.value)

    def carry_out(self, step: Step) -> Any:
        """The outcome of one step."""
        match step:
            case Send(request):
                return self._send(request)
            case Pause(seconds):
                time.sleep(seconds)
                return None
            case Work(fn, args, named):
                return fn(args, **named)

    def _send(self, request: Request) -> Answer | Lost:
        try:
            return _answer(self.http.send(_built(self.http, request)))
        except httpx.RequestError as error:
            return Lost(error)


class OnLoop:
    """Carries flows out on the running event loop."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http

    async def run(self, flow: Flow[T]) -> T:
        """What the flow gives; raises what it raises."""
        try:
            step = next(flow)
            while True:
                try:
                    outcome = await self.carry_out(step)
                except BaseException as error:
                    step = flow.throw(error)
                else:
                    step = flow.send(outcome)
        except StopIteration as done:
            return cast(T, done.value)

    async def carry_out(self, step: Step) -> Any:
        """The outcome of one step."""
        match step:
            case Send(request):
                return await self._send(request)
            case Pause(seconds):
                await asyncio.sleep(seconds)
                return None
            case Work(fn, args, named):
                return await worked(fn, args, named)

    async def _send(self, request: Request) -> Answer | Lost:
        try:
            return _answer(await self.http.send(_built(self.http, request)))
        except httpx.RequestError as error:
            return Lost(error)


async def worked(fn: Callable[..., Any], args: dict[str, Any], named: Mapping[str, Any]) -> Any:
    """What a work gives: awaited where it is asynchronous, else done in a thread of its own."""
    if inspect.iscoroutinefunction(fn):
        return await fn(args, **named)
    result = await asyncio.to_thread(fn, args, **named)
    return await result if isinstance(result, Awaitable) else result


def options(base_url: str, key: str) -> dict[str, Any]:
    """How both HTTP clients are made; redirects are never followed with a key."""
    if not key.isascii() or not key.isprintable() or not key:
        raise ValueError("key has to be the key of an agent")
    return {
        "base_url": site(base_url),
        "headers": {"Authorization": f"Bearer {key}", "Accept": "application/json"},
        "follow_redirects": False,
        "limits": httpx.Limits(max_connections=None, max_keepalive_connections=20),
    }


def _built(http: httpx.Client | httpx.AsyncClient, request: Request) -> httpx.Request:
    return http.build_request(
        request.method,
        request.path,
        params=dict(request.query),
        content=request.body,
        headers=request.headers(),
        timeout=httpx.Timeout(CONNECT_S, read=request.read_s),
    )


def _answer(response: httpx.Response) -> Answer:
    return Answer(
        status=response.status_code,
        headers={name.lower(): text for name, text in response.headers.items()},
        body=response.content,
    )
