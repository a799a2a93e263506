"""The account of the operating system that the embedded PostgreSQL server runs as.

PostgreSQL refuses to run as root. As root the server therefore runs as whoever owns its
folder already, else as `postgres`, else as `nobody`; its folder belongs to that account alone.
"""

from __future__ import annotations

import os
import pwd
import stat
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from config.env import ConfigError

_CANDIDATES = ("postgres", "nobody")
_INHERITED = ("PATH", "LD_LIBRARY_PATH")


@dataclass(frozen=True, slots=True)
class Account:
    """One account; `is_dropped` says that this process is root and steps down to it."""

    uid: int
    gid: int
    is_dropped: bool

    def run(self, command: Sequence[str], *, cwd: Path, said: IO[bytes] | None = None) -> int:
        """Run a command as this account in a session of its own; give its exit code.

        Its output goes to the file `said` or nowhere, never to a pipe: a server started by it
        would keep one open for ever. The session keeps Ctrl-C in a terminal from stopping the
        server beside its users.
        """
        environment = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        return subprocess.run(
            command,
            cwd=cwd,
            env=environment | {"LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=said or subprocess.DEVNULL,
            stderr=said or subprocess.DEVNULL,
            start_new_session=True,
            umask=0o077,
            user=self.uid if self.is_dropped else None,
            group=self.gid if self.is_dropped else None,
            extra_groups=[] if self.is_dropped else None,
            check=False,
        ).returncode

    def can_reach(self, path: Path) -> bool:
        """Whether this account may enter the folder, or run the file, at `path`."""
        if not self.is_dropped:
            return os.access(path, os.X_OK)
        return self.run(["test", "-x", str(path)], cwd=Path("/")) == 0

    def own_folder(self, path: Path) -> None:
        """Make the folder `path` for this account alone; refuse one that is not.

        The check reads the folder itself, not what a link there points to: in a folder that
        everybody may write to, somebody else may have been there first.
        """
        with suppress(FileExistsError):
            path.mkdir(mode=0o700)
        if self.is_dropped and path.lstat().st_uid == 0:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)
        found = path.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != self.uid or found.st_mode & 0o077:
            raise ConfigError(
                f"{path} must be a folder that only the account with the number {self.uid} can"
                f" enter; it belongs to {found.st_uid}. Start as its owner, or name another"
                " folder with PLACET_DATA_DIR."
            )


def server_account(folder: Path) -> Account:
    """Give the account for the server whose files lie, or will lie, in `folder`."""
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid(), is_dropped=False)
    owner = folder.stat() if folder.exists() else None
    if owner is not None and owner.st_uid != 0:
        return Account(owner.st_uid, owner.st_gid, is_dropped=True)
    for name in _CANDIDATES:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(entry.pw_uid, entry.pw_gid, is_dropped=True)
    raise ConfigError(
        "PostgreSQL does not run as root, and there is no account postgres or nobody to run it"
        " as. Start as an ordinary user, or set DATABASE_URL."
    )


def make_reachable(folder: Path) -> None:
    """Make the missing folders of a path so that the server's account can pass through them."""
    if folder.is_dir():
        return
    make_reachable(folder.parent)
    with suppress(FileExistsError):
        folder.mkdir()
        folder.chmod(0o755)
