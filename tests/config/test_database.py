"""Which database, as whom, and that its answers last."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from config.database import (
    CHECKOUT,
    check_durability,
    data_dir,
    database_running,
    databases,
    runtime_role,
)
from config.embedded import SUPERUSER, Cluster
from config.env import ConfigError, Env

SERVED = """
import os, signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background ignores it
from config.database import database_running
from config.env import Env
with database_running(Env(os.environ)):
    print("running", flush=True)
    time.sleep(60)
"""


def test_an_address_is_read_as_libpq_reads_it() -> None:
    url = "postgresql://pla%40cet:p%2Fa%3As%23s@db.example:6432/pla%20cet?sslmode=require"

    default = databases(Env({"DATABASE_URL": url}), "serve")["default"]

    assert {name: default[name] for name in ("USER", "PASSWORD", "HOST", "PORT", "NAME")} == {
        "USER": "pla@cet",
        "PASSWORD": "p/a:s#s",
        "HOST": "db.example",
        "PORT": "6432",
        "NAME": "pla cet",
    }
    assert default["OPTIONS"] == {
        "application_name": "placet serve",
        "connect_timeout": 10,
        "isolation_level": psycopg.IsolationLevel.READ_COMMITTED,
        "pool": {"min_size": 1, "max_size": 20, "timeout": 10},
        "sslmode": "require",
    }


@pytest.mark.parametrize(
    "url",
    [
        "postgresql:///placet?host=/run/postgresql",
        "postgresql://%2Frun%2Fpostgresql/placet",
        "postgres://@/placet?host=%2Frun%2Fpostgresql",
    ],
)
def test_a_host_may_be_a_folder_of_sockets(url: str) -> None:
    default = databases(Env({"DATABASE_URL": url}), "")["default"]

    assert (default["HOST"], default["NAME"]) == ("/run/postgresql", "placet")
    assert default["OPTIONS"]["application_name"] == "placet"


def test_what_the_address_says_wins_over_the_defaults() -> None:
    url = "postgresql://h/d?application_name=mine&connect_timeout=3"

    options = databases(Env({"DATABASE_URL": url}), "worker")["default"]["OPTIONS"]

    assert (options["application_name"], options["connect_timeout"]) == ("mine", "3")


def test_only_migrate_connects_as_the_owner_and_without_a_pool() -> None:
    env = Env(
        {
            "DATABASE_URL": "postgresql://serves@h/d",
            "DATABASE_OWNER_URL": "postgresql://owns@h/d",
        }
    )

    users = {name: databases(env, name)["default"]["USER"] for name in ("migrate", "serve", "")}
    pooled = {
        name: "pool" in databases(env, name)["default"]["OPTIONS"] for name in ("migrate", "")
    }

    assert users == {"migrate": "owns", "serve": "serves", "": "serves"}
    assert pooled == {"migrate": False, "": True}
    assert runtime_role(env) == "serves"


def test_one_address_is_both_roles() -> None:
    env = Env({"DATABASE_URL": "postgresql://both@h/d"})

    assert databases(env, "migrate")["default"]["USER"] == "both"


@pytest.mark.parametrize(
    "url",
    [
        "mysql://placet:hunter2@h/d",
        "placet:hunter2",
        "postgresql://placet:hunter2@h",
        "postgresql://placet:hunter2@h/d?nonsense=1",
        "postgresql://placet:hunter2@[h/d",
        "host=h dbname=d password=hunter2",
    ],
)
def test_a_wrong_address_is_refused_by_name_and_not_repeated(url: str) -> None:
    with pytest.raises(ConfigError) as refused:
        databases(Env({"DATABASE_URL": url}), "")

    assert str(refused.value).startswith("DATABASE_URL is not the address")
    assert "hunter2" not in str(refused.value)
    assert refused.value.__cause__ is None


def test_an_owner_alone_is_refused() -> None:
    with pytest.raises(ConfigError, match="DATABASE_OWNER_URL is set, but DATABASE_URL is not"):
        databases(Env({"DATABASE_OWNER_URL": "postgresql://owns@h/d"}), "migrate")


def test_without_an_address_the_embedded_server_gives_both_roles(folder: Path) -> None:
    env = Env({"PLACET_DATA_DIR": str(folder)})

    default, owner = (databases(env, name)["default"] for name in ("", "migrate"))

    assert default["HOST"] == owner["HOST"] == str(folder / "postgres" / "socket")
    assert (default["NAME"], default["USER"]) == ("placet", "placet")
    assert (owner["NAME"], owner["USER"]) == ("placet", "placet_owner")
    assert runtime_role(env) == "placet"


def test_the_data_lie_where_the_operator_says_else_by_the_checkout(folder: Path) -> None:
    assert data_dir(Env({"PLACET_DATA_DIR": str(folder)})) == folder
    assert data_dir(Env({})) == CHECKOUT / ".placet" or data_dir(Env({})).parent == Path(
        "/var/lib/placet"
    )


@pytest.mark.usefixtures("cluster")
def test_the_embedded_server_runs_inside_the_block_with_roles_and_database(
    folder: Path, bindir: Path | None
) -> None:
    env = Env({"PLACET_DATA_DIR": str(folder), "PLACET_PG_BINDIR": str(bindir or "")})
    address = Cluster(folder).url(user="placet", dbname="placet")

    for _ in range(2):
        with database_running(env), psycopg.connect(address) as connection:
            check_durability(connection)
            row = connection.execute("SELECT current_user, current_database()").fetchone()
            assert row == ("placet", "placet")

    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(address)


def test_with_an_address_nothing_is_started(folder: Path) -> None:
    env = Env({"DATABASE_URL": "postgresql://h/d", "PLACET_DATA_DIR": str(folder)})

    with database_running(env):
        made = list(folder.iterdir())

    assert made == []


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_to_the_only_user_stops_the_server(
    folder: Path, bindir: Path | None, number: signal.Signals
) -> None:
    env = {
        name: value for name, value in os.environ.items() if not name.startswith("DATABASE_")
    } | {"PLACET_DATA_DIR": str(folder), "PLACET_PG_BINDIR": str(bindir or "")}
    command = [sys.executable, "-c", SERVED]
    with subprocess.Popen(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as served:
        assert served.stdout is not None
        assert served.stdout.readline() == "running\n"
        served.send_signal(number)
        code = served.wait(timeout=30)

    assert code == (-number if number == signal.SIGINT else 128 + number)
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(Cluster(folder).url(user=SUPERUSER, dbname="postgres"))


def test_a_server_that_could_forget_is_refused(cluster: Cluster) -> None:
    address = cluster.url(user="placet", dbname="placet")

    with (
        psycopg.connect(address) as connection,
        pytest.raises(ConfigError, match="fsync = off: a crash could undo"),
    ):
        check_durability(connection)
