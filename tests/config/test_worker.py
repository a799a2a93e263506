"""The worker outlives its own faults."""

import threading

import pytest

from config import worker

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_unexpected_exception_does_not_end_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    ending = threading.Event()
    swept: list[int] = []

    def sweep() -> int:
        swept.append(1)
        if len(swept) == 1:
            raise KeyError("a fault of ours")
        ending.set()
        return 0

    monkeypatch.setattr(worker, "sweep", sweep)
    monkeypatch.setattr(worker, "SWEEP_EVERY_S", 0.0)

    worker.work(ending)

    assert len(swept) == 2
