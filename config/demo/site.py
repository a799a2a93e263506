"""The site of the demo: the database migrated, a server and a worker, and the agent beside."""

import os
import socket
import sys
import time
import urllib.request
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from errno import EADDRINUSE
from pathlib import Path
from urllib.error import URLError

from config.database import CHECKOUT
from config.demo.children import Child, Children
from config.demo.ending import Asked, Ending
from config.env import ConfigError, Env

READY_WITHIN_S = 60
_POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class Site:
    """Starts the parts and waits for them; ConfigError where one does not come up."""

    port: int
    children: Children
    asked: Asked

    @property
    def address(self) -> str:
        """Give the address for programs on this machine."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def base_url(self) -> str:
        """Give the address that people see: the operator's, or one on this machine."""
        given = Env(os.environ).text("PLACET_BASE_URL")
        return given.rstrip("/") or f"http://localhost:{self.port}"

    @property
    def environment(self) -> Mapping[str, str]:
        """Give the environment of the processes that serve."""
        rest = {name: text for name, text in os.environ.items() if name != "PLACET_BASE_URL_FILE"}
        return rest | {"PLACET_BASE_URL": self.base_url}

    def check_port(self) -> None:
        """Refuse a port that somebody serves already, on either of the addresses of localhost."""
        for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
            try:
                socket.create_server((host, self.port), family=family).close()
            except OSError as error:
                if error.errno == EADDRINUSE:
                    raise ConfigError(
                        f"Port {self.port} is taken by another program. Name another one:"
                        f" --port {self.port + 1}"
                    ) from None
                if family == socket.AF_INET:
                    raise ConfigError(
                        f"Port {self.port} cannot be used: {error.strerror}."
                    ) from None

    def migrate(self) -> None:
        """Bring the schema to this version, as the owner."""
        migrating = self._manage("migrate", "--verbosity", "0")
        while (code := migrating.code) is None:
            self._pause()
        if code != 0:
            raise ConfigError(f"The database could not be migrated.\n{migrating.last_words()}")

    def serve(self) -> Child:
        """Start the server."""
        return self._manage("serve", "--port", str(self.port))

    def serve_again(self, server: Child) -> Child:
        """Kill the server without warning, start it again, and wait for it."""
        server.process.kill()
        server.process.wait()
        again = self.serve()
        self.wait_until_ready(again)
        return again

    def work(self) -> Child:
        """Start the worker; after the first page, for which it is not needed."""
        return self._manage("worker")

    def wait_until_ready(self, server: Child) -> None:
        """Wait for the first page."""
        deadline = time.monotonic() + READY_WITHIN_S
        while not self._is_ready():
            check_alive([server])
            if time.monotonic() > deadline:
                raise ConfigError(f"The server does not become ready.\n{server.last_words()}")
            self._pause()

    def start_agent(self, folder: Path, key: str, *, replan_after_s: float) -> Child:
        """Start the example agent, whose environment is made at first."""
        return self.children.start(
            "agent",
            [
                *(sys.executable, str(CHECKOUT / "examples" / "run.py"), "pay_vendor"),
                *("--data", str(folder), "--replan-after-s", f"{replan_after_s:g}"),
            ],
            environment={**os.environ, "PLACET_URL": self.address, "PLACET_KEY": key},
            is_told=True,
        )

    def _manage(self, *words: str) -> Child:
        command = [sys.executable, str(CHECKOUT / "manage.py"), *words]
        return self.children.start(words[0], command, environment=self.environment)

    def _is_ready(self) -> bool:
        with (
            suppress(URLError, OSError),
            urllib.request.urlopen(f"{self.address}/readyz", timeout=5),
        ):
            return True
        return False

    def _pause(self) -> None:
        if self.asked.once:
            raise Ending
        time.sleep(_POLL_S)


def check_alive(parts: Iterable[Child]) -> None:
    """Raise ConfigError where a part ended by itself."""
    for part in parts:
        if part.code is not None:
            raise ConfigError(
                f"The process “{part.name}” ended by itself with code {part.code}.\n"
                f"{part.last_words()}"
            )
