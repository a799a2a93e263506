"""Sends a request to a URL that a person or tenant chose, and only into the public internet.

Guards that such a URL never reaches this server's own network, whatever its name resolves to:

- The name is looked up once. Where any of its addresses may not be reached, nothing is.
- The address connected to is one that was judged, so a name that changes its mind is too late.
- A redirect is an answer like others; nobody follows it. No proxy and no variable is asked.
- TLS, certificate and `Host` are for the name, not for the address.
- Time, head and body of the answer are bounded, and no connection serves a second request.
"""

import ssl
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from http.client import HTTPException

from outward.addresses import Address, Networks, may_reach
from outward.deadline import Deadline
from outward.destinations import Destination, Flaw, parse
from outward.resolving import Resolve, resolve_by, system_addresses
from outward.wire import connection, read_answer

MAX_ANSWER_BYTES = 65_536
_OURS = frozenset(
    {"host", "connection", "content-length", "transfer-encoding", "accept-encoding", "user-agent"}
)


class Reason(StrEnum):
    """Why there is no answer.

    Tell a tenant BLOCKED, REFUSED and TIMED_OUT alike (`is_unreachable`), and how long it took
    with none of them: the difference would map the network.
    """

    BLOCKED = "blocked"
    REFUSED = "refused"
    TIMED_OUT = "timed_out"
    TLS = "tls"
    BAD_ANSWER = "bad_answer"

    @property
    def is_unreachable(self) -> bool:
        """Whether this is one of those that look alike from outside."""
        return self in {Reason.BLOCKED, Reason.REFUSED, Reason.TIMED_OUT}


@dataclass(frozen=True, slots=True)
class Sent:
    """An answer: its status, the start of its body as it came, and how long all of it took."""

    status: int
    body_start: bytes
    took_s: float

    @property
    def is_taken(self) -> bool:
        """Whether the other side says that it took the request."""
        return 200 <= self.status < 300


@dataclass(frozen=True, slots=True)
class Unsent:
    """No answer; the request may have arrived all the same, unless it was BLOCKED."""

    reason: Reason


@dataclass(frozen=True, slots=True)
class Found:
    """A destination whose every address may be reached, in the order of the resolver."""

    destination: Destination
    addresses: tuple[Address, ...]


def find(
    url: str,
    *,
    timeout_s: float,
    allow: Networks = (),
    allow_http: bool = False,
    resolve: Resolve = system_addresses,
) -> Found | Unsent:
    """Judge a URL as `post` would, without connecting: for a form that stores one."""
    return _found(parse(url, allow_http=allow_http), Deadline.after(timeout_s), allow, resolve)


def post(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    timeout_s: float,
    allow: Networks = (),
    allow_http: bool = False,
    max_answer_bytes: int = MAX_ANSWER_BYTES,
    resolve: Resolve = system_addresses,
    tls: ssl.SSLContext | None = None,
) -> Sent | Unsent:
    """POST these bytes once and give the answer, or why there is none.

    Over within `timeout_s`, looking up and reading included. `allow` are networks that the
    operator lets everybody reach besides public addresses. Certificates are checked against the
    system's store unless `tls`, which must check names, brings another. Safe in many threads.
    Raises ValueError for headers that are not the caller's to set or hold line ends.
    """
    started = time.monotonic()
    deadline = Deadline.after(timeout_s)
    if taken := _OURS & {name.lower() for name in headers}:
        raise ValueError(f"not the caller's to set: {', '.join(sorted(taken))}")
    found = _found(parse(url, allow_http=allow_http), deadline, allow, resolve)
    if isinstance(found, Unsent):
        return found
    try:
        answer = _exchange(
            found,
            body,
            headers,
            deadline=deadline,
            max_answer_bytes=max_answer_bytes,
            tls=tls or _system_tls(),
        )
    except TimeoutError:
        return Unsent(Reason.TIMED_OUT)
    except ssl.SSLError:
        return Unsent(Reason.TLS)
    except HTTPException:
        return Unsent(Reason.BAD_ANSWER)
    except OSError:
        return Unsent(Reason.REFUSED)
    return Sent(*answer, took_s=time.monotonic() - started)


def _found(
    read: Destination | Flaw, deadline: Deadline, allow: Networks, resolve: Resolve
) -> Found | Unsent:
    if isinstance(read, Flaw):
        return Unsent(Reason.BLOCKED)
    try:
        addresses = _addresses(read, deadline, resolve)
    except TimeoutError:
        return Unsent(Reason.TIMED_OUT)
    except (OSError, UnicodeError):
        return Unsent(Reason.REFUSED)
    if not all(may_reach(address, allow) for address in addresses):
        return Unsent(Reason.BLOCKED)
    return Found(read, addresses) if addresses else Unsent(Reason.REFUSED)


def _addresses(
    destination: Destination, deadline: Deadline, resolve: Resolve
) -> tuple[Address, ...]:
    if destination.address is not None:
        return (destination.address,)
    told = resolve_by(deadline, resolve, destination.host, destination.port)
    return tuple(dict.fromkeys(told))


def _exchange(
    found: Found,
    body: bytes,
    headers: Mapping[str, str],
    *,
    deadline: Deadline,
    max_answer_bytes: int,
    tls: ssl.SSLContext,
) -> tuple[int, bytes]:
    line = connection(found.destination, found.addresses, deadline, tls)
    try:
        line.connect()
        sock = line.sock  # sending may close the line, and an answer can be there all the same
        line.putrequest("POST", found.destination.target, skip_host=True, skip_accept_encoding=True)
        for name, value in {
            "Host": found.destination.authority,
            "User-Agent": "Placet",
            "Accept-Encoding": "identity",
            "Connection": "close",
            "Content-Length": str(len(body)),
            **headers,
        }.items():
            line.putheader(name, value)
        with suppress(BrokenPipeError, ConnectionResetError):  # it may have answered early
            line.endheaders(body)
        return read_answer(sock, deadline, max_answer_bytes)
    finally:
        line.close()


@cache
def _system_tls() -> ssl.SSLContext:
    """The system's certificates; made without `create_default_context`, which asks a variable."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.hostname_checks_common_name = False
    context.load_default_certs()
    return context
