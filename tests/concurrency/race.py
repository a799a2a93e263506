"""Several commands at one instant: threads with connections of their own, let go together."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from django.db import connections

from audit.verify import verify
from identity.models import Tenant
from tests.concurrency.invariants import broken

ROUNDS = 100
PATIENCE_S = 60.0

Contender = Callable[[], Any]


def race(*contenders: Contender, first: int = 0) -> list[Any]:
    """What each contender gave, in the order given; `first` says who is let go first, about.

    An exception in any of them, a deadlock that the database broke included, fails the test.
    """
    barrier = threading.Barrier(len(contenders))
    results: list[Any] = [None] * len(contenders)
    failures: list[BaseException] = []

    def run(place: int) -> None:
        try:
            connections["default"].ensure_connection()
            barrier.wait(PATIENCE_S)
            results[place] = contenders[place]()
        except BaseException as error:
            failures.append(error)
        finally:
            connections.close_all()

    order = [(first + step) % len(contenders) for step in range(len(contenders))]
    threads = [threading.Thread(target=run, args=[place]) for place in order]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
        assert not thread.is_alive(), "a contender hangs"
    if failures:
        raise failures[0]
    return results


def later(by_s: float, command: Contender) -> Contender:
    """The same command, a moment after the barrier, for one that would else always be first."""

    def wait_and_run() -> Any:
        time.sleep(by_s)
        return command()

    return wait_and_run


def rounds(count: int = ROUNDS) -> Iterator[int]:
    """The numbers of the rounds; after the last one everything that must hold is checked."""
    yield from range(count)
    assert broken() == []
    for tenant_id in Tenant.objects.values_list("pk", flat=True):
        assert verify(tenant_id).first_bad is None
