"""The embedded server: started once, shared, stopped by the last, safe after any crash."""

from __future__ import annotations

import os
import pwd
import signal
import stat
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import psutil
import psycopg
import pytest

from config.account import Account, server_account
from config.binaries import binaries
from config.embedded import SUPERUSER, Cluster
from config.env import ConfigError

pytestmark = pytest.mark.usefixtures("cluster")

USER = """
import sys, time
from pathlib import Path
from config.embedded import Cluster
bindir = Path(sys.argv[2]) if sys.argv[2] else None
with Cluster(Path(sys.argv[1]), bindir, durable=False):
    print("started", flush=True)
    time.sleep(60)
"""


def ask(cluster: Cluster, statement: str) -> str:
    address = cluster.url(user=SUPERUSER, dbname="postgres")
    with psycopg.connect(address, autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        row = cursor.fetchone() if cursor.description else None
    return str(row[0]) if row else ""


def started_at(cluster: Cluster) -> str:
    return ask(cluster, "SELECT pg_postmaster_start_time()")


def postmaster(cluster: Cluster) -> int:
    return int((cluster.data / "postmaster.pid").read_text().split("\n", 1)[0])


def is_down(cluster: Cluster) -> bool:
    try:
        started_at(cluster)
    except psycopg.OperationalError:
        return True
    return False


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_what_was_stored_is_found_after_stop_and_start(folder: Path, bindir: Path | None) -> None:
    cluster = Cluster(folder, bindir)

    with cluster:
        ask(cluster, "CREATE TABLE kept AS SELECT 'here'::text AS what")
    assert is_down(cluster)
    with cluster:
        found = ask(cluster, "SELECT what FROM kept")

    assert found == "here"


def test_the_server_keeps_time_text_and_order_the_same_everywhere(
    folder: Path, bindir: Path | None
) -> None:
    with Cluster(folder, bindir, durable=False) as cluster:
        assert ask(cluster, "SHOW timezone") == "UTC"
        assert ask(cluster, "SHOW server_encoding") == "UTF8"
        assert ask(cluster, "SELECT 'a' > 'B' AND lower('Ä') = 'ä'") == "True"


def test_only_tests_give_up_durability(folder: Path, bindir: Path | None) -> None:
    settings = (
        "SELECT concat_ws(' ', current_setting('fsync'), current_setting('full_page_writes'))"
    )

    with Cluster(folder / "real", bindir) as real:
        assert ask(real, settings) == "on on"
    with Cluster(folder / "test", bindir, durable=False) as test:
        assert ask(test, settings) == "off off"


def test_nobody_else_can_reach_the_server(folder: Path, bindir: Path | None) -> None:
    with Cluster(folder, bindir, durable=False) as cluster:
        for private in (cluster.home, cluster.socket_dir):
            assert stat.S_IMODE(private.stat().st_mode) == 0o700
            assert private.stat().st_uid == cluster.account.uid
        assert ask(cluster, "SHOW listen_addresses") == ""


def test_the_last_of_two_users_stops_the_server(folder: Path, bindir: Path | None) -> None:
    first, second = (Cluster(folder, bindir, durable=False) for _ in range(2))

    first.start()
    second.start()
    same = started_at(first) == started_at(second)
    left_running = not first.stop() and not is_down(second)
    stopped = second.stop() and is_down(second)

    assert (same, left_running, stopped) == (True, True, True)


def test_many_that_start_at_once_share_one_server(folder: Path, bindir: Path | None) -> None:
    clusters = [Cluster(folder, bindir, durable=False) for _ in range(4)]
    barrier = threading.Barrier(len(clusters), timeout=20)
    seen: list[str] = []

    def start(cluster: Cluster) -> None:
        barrier.wait()
        cluster.start()
        seen.append(started_at(cluster))

    threads = [threading.Thread(target=start, args=[cluster]) for cluster in clusters]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    left = [cluster.stop() for cluster in clusters]

    assert (len(seen), len(set(seen))) == (4, 1)
    assert left == [False, False, False, True]
    assert is_down(clusters[0])


def test_a_killed_user_no_longer_counts(folder: Path, bindir: Path | None) -> None:
    command = [sys.executable, "-c", USER, str(folder), str(bindir or "")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as killed:
        assert killed.stdout is not None
        assert killed.stdout.readline() == "started\n"
        before = started_at(Cluster(folder, bindir))
        killed.kill()

    with Cluster(folder, bindir, durable=False) as cluster:
        joined = started_at(cluster) == before

    assert joined
    assert is_down(cluster)


def test_the_server_of_killed_users_can_be_cleared_up(folder: Path, bindir: Path | None) -> None:
    command = [sys.executable, "-c", USER, str(folder), str(bindir or "")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as killed:
        assert killed.stdout is not None
        assert killed.stdout.readline() == "started\n"
        refused = Cluster(folder, bindir).stop()
        killed.kill()

    assert refused is False
    assert Cluster(folder, bindir).stop() is True
    assert is_down(Cluster(folder, bindir))


def test_a_committed_row_survives_a_killed_server(folder: Path, bindir: Path | None) -> None:
    cluster = Cluster(folder, bindir)
    cluster.start()
    ask(cluster, "CREATE TABLE kept AS SELECT 'here'::text AS what")

    os.kill(postmaster(cluster), signal.SIGKILL)
    wait_until(lambda: is_down(cluster))
    with Cluster(folder, bindir) as again:
        found = ask(again, "SELECT what FROM kept")
        cluster.stop()

    assert found == "here"
    assert is_down(again)


@pytest.mark.parametrize("whose", ["this test's", "another server's"])
def test_a_stale_pid_file_that_names_a_living_process_is_no_obstacle(
    folder: Path, bindir: Path | None, cluster: Cluster, whose: str
) -> None:
    number = os.getpid() if whose == "this test's" else postmaster(cluster)
    with Cluster(folder, bindir, durable=False) as own:
        ask(own, "CREATE TABLE kept AS SELECT 'here'::text AS what")
    pid_file = own.data / "postmaster.pid"
    pid_file.write_text(f"{number}\n{own.data}\n0\n5432\n{own.socket_dir}\n\n")
    os.chown(pid_file, own.account.uid, own.account.gid)
    lock = own.socket_dir / ".s.PGSQL.5432.lock"
    lock.write_text(f"{number}\n")
    os.chown(lock, own.account.uid, own.account.gid)

    with own:
        assert ask(own, "SELECT what FROM kept") == "here"

    assert psutil.pid_exists(number)


def test_half_a_cluster_is_made_anew(folder: Path, bindir: Path | None) -> None:
    cluster = Cluster(folder, bindir, durable=False)
    with cluster:
        pass
    cluster.data.rename(cluster.home / "data.new")
    (cluster.home / "data.new" / "PG_VERSION").unlink()

    with cluster:
        assert ask(cluster, "SELECT 1") == "1"


def test_the_data_of_another_version_is_refused(folder: Path, bindir: Path | None) -> None:
    with Cluster(folder, bindir, durable=False) as cluster:
        pass
    (cluster.data / "PG_VERSION").write_text("9\n")

    with pytest.raises(ConfigError, match="was made by PostgreSQL 9, the binaries are of"):
        cluster.start()

    assert cluster.stop() is True


def test_a_long_path_gets_a_short_socket_of_its_own(folder: Path, bindir: Path | None) -> None:
    with Cluster(folder / ("deep" * 20), bindir, durable=False) as cluster:
        short = cluster.socket_dir
        assert ask(cluster, "SHOW unix_socket_directories") == f'"{short}"'
        assert len(os.fsencode(short / ".s.PGSQL.5432")) <= 100
        assert stat.S_IMODE(short.stat().st_mode) == 0o700

    short.rmdir()


def test_a_path_with_every_odd_character_works(folder: Path, bindir: Path | None) -> None:
    with Cluster(folder / "a b,'\"$x`%é", bindir, durable=False) as cluster:
        assert ask(cluster, "SELECT 1") == "1"

    cluster.socket_dir.rmdir()


def test_a_folder_that_others_can_enter_is_refused(folder: Path, bindir: Path | None) -> None:
    (folder / "postgres").mkdir(mode=0o755)

    with pytest.raises(ConfigError, match="must be a folder that only the account"):
        Cluster(folder, bindir).start()


def test_a_folder_that_somebody_else_put_there_is_refused(
    folder: Path, bindir: Path | None
) -> None:
    (folder / "elsewhere").mkdir(mode=0o700)
    (folder / "postgres").symlink_to(folder / "elsewhere")

    with pytest.raises(ConfigError, match="must be a folder that only the account"):
        Cluster(folder, bindir).start()


def test_a_folder_that_cannot_be_made_is_refused_with_the_way_out(bindir: Path | None) -> None:
    with pytest.raises(ConfigError, match="PLACET_DATA_DIR, or set DATABASE_URL"):
        Cluster(Path("/proc/placet"), bindir).start()


def test_programs_that_are_not_there_are_refused_by_name(folder: Path) -> None:
    with pytest.raises(ConfigError, match="PLACET_PG_BINDIR is /nowhere"):
        Cluster(folder, Path("/nowhere")).start()


def test_installed_programs_out_of_reach_are_copied_to_where_they_run(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    class Walled(Account):
        def can_reach(self, path: Path) -> bool:
            return False

    monkeypatch.setattr("config.binaries.SHARED", folder / "shared")
    before = os.umask(0o077)
    try:
        programs = binaries(None, Walled(0, 0, is_dropped=True))
        again = binaries(None, Walled(0, 0, is_dropped=True))
    finally:
        os.umask(before)

    assert programs.is_relative_to(folder / "shared")
    assert again == programs
    with Cluster(folder / "data", programs, durable=False) as cluster:
        assert ask(cluster, "SELECT 1") == "1"


def test_an_address_names_the_socket_the_role_and_the_database(folder: Path) -> None:
    address = Cluster(folder / "a b").url(user="placet", dbname="placet")

    socket = f"{folder}/a b/postgres/socket".replace("/", "%2F").replace(" ", "%20")
    assert address == f"postgresql://placet@/placet?host={socket}&port=5432"


def test_an_ordinary_user_runs_the_server_as_itself(folder: Path, bindir: Path | None) -> None:
    account = server_account(folder / "absent")
    programs = binaries(bindir, account)
    os.chown(folder, account.uid, account.gid)

    def use() -> bool:
        cluster = Cluster(folder, programs, durable=False)
        with cluster:
            return cluster.account == Account(account.uid, account.gid, is_dropped=False) and (
                ask(cluster, "SELECT 1") == "1"
            )

    assert succeeds_as(account, use)


def succeeds_as(account: Account, function: Callable[[], bool]) -> bool:
    """Run a function in a child process that is, for good, not root."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # other threads do not matter to it
        child = os.fork()
    if child == 0:
        code = 1
        try:
            if account.is_dropped:
                os.setgroups([])
                os.setgid(account.gid)
                os.setuid(account.uid)
            code = 0 if function() else 2
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1] == 0


def test_root_steps_down_to_an_account_that_can_run_a_server(folder: Path) -> None:
    account = server_account(folder / "absent")

    assert account.uid != 0
    assert account.is_dropped == (os.geteuid() == 0)
    assert account.is_dropped is False or pwd.getpwuid(account.uid).pw_name in {
        "postgres",
        "nobody",
    }
