"""One server for the whole kit: the process that started pytest holds it, its workers use it."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.site import Site, end, reached, start

FOLDER = "PLACET_CONFORMANCE_SITE"

_running: list[subprocess.Popen[str]] = []


def pytest_configure() -> None:
    """Let the server start while the frameworks are being loaded."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        os.environ[FOLDER] = tempfile.mkdtemp(prefix="placet-conformance-")
        _running.append(start(Path(os.environ[FOLDER])))


def pytest_unconfigure() -> None:
    """End it, also when the run was interrupted."""
    for process in _running:
        end(process, Path(os.environ[FOLDER]))


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    with reached(Path(os.environ[FOLDER])) as site:
        yield site
