"""Run by the server's interpreter: fills a new site, serves it, and ends with its input.

    .venv/bin/python client/conformance/serving.py FOLDER PORT

Everything is made by commands of `manage.py`. `site.json` in the folder then has the address, the
agent's `key`, and `checkpoints`, a database beside the server's own.
"""

import json
import os
import signal
import subprocess
import sys
from io import StringIO
from pathlib import Path

import django
import psycopg
from django.core.management import call_command
from django.db import connections

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "client" / "src")]

from config.embedded import SUPERUSER, Cluster  # noqa: E402 - found through the line above
from config.roles import DATABASE, OWNER, RUNTIME, create_roles  # noqa: E402

PASSWORD = "correct horse battery staple"


def fill() -> str:
    """Make a tenant with Alice, Rae and an agent; its key."""
    subprocess.run([sys.executable, "manage.py", "migrate", "-v", "0"], cwd=ROOT, check=True)
    django.setup()
    call_command("create_tenant", "acme", stdout=StringIO())
    for name, role in (("alice", "member"), ("rae", "reviewer")):
        call_command("create_user", name, "--tenant=acme", f"--role={role}", stdout=StringIO())
    told = StringIO()
    call_command("create_agent", "payer", "--tenant=acme", "--any-owner", "--json", stdout=told)
    connections.close_all()
    return str(json.loads(told.getvalue())["key"])


def main(folder: Path, port: str) -> None:
    """Serve until standard input is closed, which it also is when the kit was killed."""
    with Cluster(folder) as cluster:
        address = cluster.url(user=SUPERUSER, dbname="postgres")
        with psycopg.connect(address, autocommit=True) as connection:
            create_roles(connection)
            connection.execute("CREATE DATABASE checkpoints")
        os.environ |= {
            "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'client' / 'src'}",
            "DATABASE_URL": cluster.url(user=RUNTIME, dbname=DATABASE),
            "DATABASE_OWNER_URL": cluster.url(user=OWNER, dbname=DATABASE),
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "PLACET_BASE_URL": f"http://127.0.0.1:{port}",
            "PLACET_PASSWORD": PASSWORD,
            "PLACET_RATE_AGENT": "0",
            "PLACET_RATE_LOGIN": "0",
            "PLACET_SECRET_KEY": "x" * 50,
        }
        checkpoints = cluster.url(user=SUPERUSER, dbname="checkpoints")
        made = {"url": os.environ["PLACET_BASE_URL"], "key": fill(), "checkpoints": checkpoints}
        fresh = folder / "site.new"
        fresh.write_text(json.dumps(made))
        fresh.rename(folder / "site.json")
        serve = [sys.executable, "manage.py", "serve", "--host", "127.0.0.1", "--port", port]
        work = [sys.executable, "manage.py", "worker"]
        running = [subprocess.Popen(command, cwd=ROOT) for command in (serve, work)]
        sys.stdin.read()
        for process in running:
            process.send_signal(signal.SIGTERM)
        for process in running:
            process.wait()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
