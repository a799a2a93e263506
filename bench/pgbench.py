"""Runs pgbench, which comes with the embedded server's programs, and reads what it says."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from config.binaries import binaries
from config.embedded import Cluster
from config.env import Env

_TPS = re.compile(r"^tps = ([0-9.]+)", re.MULTILINE)
_DONE = re.compile(r"^number of transactions actually processed: ([0-9]+)", re.MULTILINE)
_FAILED = re.compile(r"^number of failed transactions: ([0-9]+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Ran:
    """How many transactions were done, and how many in a second."""

    transactions: int
    per_s: float


def pgbench(
    cluster: Cluster,
    script: Path,
    *,
    address: str,
    clients: int,
    each: int | None = None,
    seconds: int | None = None,
    first: int = 0,
) -> Ran:
    """Run a script: `each` transactions a client, or for so many seconds.

    The script knows `:client_id`, `:each` and `:first`; `:n` begins at -1 for each client and is
    the script's to count.
    """
    amount = ["-t", str(each)] if each else ["-T", str(seconds)]
    variables = {"n": -1, "each": each or 0, "first": first}
    said = subprocess.run(
        [
            str(_program(cluster)),
            *("-n", "-M", "simple", "-f", str(script), "-c", str(clients), "-j", "2"),
            *amount,
            *(part for name, value in variables.items() for part in ("-D", f"{name}={value}")),
            address,
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    done, tps = _DONE.search(said.stdout), _TPS.search(said.stdout)
    failed = _FAILED.search(said.stdout)
    if said.returncode or not (done and tps) or (failed and int(failed[1])):
        raise SystemExit(f"pgbench failed.\n{said.stdout}\n{said.stderr[-2000:]}")
    return Ran(int(done[1]), float(tps[1]))


def _program(cluster: Cluster) -> Path:
    return binaries(Env(os.environ).path("PLACET_PG_BINDIR"), cluster.account) / "pgbench"
