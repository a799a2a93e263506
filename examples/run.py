#!/usr/bin/env python3
"""Runs an example in the examples' own environment, which is made when missing.

    python3 examples/run.py pay_vendor --help    an example and its options
    python3 examples/run.py --install [NAME]     the environment only

The environment is `.placet/examples`: exactly what `examples/requirements.lock` names, the
client of this checkout, and nothing of the server's. An example with a lock file in its own
folder has one of its own, and `adapters` has that of the adapters' tests.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent
sys.path.insert(0, str(EXAMPLES.parent))

import bootstrap  # noqa: E402 - found through the line above


def environment_of(example: str) -> bootstrap.Venv:
    """The example's own, where its folder has a lock file; else the one that they share.

    The examples of the adapters have that of the adapters' tests, with the same frameworks.
    """
    name = example.partition(".")[0]
    if name == "adapters":
        return bootstrap.ADAPTERS
    folder = EXAMPLES / name
    if name and (folder / "requirements.lock").exists():
        venv = bootstrap.PRIVATE / f"examples-{name}"
    else:
        folder, venv = EXAMPLES, bootstrap.PRIVATE / "examples"
    return bootstrap.Venv(venv, folder / "requirements.lock", folder / "requirements.in")


def main(arguments: list[str]) -> None:
    """Make the environment, then become the example."""
    if not arguments or arguments[0] in {"-h", "--help"}:
        print(__doc__)
        return
    is_only_install = arguments[0] == "--install"
    environment = environment_of("".join(arguments[1:2]) if is_only_install else arguments[0])
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
