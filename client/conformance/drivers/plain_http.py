"""The script of the page on plain HTTP, as it stands there, once for each call."""

import json
import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

import httpx

from conformance.driver import SCHEMA, TOOL, Call, Limit, Pay, Situation
from conformance.site import ROOT, Site

_FOLDER = TemporaryDirectory(prefix="placet-http-")
PAGE = ROOT / "docs" / "howto" / "http.md"
SCRIPT = Path(_FOLDER.name) / "ask_first.sh"

DONE, WAITING, NOT_APPROVED, REFUSED = 0, 3, 4, 22
PAYING = """
import json, os, sys
args = json.load(sys.stdin)
with open(sys.argv[1], "a") as effects:
    effects.write(json.dumps(args) + "\\n")
print(f"Paid {args['vendor_id']}.")
"""


class PlainHTTP:
    """curl; the plan and what came of it are files, and so are the effects."""

    name: ClassVar[str] = "HTTP"
    limits: ClassVar[Mapping[Situation, Limit]] = {}

    def open(self, site: Site, thread: str, pay: Pay, *, by_sub_agent: bool) -> "Held":
        """Open the files; a sub-agent would run the same script."""
        (script,) = re.findall(r"^```sh script\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
        SCRIPT.write_text(script)
        return Held(site, thread, pay)


class Held:
    """The calls of one thread."""

    def __init__(self, site: Site, thread: str, pay: Pay) -> None:
        self._site = site
        self._pay = pay
        self._folder = Path(_FOLDER.name) / thread
        for folder in (self._folder / "plan", self._folder / "told"):
            folder.mkdir(parents=True, exist_ok=True)
        run = site.client.create_run(title="Pay", owner="alice", external_id=thread)
        self._run_id = run.id

    def begin(self, calls: tuple[Call, ...]) -> None:
        """Note the plan and ask."""
        for call in calls:
            self.replan(call)
        self.wake()

    def wake(self) -> None:
        """Give the command of every call that nothing is noted of."""
        for path in sorted((self._folder / "plan").iterdir()):
            if path.name not in self.told():
                self._give(path.name, path.read_text())

    def forge(self) -> None:
        """Dispatch what nobody approved."""
        for asked in self._site.client.get_run(self._run_id).view.interrupts:
            told = httpx.post(
                f"{self._site.url}/api/v1/runs/{self._run_id}/dispatch",
                headers={"Authorization": f"Bearer {self._site.key}"},
                json={
                    "interrupt_id": asked.id,
                    "args": dict(asked.args),
                    "lease": {"holder": "forger", "ttl_s": 10},
                },
            )
            assert (told.status_code, told.json()["code"]) == (409, "wrong_state")

    def replan(self, call: Call) -> None:
        """Note other arguments."""
        (self._folder / "plan" / call.id).write_text(json.dumps(call.args))

    def is_over(self) -> bool:
        """Whether something is noted of every call."""
        plan = {path.name for path in (self._folder / "plan").iterdir()}
        return bool(plan) and plan == set(self.told())

    def told(self) -> Mapping[str, str]:
        """What was printed at the end of each call."""
        return {path.name: path.read_text() for path in (self._folder / "told").iterdir()}

    def close(self) -> None:
        """Nothing is held open."""

    def _give(self, call_id: str, args: str) -> None:
        effects = self._folder / f"effects-{os.urandom(8).hex()}"
        effect = ["python3", "-c", PAYING, str(effects)]
        done = subprocess.run(
            ["bash", str(SCRIPT), self._run_id, call_id, TOOL, args, *effect],
            env={
                **os.environ,
                "PLACET_URL": self._site.url,
                "PLACET_KEY": self._site.key,
                "SCHEMA": json.dumps(SCHEMA),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode in (DONE, WAITING, NOT_APPROVED, REFUSED), done
        for line in effects.read_text().splitlines() if effects.exists() else ():
            self._pay(json.loads(line))
        if done.returncode in (DONE, NOT_APPROVED):
            (self._folder / "told" / call_id).write_text(done.stdout.strip())
