"""Writers of events, in a process of their own: transactions that overlap and commit late.

Reads JSON from its input: the keys of the agents for which to write in turn, the owner's name, how
many events, by how many writers, and a seed. Ends when at least so many are committed.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import django
from django.db import connection, transaction

MOST_QUESTIONS = 10
LATE_S = 0.02
ROLLED_BACK = 0.05


@dataclass(frozen=True, slots=True)
class Task:
    """What one process of writers is told to do."""

    keys: Sequence[str]
    owner: str
    events: int
    writers: int
    seed: int


@contextmanager
def writing(
    task: Task, *, environment: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """The process; killed at the end of the block if it still writes."""
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.writers"],
        stdin=subprocess.PIPE,
        text=True,
        env=None if environment is None else dict(environment),
    )
    assert process.stdin is not None
    try:
        json.dump({name: getattr(task, name) for name in Task.__slots__}, process.stdin)
        process.stdin.close()
        yield process
    finally:
        process.kill()
        process.wait()


@dataclass
class _Count:
    """How many events are still to be written; shared by the writers."""

    left: int
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, count: int) -> None:
        with self.lock:
            self.left -= count


def _write(task: Task, number: int, count: _Count) -> None:
    from approvals.models.asking import ask
    from approvals.models.content import NewQuestion
    from identity.models import AgentKey, User
    from placet.protocol.states import InterruptKind
    from runs.models import NewRun, Run
    from runs.rules.refusal import Refusal

    rng = random.Random(task.seed * 1000 + number)
    key = AgentKey.holder(task.keys[number % len(task.keys)])
    assert key is not None
    agent = key.agent
    owner = User.objects.get(username=task.owner)
    questions = [
        NewQuestion(call_id=f"call-{each}", kind=InterruptKind.APPROVAL, tool="pay", args={})
        for each in range(MOST_QUESTIONS)
    ]
    while count.left > 0:
        with transaction.atomic():
            begun = Run.begin(NewRun(title="Pay", owner=owner), agent=agent)
            assert not isinstance(begun, Refusal), begun
            asked = ask(begun[0].pk, questions[: rng.randint(1, MOST_QUESTIONS)], agent=agent)
            assert not isinstance(asked, Refusal), asked
            time.sleep(rng.uniform(0, LATE_S))
            is_undone = rng.random() < ROLLED_BACK
            transaction.set_rollback(is_undone)
        if not is_undone:
            ended = Run.objects.get(pk=asked.run.pk).cancel(by=agent)
            assert isinstance(ended, Run), ended
            count.take(ended.event_seq)
    connection.close()


def main() -> None:
    """Be the other process."""
    django.setup()
    task = Task(**json.load(sys.stdin))
    count = _Count(task.events)
    threads = [
        threading.Thread(target=_write, args=(task, number, count))
        for number in range(task.writers)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
