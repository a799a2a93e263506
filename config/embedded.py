"""The embedded PostgreSQL server: one cluster in a folder, shared by whoever uses it.

Two invariants, each held by a lock of the operating system, which no crash can leave behind:

- only the holder of `postgres.lock` starts or stops the server;
- every user of the server holds `postgres.users` shared. The one that leaves last, and so can
  take it exclusively, stops the server. A user that was killed no longer counts, and a server
  that it left running is joined by the next user.

No pid file is believed: a server counts as running when it answers and names our folder.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shlex
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from types import TracebackType
from typing import Self
from urllib.parse import quote

import psutil
import psycopg

from config.account import Account, make_reachable, server_account
from config.binaries import binaries, locales, major_version
from config.env import ConfigError

SUPERUSER = "postgres"

_PORT = 5432
_SOCKET = f".s.PGSQL.{_PORT}"
_SOCKET_PATH_BYTES = 100
_PATIENCE_S = 60
_NOT_DURABLE = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


class Cluster:
    """A PostgreSQL cluster in `data_dir`/postgres, reached by a Unix socket of its owner only.

    `bindir` holds other binaries than the installed ones (version 15 or later). `durable=False`
    trades crash safety for speed and is for tests alone. Every failure is a ConfigError.
    """

    def __init__(self, data_dir: Path, bindir: Path | None = None, *, durable: bool = True) -> None:
        self.data_dir = data_dir.absolute()
        self.home = self.data_dir / "postgres"
        self.data = self.home / "data"
        self.log = self.home / "server.log"
        self._bindir = bindir
        self._durable = durable
        self._use: int | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def account(self) -> Account:
        """The account that the server runs as."""
        return server_account(self.home)

    @property
    def socket_dir(self) -> Path:
        """The folder of the server's socket: a short one where the system allows no path as long.

        The same where a comma would make an address name two hosts.
        """
        inside = self.home / "socket"
        if len(os.fsencode(inside / _SOCKET)) <= _SOCKET_PATH_BYTES and "," not in str(inside):
            return inside
        mark = hashlib.sha256(os.fsencode(self.home)).hexdigest()[:12]
        return Path(f"/tmp/placet-{self.account.uid}-{mark}")

    def url(self, *, user: str, dbname: str) -> str:
        """Give the address of a database of this cluster, whether or not it runs."""
        host = quote(str(self.socket_dir), safe="")
        return f"postgresql://{quote(user)}@/{quote(dbname)}?host={host}&port={_PORT}"

    def start(self) -> None:
        """Start the server, or join the one that runs, and count as its user until stop()."""
        if self._use is not None:
            return
        try:
            make_reachable(self.data_dir)
            with self._locked():
                self._use = _open_lock(self.data_dir / "postgres.users")
                fcntl.flock(self._use, fcntl.LOCK_SH)
                try:
                    self._start()
                except BaseException:
                    self._leave()
                    raise
        except OSError as error:
            raise ConfigError(
                f"The embedded PostgreSQL server cannot use {error.filename or self.data_dir}:"
                f" {error.strerror}. Name another folder with PLACET_DATA_DIR, or set DATABASE_URL."
            ) from error

    def stop(self) -> bool:
        """Stop counting as a user, and stop the server unless another one is left.

        Says whether nobody is left. Without start() before, it clears up after users that
        were killed.
        """
        if self._use is None and not self.home.exists():
            return True
        with self._locked():
            if self._use is None:
                self._use = _open_lock(self.data_dir / "postgres.users")
            return self._leave()

    def _leave(self) -> bool:
        """Under the lock: give up the use, after stopping the server if it was the last."""
        assert self._use is not None
        try:
            fcntl.flock(self._use, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        else:
            self._shut_down()
            return True
        finally:
            os.close(self._use)
            self._use = None

    def _start(self) -> None:
        account = self.account
        account.own_folder(self.home)
        account.own_folder(self.socket_dir)
        if not account.can_reach(self.home):
            raise ConfigError(
                f"PostgreSQL does not run as root, and the account with the number {account.uid}"
                f" cannot reach {self.home}. Name a folder that it can with PLACET_DATA_DIR."
            )
        if self._settled():
            return
        bindir = binaries(self._bindir, account)
        self._initialize(bindir)
        self._clear_traces()
        started = self._pg_ctl(bindir, "start", "-l", self.log.name, "-o", self._options())
        if not started or not self._serves():
            raise ConfigError(f"The embedded PostgreSQL server did not start.\n{self._log_end()}")

    def _settled(self) -> bool:
        """Wait until the server answers (true) or no process of it is left (false).

        A server may be recovering from a crash, and the children of a killed one end a moment
        after it; starting another beside them would destroy the data.
        """
        deadline = time.monotonic() + _PATIENCE_S
        while not self._serves():
            live = self._live()
            if not live:
                return False
            if time.monotonic() > deadline:
                raise ConfigError(
                    f"The processes {live} serve {self.data} but do not answer.\n{self._log_end()}"
                )
            time.sleep(0.05)
        return True

    def _serves(self) -> bool:
        """Whether a server answers at our socket and says that it serves our folder."""
        try:
            with psycopg.connect(
                self.url(user=SUPERUSER, dbname="postgres"), connect_timeout=5
            ) as connection:
                row = connection.execute("SELECT current_setting('data_directory')").fetchone()
        except psycopg.OperationalError:
            return False
        return row is not None and os.path.realpath(row[0]) == os.path.realpath(self.data)

    def _live(self) -> list[int]:
        """Give the processes of PostgreSQL that work in our folder.

        Each has it as its working folder, which tells it from a server of another folder that
        was given the same number. One that cannot be asked counts if the pid file names it.
        """
        live = []
        for process in psutil.process_iter():
            try:
                if process.name() != "postgres":
                    continue
                if os.path.realpath(process.cwd()) == os.path.realpath(self.data):
                    live.append(process.pid)
            except psutil.AccessDenied:
                if process.pid == self._recorded_pid():
                    live.append(process.pid)
            except psutil.NoSuchProcess:
                continue
        return live

    def _recorded_pid(self) -> int | None:
        try:
            return int((self.data / "postmaster.pid").read_text().split("\n", 1)[0])
        except (OSError, ValueError):
            return None

    def _initialize(self, bindir: Path) -> None:
        """Make the cluster beside its place and rename it, so that half of one never counts."""
        major = major_version(bindir)
        if self.data.exists():
            made_by = (self.data / "PG_VERSION").read_text().strip()
            if made_by != str(major):
                raise ConfigError(
                    f"{self.data} was made by PostgreSQL {made_by}, the binaries are of {major}."
                    " Name other binaries with PLACET_PG_BINDIR, or another PLACET_DATA_DIR."
                )
            return
        fresh = self.home / "data.new"
        options = ["-U", SUPERUSER, "--auth=trust", "-E", "UTF8", "--data-checksums"]
        if not self._durable:
            options.append("--no-sync")
        with TemporaryFile() as said:
            for locale in locales(major):
                shutil.rmtree(fresh, ignore_errors=True)
                initdb = [str(bindir / "initdb"), "-D", fresh.name, *options, *locale]
                if self.account.run(initdb, cwd=self.home, said=said) == 0:
                    fresh.rename(self.data)
                    return
            said.seek(0)
            raise ConfigError(f"{fresh} could not be made.\n{said.read().decode(errors='replace')}")

    def _clear_traces(self) -> None:
        """Remove what a killed server left; only after _settled() found no process of it."""
        for trace in (
            self.data / "postmaster.pid",
            self.socket_dir / _SOCKET,
            self.socket_dir / f"{_SOCKET}.lock",
        ):
            trace.unlink(missing_ok=True)

    def _pg_ctl(self, bindir: Path, *command: str) -> bool:
        """Run pg_ctl with relative paths: it hands them to a shell with too little quoting."""
        patience = ["-w", "-t", str(_PATIENCE_S), "-D", self.data.name]
        return self.account.run([str(bindir / "pg_ctl"), *command, *patience], cwd=self.home) == 0

    def _options(self) -> str:
        """Give the server's settings, quoted for the shell that pg_ctl starts it with."""
        folder = str(self.socket_dir).replace('"', '""')
        settings = {
            "listen_addresses": "",
            "port": str(_PORT),
            "unix_socket_directories": f'"{folder}"',
            "unix_socket_permissions": "0700",
            "timezone": "UTC",
            "log_timezone": "UTC",
        } | ({} if self._durable else _NOT_DURABLE)
        return " ".join(f"-c {shlex.quote(f'{name}={value}')}" for name, value in settings.items())

    def _shut_down(self) -> None:
        if not self._live():
            return
        stopped = self._pg_ctl(binaries(self._bindir, self.account), "stop", "-m", "fast")
        if not stopped and self._live():
            raise ConfigError(f"The embedded PostgreSQL server did not stop.\n{self._log_end()}")

    def _log_end(self) -> str:
        try:
            lines = self.log.read_text(errors="replace").splitlines()
        except OSError:
            lines = []
        return "\n".join([f"The end of {self.log}:", *lines[-10:]])

    @contextmanager
    def _locked(self) -> Iterator[None]:
        lock = _open_lock(self.data_dir / "postgres.lock")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)


def _open_lock(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
