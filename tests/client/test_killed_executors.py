"""An executor that is killed at any step acts at most once, and its run stands as it should."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from approvals.models import Interrupt
from runs.models import Action, Run
from tests.client.site import People, Site
from tests.concurrency.outside import CHECKOUT

pytestmark = pytest.mark.django_db(transaction=True)

Execute = Callable[[str], int]


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    path = tmp_path / "ledger"
    path.touch()
    return path


@pytest.fixture
def execute(served: Site, key: str, ledger: Path) -> Execute:
    """Give a function that runs the executor until it ends or dies; gives its exit code."""

    def execute(dies_at: str) -> int:
        program = [sys.executable, "-m", "tests.client.dying_executor"]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        done = subprocess.run(
            [*program, served.url, key, str(ledger), dies_at],
            cwd=CHECKOUT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode in (0, -signal.SIGKILL), done.stderr
        return done.returncode

    return execute


@pytest.mark.parametrize(
    ("dies_at", "state", "done"),
    [
        ("before-lease", "READY", 0),
        ("after-lease", "READY", 0),
        ("before-dispatch", "READY", 0),
        ("after-dispatch", "UNKNOWN", 0),
        ("before-effect", "UNKNOWN", 0),
        ("after-effect", "UNKNOWN", 1),
        ("before-result", "UNKNOWN", 1),
        ("after-result", "READY", 1),
        ("after-release", "READY", 1),
        ("before-finish", "READY", 1),
        ("after-finish", "DONE", 1),
    ],
)
def test_it_acts_at_most_once_wherever_it_dies(
    execute: Execute, people: People, ledger: Path, *, dies_at: str, state: str, done: int
) -> None:
    assert execute("") == 0
    people.answer(Interrupt.objects.get().pk)

    assert execute(dies_at) == -signal.SIGKILL

    run_id = Run.objects.get().pk
    people.lapse(run_id)
    people.settle(run_id)
    assert (people.state(run_id), len(ledger.read_text().splitlines())) == (state, done)

    assert execute("") == 0

    is_known = state != "UNKNOWN"
    assert people.state(run_id) == ("DONE" if is_known else "UNKNOWN")
    assert len(ledger.read_text().splitlines()) == (1 if is_known else done)
    assert Action.objects.count() == 1
