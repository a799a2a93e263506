"""A server that dies around a commit: who acts by what they heard never acts twice (contract §2).

Before the commit nothing happened, and the command can be given again. After it everything did,
and whoever did not hear so is told, but gets no second license to act.
"""

import signal
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from config.roles import DATABASE, OWNER
from tests.approvals.api import ask_body
from tests.cast import PAYMENT
from tests.concurrency.outside import LOST, Outside, Person, Process, Reply

LEASE = {"holder": "worker", "ttl_s": 10}
Call = Callable[..., Reply]


class Executor:
    """A run with an approved question, and what its executor sends."""

    def __init__(self, server: Process) -> None:
        self.server = server
        run = server.agent("POST", "/runs", {"title": "Pay", "owner": "alice"}).value
        self.run = str(run["id"])
        asked = server.agent("POST", f"/runs/{self.run}/interrupts", ask_body())
        self.interrupt = str(asked.value["interrupts"][0]["id"])
        rae = Person(server, "rae")
        assert rae.decide(self.interrupt, rae.answer_form(self.interrupt)).status == 200

    def lease(self, **headers: str) -> Reply:
        return self.server.agent("POST", f"/runs/{self.run}/lease", LEASE, **headers)

    def dispatch(self, token: int = 1, **headers: str) -> Reply:
        body = {"interrupt_id": self.interrupt, "args": PAYMENT, "fencing_token": token}
        return self.server.agent("POST", f"/runs/{self.run}/dispatch", body, **headers)

    def report(self, how: str, **headers: str) -> Reply:
        body: dict[str, Any] = {"fencing_token": 1}
        body |= {"outcome": "succeeded"} if how == "result" else {}
        (action,) = self.seen["actions"]
        return self.server.agent("POST", f"/actions/{action['id']}/{how}", body, **headers)

    @property
    def seen(self) -> dict[str, Any]:
        """The run as its agent sees it."""
        told: dict[str, Any] = self.server.agent("GET", f"/runs/{self.run}?all=1").value
        return told

    @property
    def stands(self) -> tuple[str, list[str]]:
        """The run's state, and those of its actions."""
        seen = self.seen
        return seen["state"], [action["state"] for action in seen["actions"]]

    def dying(self, call: Call, at: str, **headers: str) -> None:
        """Send a command that its server does not survive, and start the server again."""
        with pytest.raises(LOST):
            call(X_Die=at, **headers)
        assert self.server.kill() == -signal.SIGKILL
        self.server.start()

    def lapse(self, site: Outside) -> None:
        """Let the lease be over."""
        with psycopg.connect(site.cluster.url(user=OWNER, dbname=DATABASE)) as owner:
            owner.execute(
                "UPDATE runs_run SET lease_expires_at = clock_timestamp() WHERE id = %s", [self.run]
            )


def code(reply: Reply) -> tuple[int, str]:
    return reply.status, reply.value["code"]


def test_what_was_not_committed_did_not_happen_and_is_done_the_second_time(
    server: Process,
) -> None:
    executor = Executor(server)

    executor.dying(executor.lease, "before-commit", Idempotency_Key="l")
    assert executor.seen["lease"] is None
    lease = executor.lease(Idempotency_Key="l")
    assert (lease.value["fencing_token"], lease.headers.get("Idempotency-Replayed")) == (1, None)
    executor.dying(executor.dispatch, "before-commit", Idempotency_Key="d")
    assert executor.stands == ("READY", [])
    assert executor.dispatch(Idempotency_Key="d").status == 201
    executor.dying(lambda **headers: executor.report("result", **headers), "before-commit")
    assert executor.stands == ("IN_FLIGHT", ["IN_FLIGHT"])
    assert executor.report("result").status == 200

    assert executor.stands == ("READY", ["SUCCEEDED"])


@pytest.mark.parametrize("at", ["before-wake", "before-answer"])
def test_who_did_not_hear_of_a_dispatch_gets_no_license_by_asking_again(
    site: Outside, server: Process, at: str
) -> None:
    """H-14: the effect was permitted once, to one that may have heard it; so it is unknown."""
    executor = Executor(server)
    executor.dying(executor.lease, at, Idempotency_Key="l")
    replayed = executor.lease(Idempotency_Key="l")
    assert (replayed.status, replayed.value["fencing_token"]) == (200, 1)
    assert code(executor.lease()) == (409, "lease_held")

    executor.dying(executor.dispatch, at, Idempotency_Key="d")

    again = executor.dispatch(Idempotency_Key="d")
    assert (again.status, again.headers["Idempotency-Replayed"]) == (200, "true")
    assert code(executor.dispatch()) == (409, "already_dispatched")
    assert executor.stands == ("IN_FLIGHT", ["IN_FLIGHT"])
    executor.lapse(site)
    assert executor.stands == ("UNKNOWN", ["UNKNOWN"])
    assert code(executor.dispatch()) == (409, "outcome_unknown")
    assert code(executor.lease()) == (409, "outcome_unknown")
    again = executor.dispatch(Idempotency_Key="d")
    assert (again.status, again.headers["Idempotency-Replayed"]) == (200, "true")


@pytest.mark.parametrize(("how", "stands"), [("result", "READY"), ("unknown", "UNKNOWN")])
def test_a_report_whose_answer_got_lost_is_on_record_once(
    site: Outside, server: Process, how: str, stands: str
) -> None:
    executor = Executor(server)
    executor.lease()
    assert executor.dispatch().status == 201

    executor.dying(lambda **headers: executor.report(how, **headers), "before-wake")

    state = "SUCCEEDED" if how == "result" else "UNKNOWN"
    assert executor.stands == (stands, [state])
    before = executor.seen["seq"]
    again = executor.report(how)
    assert (again.status, again.value["state"]) == (200, state)
    assert executor.seen["seq"] == before
    site.manage("sweep")
    assert executor.stands == (stands, [state])
    site.manage("audit_verify", "--tenant", "acme")
