#!/usr/bin/env python3
"""Runs an example in the examples' own environment, which is made when missing.

    python3 examples/run.py pay_vendor --help    an example and its options
    python3 examples/run.py --install            the environment only

The environment is `.placet/examples`: exactly what `examples/requirements.lock` names, and
nothing of the server's.
"""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent
sys.path.insert(0, str(EXAMPLES.parent))

import bootstrap  # noqa: E402 - found through the line above

LOCK = EXAMPLES / "requirements.lock"
VENV = bootstrap.PRIVATE / "examples"
STAMP = VENV / "placet.stamp"


def main(arguments: list[str]) -> None:
    """Make the environment, then become the example."""
    if not arguments or arguments[0] in {"-h", "--help"}:
        print(__doc__)
        return
    install()
    if arguments[0] != "--install":
        sys.stdout.flush()
        python = str(VENV / "bin" / "python")
        environment = bootstrap.environment() | {"PYTHONPATH": str(EXAMPLES)}
        os.execve(python, [python, "-m", *arguments], environment)


def install() -> None:
    """Make the environment what the lock file says, unless it is; two at once take turns."""
    with bootstrap.locked():
        if STAMP.exists() and STAMP.read_text() == fingerprint():
            return
        uv = bootstrap.ensure_uv()
        bootstrap.say("Making the environment of the examples")
        settings, python = bootstrap.uv_environment(), VENV / "bin" / "python"
        venv = ("venv", "--clear", "--python", bootstrap.interpreter(), VENV)
        bootstrap.run_tool(settings, uv, *venv)
        sync = ("pip", "sync", "--python", python, "--require-hashes", LOCK)
        bootstrap.run_tool(settings, uv, *sync)
        STAMP.write_text(fingerprint())


def fingerprint() -> str:
    """Give what the environment depends on: the place, the interpreter, the lock file."""
    place = f"{VENV}\0{bootstrap.interpreter()}\0{sys.version}\0"
    return hashlib.sha256(place.encode() + LOCK.read_bytes()).hexdigest()


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except bootstrap.BootstrapError as error:
        sys.exit(f"examples: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
