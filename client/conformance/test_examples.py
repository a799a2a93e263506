"""The examples of the adapters are killed while they wait, started again, and pay once."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from conformance.site import ROOT, Site
from placet import Interrupt

WITHIN_S = 60


class Program:
    """An example as its user runs it, with a ledger and an invoice of its own."""

    def __init__(self, name: str, site: Site, folder: Path) -> None:
        self._name, self._site, self._folder = name, site, folder
        self.invoice = f"INV-{uuid4().hex[:12]}"
        self.start()

    def start(self) -> None:
        """Start it, again or not."""
        words = ["--data", str(self._folder), "--invoice", self.invoice]
        self.process = subprocess.Popen(
            [sys.executable, "-m", f"adapters.{self._name}", *words],
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT / "examples"),
                "PLACET_URL": self._site.url,
                "PLACET_KEY": self._site.key,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def asked(self) -> Interrupt:
        """The question that it waits for, as soon as it said so."""
        assert self.process.stdout is not None
        said = ""
        for line in self.process.stdout:
            if "/interrupts/" in line:
                return self._site.client.get_interrupt(line.strip().split("/")[-2])
            said += line
        raise AssertionError(said)

    def kill(self) -> None:
        """What a crash does; harmless where it ended."""
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def ends(self) -> str:
        """What it says until its end, which is a good one."""
        assert self.process.stdout is not None
        said = self.process.stdout.read()
        assert self.process.wait(WITHIN_S) == 0, said
        return said

    @property
    def payments(self) -> list[object]:
        """What it paid."""
        ledger = self._folder / "ledger.json"
        return list(json.loads(ledger.read_text()).values()) if ledger.exists() else []

    @property
    def outcome(self) -> str | None:
        """How its run ended."""
        (run,) = self._site.client.find_runs(external_id=self.invoice)
        return run.view.outcome


@pytest.fixture(params=["langgraph", "openai_agents", "pydantic_ai", "mcp"])
def program(request: pytest.FixtureRequest, site: Site, tmp_path: Path) -> Iterator[Program]:
    """Each of the examples, started."""
    program = Program(request.param, site, tmp_path)
    yield program
    program.kill()


def test_it_goes_on_after_a_crash_and_pays_once(site: Site, program: Program) -> None:
    asked = program.asked()
    program.kill()
    assert site.rae.approve(asked.id) is None

    program.start()

    assert f"Paid 40000000 paise to V-2291 for {program.invoice}." in program.ends()
    assert program.payments == [asked.args]
    assert program.outcome == "succeeded"


def test_it_does_not_pay_what_was_rejected(site: Site, program: Program) -> None:
    assert site.rae.reject(program.asked().id, "Paid in May.") is None

    assert "Paid in May." in program.ends()
    assert (program.payments, program.outcome) == ([], "rejected")
