"""Which database this process talks to, as whom, and that its answers last.

`DATABASE_URL` is the runtime role's address, `DATABASE_OWNER_URL` the owner's, which only
`migrate` uses; without them an embedded server gives both.
"""

from __future__ import annotations

import getpass
import hashlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from config.account import server_account
from config.binaries import SHARED
from config.embedded import SUPERUSER, Cluster
from config.env import ConfigError, Env
from config.roles import DATABASE, OWNER, RUNTIME, HasCursor, create_roles

CHECKOUT = Path(__file__).resolve().parent.parent

_SCHEMES = ("postgresql://", "postgres://")
_CONNECT_TIMEOUT_S = 10
_POOL = {"min_size": 1, "max_size": 20, "timeout": 10}


def databases(env: Env, command: str) -> dict[str, dict[str, Any]]:
    """Give Django's DATABASES for a manage.py command ("" outside one).

    `migrate` connects as the owner, everything else as the runtime role through a pool.
    Connecting is left to Django: nothing is started or asked here.
    """
    is_owner = command == "migrate"
    address = _address(env, OWNER if is_owner else RUNTIME)
    options: dict[str, Any] = {
        "application_name": f"placet {command}".strip(),
        "connect_timeout": _CONNECT_TIMEOUT_S,
        "isolation_level": psycopg.IsolationLevel.READ_COMMITTED,
    } | ({} if is_owner else {"pool": dict(_POOL)})
    return {
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": address.pop("dbname"),
            "USER": address.pop("user", ""),
            "PASSWORD": address.pop("password", ""),
            "HOST": address.pop("host", ""),
            "PORT": address.pop("port", ""),
            "CONN_MAX_AGE": 0,
            "CONN_HEALTH_CHECKS": True,
            "OPTIONS": options | address,
        }
    }


def runtime_role(env: Env) -> str:
    """Give the name of the role that serves, to which `migrate` repeats the grants."""
    return str(_address(env, RUNTIME).get("user") or env.text("PGUSER") or getpass.getuser())


def data_dir(env: Env) -> Path:
    """Give the folder of what the product itself stores: PLACET_DATA_DIR, else `.placet`.

    Where the embedded server must not run as root and its account cannot enter the checkout,
    it is a folder under /var/lib/placet instead, one for each checkout.
    """
    given = env.path("PLACET_DATA_DIR")
    if given is not None:
        return given
    local = CHECKOUT / ".placet"
    account = server_account(local / "postgres")
    if account.can_reach(local if local.exists() else CHECKOUT):
        return local
    return SHARED / hashlib.sha256(os.fsencode(CHECKOUT)).hexdigest()[:12]


def embedded_cluster(env: Env) -> Cluster | None:
    """Give the embedded cluster, started or not; None where DATABASE_URL names a server."""
    if env.secret("DATABASE_URL") is not None:
        return None
    if env.secret("DATABASE_OWNER_URL") is not None:
        raise ConfigError("DATABASE_OWNER_URL is set, but DATABASE_URL is not.")
    return Cluster(data_dir(env), env.path("PLACET_PG_BINDIR"))


@contextmanager
def database_running(env: Env) -> Iterator[None]:
    """Hold the embedded server running inside the block, with its roles and database.

    Does nothing where DATABASE_URL names a server. SIGTERM and SIGHUP end the block like
    Ctrl-C does, so that the last user stops the server.
    """
    cluster = embedded_cluster(env)
    if cluster is None:
        yield
        return
    _exit_on_signals()
    with cluster:
        address = cluster.url(user=SUPERUSER, dbname="postgres")
        with psycopg.connect(address, autocommit=True) as connection:
            create_roles(connection)
        yield


def check_durability(connection: HasCursor) -> None:
    """Raise ConfigError where a crash of the server could undo what was committed."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('fsync'), current_setting('synchronous_commit')")
        settings = dict(zip(("fsync", "synchronous_commit"), cursor.fetchone(), strict=True))
    for name, value in settings.items():
        if value == "off":
            raise ConfigError(
                f"PostgreSQL runs with {name} = off: a crash could undo an answer that was"
                " already told. Set it to on."
            )


def _address(env: Env, role: str) -> dict[str, Any]:
    """Give the address of a role as libpq reads it; messages never repeat it."""
    cluster = embedded_cluster(env)
    if cluster is not None:
        return dict(conninfo_to_dict(cluster.url(user=role, dbname=DATABASE)))
    name = "DATABASE_URL"
    if role == OWNER and env.secret("DATABASE_OWNER_URL") is not None:
        name = "DATABASE_OWNER_URL"
    url = (env.secret(name) or "").strip()
    try:
        address = dict(conninfo_to_dict(url)) if url.startswith(_SCHEMES) else {}
    except psycopg.ProgrammingError:
        address = {}
    if not address.get("dbname"):
        raise ConfigError(
            f"{name} is not the address of a PostgreSQL database:"
            " postgresql://user:password@host:port/name?option=value, each part percent-encoded."
        )
    return address


def _exit_on_signals() -> None:
    """Let SIGTERM and SIGHUP raise SystemExit where nobody handles or ignores them."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _exit)


def _exit(number: int, _frame: FrameType | None) -> None:
    sys.exit(128 + number)
