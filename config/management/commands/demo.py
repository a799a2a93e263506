"""`manage.py demo`: a site to click through, with people, questions and an agent."""

import fcntl
import os
import threading
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connection

from config.database import data_dir
from config.demo.cast import CHECKED, PARTS, checking_key, ensure_cast
from config.demo.checks import Checks
from config.demo.children import Child, Children
from config.demo.credentials import Credentials
from config.demo.ending import Asked, Ending
from config.demo.executor import Executor
from config.demo.person import Person
from config.demo.program import program
from config.demo.site import Site, check_alive
from config.env import ConfigError, Env

LOOK_EVERY_S = 0.2


class Command(BaseCommand):
    help = "Serve a site with people and an agent that asks them, until told to end."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--no-agent", action="store_true", help="The site alone.")
        parser.add_argument(
            "--checks",
            action="store_true",
            help="Play the eight checks of a handover against the site, and end.",
        )
        parser.add_argument(
            "--replan-after-s",
            type=float,
            default=30,
            help="So long after its question the agent of act 2 changes its plan (30).",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        self._telling = threading.Lock()
        asked = Asked()
        folder = data_dir(Env(os.environ)) / "demo"
        children = Children(folder, tell=self._tell, is_hurried=lambda: asked.again)
        site = Site(options["port"], children, asked)
        with _alone(folder):
            children.end_leftovers()
            try:
                self._run(site, folder, options)
            except Ending:
                pass
            finally:
                children.end()
        self._tell("Ended. Starting again finds everything as it is.")

    def _run(self, site: Site, folder: Path, options: dict[str, Any]) -> None:
        site.check_port()
        self._tell("Starting: the database, the server and the worker")
        site.migrate()
        server = site.serve()
        credentials = Credentials.kept_in(folder, [part.name for part in PARTS])
        ensure_cast(credentials)
        connection.close()
        site.wait_until_ready(server)
        if options["checks"]:
            self._check(site, server, credentials)
            return
        parts = (server, site.work())
        self._tell(program(site.base_url, credentials, replan_after_s=options["replan_after_s"]))
        agent = None
        if not options["no_agent"]:
            agent = site.start_agent(
                folder / "agent",
                credentials.agent_key,
                replan_after_s=options["replan_after_s"],
            )
        self._watch(site, parts, agent)

    def _check(self, site: Site, server: Child, credentials: Credentials) -> None:
        """Say which checks hold; the command fails at the first that does not."""

        def restart() -> None:
            nonlocal server
            server = site.serve_again(server)

        alice, rae, ada = (
            Person(site.address, name, credentials.passwords[name]) for name in CHECKED
        )
        checks = Checks(Executor(site.address, checking_key()), alice, rae, ada, restart)
        for person in (alice, rae, ada):
            person.sign_in()
        connection.close()
        try:
            for line in checks.play():
                self._tell(f"PASS {line}")
        except AssertionError as error:
            raise CommandError(f"FAIL {error}") from error

    def _watch(self, site: Site, parts: tuple[Child, ...], agent: Child | None) -> None:
        """Stay until asked to end, or until a part that serves has ended by itself."""
        while not site.asked.once:
            check_alive(parts)
            if agent is not None and agent.code is not None:
                self._tell(_epilogue(agent.code))
                agent = None
            time.sleep(LOOK_EVERY_S)

    def _tell(self, text: str) -> None:
        """Print a line at once, whole, from whichever thread; a closed terminal hears nothing."""
        with self._telling, suppress(OSError):
            self.stdout.write(text)
            self.stdout.flush()


def _epilogue(code: int) -> str:
    if code == 0:
        return "The agent has played both acts. The site goes on; start again for another round."
    return f"The agent ended with code {code}. The site goes on without it."


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the demo's folder, which is its owner's only; one demo at a time uses it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConfigError(f"A demo is running already with {folder.parent}.") from None
        yield
