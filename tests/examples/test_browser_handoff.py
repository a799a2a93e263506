"""The example agent hands a real browser to a person and back, and does what was approved, once."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher

from approvals.models import HandoffLink, Interrupt
from audit.reading import run_events
from config.demo.executor import Executor
from identity.management.reporting import OPERATOR
from identity.models import Agent, User
from identity.roles import Scope
from placet.protocol.states import DecisionKind
from runs.models import Action, Run
from tests.cast import PASSWORD, Cast, make_cast
from tests.examples.browser import Browser, hidden
from tests.examples.conftest import Server
from tests.examples.person import Person
from tests.examples.program import ROOT, Program, free_port, surroundings

APPLES, BANANAS = ("alice", "apples"), ("bob", "bananas")


@dataclass
class Scene:
    """A server, an agent with a browser, and Alice, who is at Placet and at that browser."""

    server: Server
    cast: Cast
    key: str
    folder: Path
    ending: ExitStack
    bank_port: int = field(default_factory=free_port)
    at_placet: Browser = field(default_factory=Browser)

    def start_agent(self) -> None:
        """Let the agent begin and hand over its browser, at which Alice sits down."""
        port = self.run_agent()
        self.agent.says("Take over from here:")
        self.alice = Person(port)
        self.ending.callback(self.alice.leave)

    def run_agent(self) -> int:
        """Let the agent begin, with a browser without a window; gives its debugging port."""
        port = free_port()
        options = ("--bank-port", str(self.bank_port), "--debugging-port", str(port), "--headless")
        self.agent = Program(
            *("examples/run.py", "browser_handoff", "--data", str(self.folder), *options),
            env=surroundings(PLACET_URL=self.server.address, PLACET_KEY=self.key),
        )
        self.ending.callback(self.agent.kill)
        return port

    @property
    def executor(self) -> Executor:
        """The agent's key, in somebody else's hands."""
        return Executor(self.server.address, self.key)

    def open(self, call_id: str) -> Interrupt:
        """Wait for this question to be open."""
        rows = Interrupt.objects.filter(call_id=call_id, state="PENDING")
        return self.agent.until(rows.first)

    def form(self, interrupt: Interrupt) -> dict[str, str]:
        """What the page of a question sends beside the answer, as Alice sees it now."""
        return hidden(self.page(interrupt))

    def page(self, interrupt: Interrupt) -> str:
        """The page of a question, as Alice sees it now."""
        return self.at_placet.open(f"{self.server.address}/interrupts/{interrupt.pk}/")[1]

    def done(self, interrupt: Interrupt, form: dict[str, str]) -> tuple[int, str]:
        """Press Done on a page that was opened before; the status and the page."""
        address = f"{self.server.address}/interrupts/{interrupt.pk}/decide/"
        return self.at_placet.open(address, {**form, "decision": "done"})

    def hand_back(self, interrupt: Interrupt) -> None:
        """Look at the handoff and press Done."""
        status, page = self.done(interrupt, self.form(interrupt))
        assert status == 200, page

    def transfers(self) -> dict[str, Any]:
        """What the bank booked, by key."""
        books = self.folder / "books.json"
        return dict(json.loads(books.read_text())) if books.exists() else {}


@pytest.fixture(scope="session")
def browser_environment() -> None:
    """The environment of this example."""
    command = [sys.executable, "examples/run.py", "--install", "browser_handoff"]
    subprocess.run(command, cwd=ROOT, check=True, timeout=300)


@pytest.fixture
def scene(
    transactional_db: None, browser_environment: None, server: Server, tmp_path: Path
) -> Iterator[Scene]:
    cast = make_cast()
    know_password(cast.alice)
    scopes = (Scope.ASK, Scope.EXECUTE, Scope.OBSERVE)
    _, key = Agent.create("clerk", tenant=cast.tenant, any_owner=True, scopes=scopes, by=OPERATOR)
    with ExitStack() as ending:
        scene = Scene(server, cast, key, tmp_path, ending)
        scene.at_placet = Browser.of(server.address, "alice", PASSWORD)
        yield scene


def know_password(user: User) -> None:
    """Let a person sign in at the server, which does not know the tests' hasher."""
    user.password = PBKDF2PasswordHasher().encode(PASSWORD, "salt-of-the-tests")
    user.save(update_fields=["password"])


def panel(page: str) -> str:
    """What a question's page says of why the last hand-back was not accepted."""
    return page.split('<div class="unlike panel"', 1)[1].split("</dl>", 1)[0]


def reasons(interrupt: Interrupt) -> list[str]:
    """Why a handoff was opened again, each time, as it stands on record."""
    events = run_events(tenant_id=interrupt.tenant_id, run_id=interrupt.run_id)
    reopened = [event for event in events if event.type == "interrupt.reopened"]
    return [", ".join(json.loads(event.detail)["differs"]) for event in reopened]


def standing() -> tuple[str, str | None]:
    """How the run stands, and its outcome."""
    run = Run.objects.get()
    return run.state, run.outcome


