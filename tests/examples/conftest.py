"""The example agent against a real server, whose database is that of the tests."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.db import connection

from approvals.models import Interrupt
from tests.cast import PASSWORD, Cast, make_cast
from tests.examples.program import ROOT, Program, answers, free_port, surroundings

SERVE = """
import sys
from config.asgi import application, hub
from config.server import serve

serve(application, hub=hub, host="127.0.0.1", port=int(sys.argv[1]))
"""  # what `manage.py serve` does where the database is durable, which that of tests is not


class Server:
    """A server of its own port, whose database is that of the tests."""

    def __init__(self) -> None:
        self.port = str(free_port())
        self.address = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        """Serve, at the same address as before."""
        settings = connection.settings_dict
        url = (
            f"postgresql://{settings['USER']}@/{settings['NAME']}"
            f"?host={quote(str(settings['HOST']), safe='')}&port={settings['PORT']}"
        )
        env = surroundings(DATABASE_URL=url, PLACET_BASE_URL=self.address)
        self.program = Program("-c", SERVE, self.port, env=env)
        self.program.until(lambda: answers(f"{self.address}/readyz"))


@dataclass
class Stage:
    """A server, the cast, and the agent's folder."""

    server: Server
    cast: Cast
    folder: Path
    agents: list[Program] = field(default_factory=list)

    def start_agent(self, *options: str) -> Program:
        """Let the agent play."""
        agent = Program(
            *("examples/run.py", "pay_vendor", "--data", str(self.folder), *options),
            env=surroundings(PLACET_URL=self.server.address, PLACET_KEY=self.cast.key),
        )
        self.agents.append(agent)
        return agent

    def interrupt(self) -> Interrupt:
        """Wait for the question that is open."""
        rows = Interrupt.objects.filter(state="PENDING")
        return self.agents[-1].until(rows.first)

    def page(self, interrupt: Interrupt, *, site: str | None = None) -> str:
        """The address of a question's page."""
        return f"{self.server.address if site is None else site}/interrupts/{interrupt.pk}/"

    def payments(self) -> list[dict[str, Any]]:
        """What the agent paid."""
        ledger = self.folder / "ledger.json"
        return list(json.loads(ledger.read_text()).values()) if ledger.exists() else []


@pytest.fixture(scope="session")
def example_environment() -> None:
    """The environment of the examples, as the demo makes it."""
    command = [sys.executable, "examples/run.py", "--install"]
    subprocess.run(command, cwd=ROOT, check=True, timeout=300)


@pytest.fixture(scope="package")
def server(django_db_setup: None) -> Iterator[Server]:
    server = Server()
    yield server
    server.program.kill()


@pytest.fixture
def stage(
    transactional_db: None, example_environment: None, server: Server, tmp_path: Path
) -> Iterator[Stage]:
    stage = Stage(server, make_cast(), tmp_path)
    stage.cast.rae.password = PBKDF2PasswordHasher().encode(PASSWORD, "salt-of-the-tests")
    stage.cast.rae.save(update_fields=["password"])  # the server does not know the tests' hasher
    yield stage
    for agent in stage.agents:
        agent.kill()
