"""Names to addresses, once and within a deadline.

The system's resolver cannot be interrupted, so it runs in a thread that is left behind when
time is up. At most `MOST_AT_ONCE` run; further calls wait for one of them, within their deadline.
"""

import socket
import threading
from collections.abc import Callable, Sequence
from ipaddress import ip_address

from outward.addresses import Address
from outward.deadline import Deadline

MOST_AT_ONCE = 32

Resolve = Callable[[str, int], Sequence[Address]]

_free = threading.BoundedSemaphore(MOST_AT_ONCE)


def system_addresses(host: str, port: int) -> list[Address]:
    """Ask the system; raises OSError where it knows no address."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    return [ip_address(str(entry[4][0]).partition("%")[0]) for entry in found]


def resolve_by(deadline: Deadline, resolve: Resolve, host: str, port: int) -> Sequence[Address]:
    """Give what `resolve` gives, or raise what it raises; TimeoutError when it takes too long."""
    if not _free.acquire(timeout=deadline.left_s()):
        raise TimeoutError
    told: list[Sequence[Address]] = []
    failed: list[OSError | UnicodeError] = []

    def ask() -> None:
        try:
            told.append(resolve(host, port))
        except (OSError, UnicodeError) as error:
            failed.append(error)
        finally:
            _free.release()

    asking = threading.Thread(target=ask, name="outward-resolve", daemon=True)
    asking.start()
    asking.join(deadline.left_s())
    if failed:
        raise failed[0]
    if not told:
        raise TimeoutError
    return told[0]