def test_after_a_login_in_that_browser_what_was_approved_is_transferred_once(scene: Scene) -> None:
    scene.start_agent()
    login = scene.open("login-1")
    assert login.content["target"] == {
        "origin": f"http://127.0.0.1:{scene.bank_port}",
        "account": "alice",
        "page": "/transfer",
        "session": "thread",
    }
    link = HandoffLink.of(login.pk)
    assert link is not None and "/devtools/page/" in link and link not in scene.agent.said
    assert f'href="{link}"' in scene.page(login)

    scene.alice.log_in(*APPLES)
    scene.hand_back(login)

    asked = scene.open("transfer-T-1001")
    login.refresh_from_db()
    assert (login.state, login.decision.kind, HandoffLink.of(login.pk)) == ("DECIDED", "done", None)
    assert asked.content["target"] == login.content["target"]
    assert (scene.transfers(), standing()) == ({}, ("WAIT_USER", None))

    scene.cast.decide(asked, scene.cast.rae)

    assert scene.agent.ended() == 0, scene.agent.said
    action = Action.objects.get()
    booked = {"from": "alice", "to": "V-2291", "amount_cents": 25_000, "receipt": "R-1"}
    assert scene.transfers() == {action.idempotency_key: booked}
    assert (action.state, action.result) == ("SUCCEEDED", '{"receipt":"R-1"}')
    assert standing() == ("DONE", "succeeded")


def test_another_account_another_tab_and_what_is_stale_are_refused_with_reasons(
    scene: Scene,
) -> None:
    scene.start_agent()
    login = scene.open("login-1")
    first_form = scene.form(login)

    scene.alice.log_in(*BANANAS)
    assert scene.done(login, first_form)[0] == 200
    scene.agent.says("it differs in: account. I wait.")
    told = scene.page(scene.open("login-1"))
    assert re.findall(r'<code class="exact">(\w+)</code>', panel(told)) == ["alice", "bob"]

    scene.alice.log_out()
    scene.alice.log_in(*APPLES, in_another_tab=True)
    status, page = scene.done(login, first_form)
    assert (status, 'data-code="not_shown"' in page) == (409, True)
    scene.hand_back(login)
    scene.agent.says("it differs in: account, page. I wait.")

    scene.alice.go("/history")
    scene.hand_back(scene.open("login-1"))
    scene.agent.says("it differs in: page. I wait.")

    scene.alice.go("/transfer")
    again = scene.open("login-1")
    scene.agent.send(signal.SIGSTOP)  # the agent is slow; what it saw at first is told late
    scene.hand_back(again)
    run = f"/runs/{login.run_id}"
    lease = scene.executor.post(f"{run}/lease", {"holder": "late", "ttl_s": 60})
    token = {"fencing_token": lease["fencing_token"]}
    seen = {"snapshot_sha256": "0" * 64, "observed_at": "2026-01-01T00:00:00Z"}
    late = {**login.content["target"], **seen, **token, "handback": 1}
    told = scene.executor.refused(f"/interrupts/{login.pk}/observations", late)
    assert told == "page_not_verified"
    scene.executor.post(f"{run}/lease/release", token)
    scene.agent.send(signal.SIGCONT)

    asked = scene.open("transfer-T-1001")
    login.refresh_from_db()
    assert (login.handback, login.attempt, login.decision.kind) == (4, 1, "done")
    assert reasons(login) == ["account", "account, page", "page"]
    status, page = scene.done(login, first_form)
    assert (status, 'data-code="already_decided"' in page) == (409, True)

    scene.cast.decide(asked, scene.cast.rae, decision=DecisionKind.REJECT, reason="Not this month.")
    assert scene.agent.ended() == 0, scene.agent.said
    assert "Rejected by rae: “Not this month.”" in scene.agent.said
    assert (scene.transfers(), standing()) == ({}, ("DONE", "rejected"))


def test_an_approval_is_not_used_in_a_session_that_ended_meanwhile(scene: Scene) -> None:
    scene.start_agent()
    first = scene.open("login-1")
    first_form = scene.form(first)
    scene.alice.log_in(*APPLES)
    scene.hand_back(first)
    asked = scene.open("transfer-T-1001")
    scene.alice.log_out()
    scene.alice.log_in(*BANANAS)

    scene.cast.decide(asked, scene.cast.rae)

    second = scene.open("login-2")
    assert (scene.transfers(), Action.objects.count()) == ({}, 0)
    status, page = scene.done(second, first_form)
    assert (status, 'data-code="stale_revision"' in page) == (409, True)
    scene.alice.log_out()
    scene.alice.log_in(*APPLES)
    scene.hand_back(second)
    assert scene.agent.ended() == 0, scene.agent.said
    assert [row["from"] for row in scene.transfers().values()] == ["alice"]
    assert standing() == ("DONE", "succeeded")


def test_an_answer_of_the_bank_that_was_not_seen_is_unknown_and_nothing_is_sent_again(
    scene: Scene,
) -> None:
    scene.start_agent()
    scene.alice.log_in(*APPLES)
    scene.hand_back(scene.open("login-1"))
    asked = scene.open("transfer-T-1001")
    scene.alice.cut_off()

    scene.cast.decide(asked, scene.cast.rae)

    assert scene.agent.ended() == 1, scene.agent.said
    assert "I saw no answer, and send nothing." in scene.agent.said
    assert (Action.objects.get().state, standing()) == ("UNKNOWN", ("UNKNOWN", None))
    scene.run_agent()
    assert scene.agent.ended() == 1, scene.agent.said
    assert "was dispatched before; I send nothing." in scene.agent.said
    assert scene.transfers() == {}


def test_an_agent_that_was_killed_hands_over_the_browser_that_lives(scene: Scene) -> None:
    scene.start_agent()
    before = scene.open("login-1")
    scene.agent.ended(signal.SIGTERM)

    scene.start_agent()

    after = scene.open("login-1")
    before.refresh_from_db()
    assert (before.state, after.attempt) == ("CANCELLED", 2)
    scene.alice.log_in(*APPLES)
    scene.hand_back(after)
    scene.cast.decide(scene.open("transfer-T-1001"), scene.cast.rae)
    assert scene.agent.ended() == 0, scene.agent.said
    assert standing() == ("DONE", "succeeded")
