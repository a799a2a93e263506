"""Folders and programs for tests that run servers of their own."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.env import Env


@pytest.fixture
def folder() -> Iterator[Path]:
    """Give a folder with a short path that every account can pass through."""
    made = Path(tempfile.mkdtemp(prefix="placet-cluster-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


@pytest.fixture
def bindir() -> Path | None:
    """Give the programs that this run is about."""
    return Env(os.environ).path("PLACET_PG_BINDIR")
