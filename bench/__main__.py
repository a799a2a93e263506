"""`python -m bench NAME [--quick]`: one measurement, or `all`, each in a process of its own."""

from __future__ import annotations

import argparse
import importlib
import signal
import subprocess
import sys
from types import FrameType

import django

from bench.server import database_running

NAMES = (
    "flushes",
    "decision",
    "dispatch",
    "waiting",
    "click",
    "rounds",
    "inbox",
    "pages",
    "webhooks",
    "events",
)


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(prog="bench")
    parser.add_argument("name", choices=[*NAMES, "all"])
    parser.add_argument("--quick", action="store_true", help="small: to see that it works")
    given = parser.parse_args()
    if given.name == "all":
        for name in NAMES:
            quick = ["--quick"] if given.quick else []
            subprocess.run([sys.executable, "-m", "bench", name, *quick], check=True)
        return
    signal.signal(signal.SIGTERM, _end)  # so that everything started here is stopped
    with database_running() as cluster:
        django.setup()
        measurement = importlib.import_module(f"bench.{given.name}")
        measurement.measure(cluster, is_quick=given.quick)


def _end(number: int, _frame: FrameType | None) -> None:
    sys.exit(128 + number)


if __name__ == "__main__":
    main()
