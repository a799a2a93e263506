"""Wake-ups: sent soon, all of them, by whatever process, and by none that would hang on it."""

import json
import os
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from django.db import connection

from runs.waiting.connecting import connection_parameters
from runs.waiting.notifier import NOTIFIER, wake
from tests.waiting.site import Things

ROOT = Path(__file__).parents[2]


@pytest.fixture
def ears(things: Things) -> Iterator[psycopg.Connection]:
    with psycopg.connect(**connection_parameters()) as listening:
        listening.execute("LISTEN placet_wake")
        yield listening


def heard(ears: psycopg.Connection, count: int, *, within_s: float = 5.0) -> set[str]:
    """Listen until so many ids were heard, or the time is up."""
    ids: set[str] = set()
    deadline = time.monotonic() + within_s
    while len(ids) < count and (left_s := deadline - time.monotonic()) > 0:
        for notify in ears.notifies(timeout=left_s, stop_after=1):
            ids.update(notify.payload.split(","))
    return ids


def test_a_wake_up_of_an_idle_process_takes_milliseconds(ears: psycopg.Connection) -> None:
    wake(["run_0"])
    assert heard(ears, 1) == {"run_0"}
    time.sleep(0.05)

    began = time.monotonic()
    wake(["run_1"])

    assert heard(ears, 1) == {"run_1"}
    assert time.monotonic() - began < 0.5


def test_many_wake_ups_arrive_whole_and_in_few_notifications(ears: psycopg.Connection) -> None:
    ids = {f"int_{number:026}" for number in range(5000)}

    for each in ids:
        wake([each])

    payloads = [each.payload for each in ears.notifies(timeout=1)]
    assert set().union(*(payload.split(",") for payload in payloads)) == ids
    assert max(len(payload) for payload in payloads) < 8000
    assert len(payloads) < 500


def test_a_dead_connection_is_made_again(things: Things, ears: psycopg.Connection) -> None:
    wake(["run_0"])
    assert heard(ears, 1) == {"run_0"}
    assert things.end_notifiers() == 1

    wake(["run_1"])

    assert heard(ears, 1) == {"run_1"}


def test_waking_does_not_wait_for_the_database(
    things: Things, monkeypatch: pytest.MonkeyPatch
) -> None:
    NOTIFIER.close()
    reached, go = threading.Event(), threading.Event()

    def hang() -> None:
        reached.set()
        go.wait(10)
        raise psycopg.OperationalError("no database")

    monkeypatch.setattr("runs.waiting.notifier.connection_parameters", hang)

    wake(["run_1"])
    assert reached.wait(5)
    wake(["run_2"])

    go.set()


def test_a_forked_child_wakes_with_a_connection_of_its_own(ears: psycopg.Connection) -> None:
    wake(["run_0"])
    assert heard(ears, 1) == {"run_0"}

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forking beside threads is meant
        child = os.fork()
    if child == 0:
        wake(["run_child"])
        NOTIFIER.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    wake(["run_parent"])

    assert heard(ears, 2) == {"run_child", "run_parent"}


def test_a_command_ends_and_its_last_wake_up_is_sent(ears: psycopg.Connection) -> None:
    settings = connection.settings_dict
    names = ("ENGINE", "NAME", "USER", "PASSWORD", "HOST", "PORT")
    database = json.dumps({name: settings[name] for name in names})
    command = (
        "import json, sys, django; from django.conf import settings\n"
        "settings.configure(DATABASES={'default': json.loads(sys.argv[1])})\n"
        "django.setup(); from runs.waiting.notifier import wake; wake(['run_1'])\n"
    )

    subprocess.run([sys.executable, "-c", command, database], cwd=ROOT, check=True, timeout=10)

    assert heard(ears, 1) == {"run_1"}
