#!/usr/bin/env python3
"""Runs an example in the examples' own environment, which is made when missing.

    python3 examples/run.py pay_vendor --help    an example and its options
    python3 examples/run.py --install [NAME]     the environment only

The environment is `.placet/examples`: exactly what `examples/requirements.lock` names, and
nothing of the server's. An example with a lock file in its own folder has one of its own.
"""

from __future__ import annotations

import hashlib
import os
import sys
from dataclasses import dataclass
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent
sys.path.insert(0, str(EXAMPLES.parent))

import bootstrap  # noqa: E402 - found through the line above


@dataclass(frozen=True, slots=True)
class Environment:
    """A folder with an interpreter, and the lock file that says what is in it."""

    lock: Path
    venv: Path

    @classmethod
    def of(cls, example: str) -> Environment:
        """The example's own, where its folder has a lock file; else the one that they share."""
        name = example.partition(".")[0]
        own = EXAMPLES / name / "requirements.lock"
        if name and own.exists():
            return cls(own, bootstrap.PRIVATE / f"examples-{name}")
        return cls(EXAMPLES / "requirements.lock", bootstrap.PRIVATE / "examples")

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.venv / "bin" / "python"

    def install(self) -> None:
        """Make it what the lock file says, unless it is; two at once take turns."""
        stamp = self.venv / "placet.stamp"
        with bootstrap.locked():
            if stamp.exists() and stamp.read_text() == self._fingerprint():
                return
            uv = bootstrap.ensure_uv()
            bootstrap.say(f"Making the environment {self.venv.name}")
            settings = bootstrap.uv_environment()
            venv = ("venv", "--clear", "--python", bootstrap.interpreter(), self.venv)
            bootstrap.run_tool(settings, uv, *venv)
            sync = ("pip", "sync", "--python", self.python, "--require-hashes", self.lock)
            bootstrap.run_tool(settings, uv, *sync)
            stamp.write_text(self._fingerprint())

    def _fingerprint(self) -> str:
        """What it depends on: the place, the interpreter, the lock file."""
        place = f"{self.venv}\0{bootstrap.interpreter()}\0{sys.version}\0"
        return hashlib.sha256(place.encode() + self.lock.read_bytes()).hexdigest()


def main(arguments: list[str]) -> None:
    """Make the environment, then become the example."""
    if not arguments or arguments[0] in {"-h", "--help"}:
        print(__doc__)
        return
    is_only_install = arguments[0] == "--install"
    environment = Environment.of("".join(arguments[1:2]) if is_only_install else arguments[0])
    environment.install()
    if is_only_install:
        return
    sys.stdout.flush()
    python = str(environment.python)
    variables = bootstrap.environment() | {"PYTHONPATH": str(EXAMPLES)}
    os.execve(python, [python, "-m", *arguments], variables)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except bootstrap.BootstrapError as error:
        sys.exit(f"examples: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
