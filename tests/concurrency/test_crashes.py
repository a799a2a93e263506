"""Processes that die at any instruction: what was told stays true, what was done is told once.

Real processes, killed with SIGKILL, on a PostgreSQL of their own that is durable (contract §2.4).
"""

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psutil
import pytest

from config.embedded import Cluster
from config.env import Env
from tests.approvals.api import ask_body
from tests.concurrency.outside import LOST, Outside, Person, Process, Reply, told

BEGIN = {"title": "Pay the vendor", "owner": "alice"}
TOLD_WITHIN_S = 15.0


def begun(server: Process) -> str:
    """A run of Alice."""
    return str(server.agent("POST", "/runs", BEGIN).value["id"])


def asked(server: Process, run_id: str, **members: Any) -> str:
    """A question of it."""
    reply = server.agent("POST", f"/runs/{run_id}/interrupts", ask_body(**members))
    return str(reply.value["interrupts"][0]["id"])


def test_what_was_done_before_the_answer_got_lost_is_answered_the_second_time(
    server: Process,
) -> None:
    """Killed between commit and answer; by Idempotency-Key, by external_id and by call_id."""
    calls: list[tuple[str, dict[str, Any]]] = [("/runs", {**BEGIN, "external_id": "order-1"})]
    calls.append((f"/runs/{begun(server)}/interrupts", ask_body()))

    for path, body in calls:
        with pytest.raises(LOST):
            server.agent("POST", path, body, Idempotency_Key="k", X_Die="before-answer")
        assert server.kill() == -signal.SIGKILL
        server.start()

        by_key = server.agent("POST", path, body, Idempotency_Key="k")
        by_name = server.agent("POST", path, body)

        assert (by_key.status, by_key.headers["Idempotency-Replayed"]) == (200, "true")
        assert (by_name.status, by_name.headers.get("Idempotency-Replayed")) == (200, None)
        assert names(by_key) == names(by_name)


def names(reply: Reply) -> list[str]:
    """The ids in an answer."""
    value = reply.value
    found = [value.get("run", value)["id"]]
    return found + [interrupt["id"] for interrupt in value["interrupts"]]


def test_a_decision_whose_answer_got_lost_is_on_record_once(server: Process) -> None:
    """H-38: killed between commit and answer; the repetition finds one's own answer."""
    interrupt_id = asked(server, begun(server))
    rae = Person(server, "rae")
    form = rae.answer_form(interrupt_id)

    with pytest.raises(LOST):
        rae.decide(interrupt_id, form, X_Die="before-answer")
    assert server.kill() == -signal.SIGKILL
    server.start()
    again = rae.decide(interrupt_id, form)

    assert (again.status, told(again)) == (409, "already_decided")
    decision = server.agent("GET", f"/interrupts/{interrupt_id}").value["decision"]
    assert (decision["kind"], decision["decided_by"]["name"]) == ("approve", "rae")


def test_who_waits_elsewhere_is_told_what_nobody_was_woken_for(
    site: Outside, server: Process
) -> None:
    """Killed between commit and wake-up: the wake-up is lost, the fact is not."""
    interrupt_id = asked(server, begun(server))
    rae = Person(server, "rae")
    form = rae.answer_form(interrupt_id)

    with site.server() as other, ThreadPoolExecutor() as pool:
        waits = pool.submit(other.agent, "GET", f"/interrupts/{interrupt_id}?wait_s=30")
        time.sleep(0.3)
        assert not waits.done()
        with pytest.raises(LOST):
            rae.decide(interrupt_id, form, X_Die="before-wake")
        died_at = time.monotonic()
        reply = waits.result(30)

    assert server.kill() == -signal.SIGKILL
    assert time.monotonic() - died_at < TOLD_WITHIN_S
    assert (reply.status, reply.value["state"]) == (200, "DECIDED")


def test_a_wait_that_the_server_did_not_survive_is_taken_up_again(server: Process) -> None:
    """Killed during a long poll: the next one answers what happened meanwhile."""
    interrupt_id = asked(server, begun(server))
    path = f"/interrupts/{interrupt_id}?wait_s=30"

    with ThreadPoolExecutor() as pool:
        lost = pool.submit(server.agent, "GET", path)
        time.sleep(0.3)
        assert server.kill() == -signal.SIGKILL
        with pytest.raises(LOST):
            lost.result(30)
        server.start()
        waits = pool.submit(server.agent, "GET", path)
        rae = Person(server, "rae")
        rae.decide(interrupt_id, rae.answer_form(interrupt_id))
        reply = waits.result(30)

    assert (reply.status, reply.value["state"]) == (200, "DECIDED")


def test_nothing_acknowledged_is_lost_with_the_database(site: Outside, server: Process) -> None:
    """PostgreSQL killed under load and started again, while the server goes on."""
    run_id = begun(server)
    waited_for = [asked(server, run_id, call_id=f"wait-{number}") for number in range(6)]
    rae = Person(server, "rae")
    forms = {each: rae.answer_form(each) for each in waited_for}
    load = Load(server, f"/runs/{run_id}/interrupts")

    with ThreadPoolExecutor(max_workers=12) as pool:
        waits = [pool.submit(persistently, server, each) for each in waited_for]
        asking = [pool.submit(load.ask, f"agent-{number}") for number in range(3)]
        acknowledged = [rae.decide(each, forms[each]).status for each in waited_for[:3]]
        load.until_acknowledged(20)
        kill_postgres(site.cluster)
        time.sleep(0.5)
        Cluster(site.cluster.data_dir, Env(os.environ).path("PLACET_PG_BINDIR")).start()
        load.end()
        for each in asking:
            each.result(60)
        for each in waited_for:
            decide_persistently(rae, each, forms[each])
        answers = [each.result(60) for each in waits]

    assert {answer["state"] for answer in answers} == {"DECIDED"}
    assert acknowledged == [200, 200, 200]
    for key, first in load.answered.items():
        again = server.agent("POST", load.path, load.body(key), Idempotency_Key=key)
        assert again.headers["Idempotency-Replayed"] == "true"
        assert again.body == first
    for key in load.lost:
        once, twice = (server.agent("POST", load.path, load.body(key)) for _ in range(2))
        assert once.status in (200, 201)
        assert names(once) == names(twice)
    site.manage("audit_verify", "--tenant", "acme")


class Load:
    """Agents that ask without end, and what they were answered."""

    def __init__(self, server: Process, path: str) -> None:
        self.server, self.path = server, path
        self.answered: dict[str, bytes] = {}
        self.lost: list[str] = []
        self._ending = threading.Event()

    def body(self, key: str) -> dict[str, Any]:
        """The question under this key, which is its call_id as well."""
        return ask_body(call_id=key, args={"key": key})

    def ask(self, name: str) -> None:
        """Ask until told to end; a question without an answer is not repeated here."""
        number = 0
        while not self._ending.is_set():
            number += 1
            key = f"{name}-{number}"
            reply = attempted(self.server, self.path, self.body(key), key)
            if reply is not None and reply.status == 201:
                self.answered[key] = reply.body
            else:
                self.lost.append(key)
                time.sleep(0.1)

    def until_acknowledged(self, count: int) -> None:
        """Wait for so many answers."""
        deadline = time.monotonic() + 30
        while len(self.answered) < count:
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def end(self) -> None:
        """Let the agents end once the database answers again."""
        self.until_acknowledged(len(self.answered) + 3)
        self._ending.set()


def attempted(server: Process, path: str, body: Any, key: str) -> Reply | None:
    """The answer to one POST, or None."""
    try:
        return server.agent("POST", path, body, Idempotency_Key=key)
    except LOST:
        return None


def persistently(server: Process, interrupt_id: str) -> Any:
    """What a client that waits does: ask again until there is a decision."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            reply = server.agent("GET", f"/interrupts/{interrupt_id}?wait_s=20")
        except LOST:
            continue
        if reply.status == 200 and reply.value["state"] != "PENDING":
            return reply.value
        time.sleep(0.05)
    raise AssertionError("never answered")


def decide_persistently(rae: Person, interrupt_id: str, form: dict[str, str]) -> None:
    """Press the button until the page says that the question has been answered."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        reply = rae.decide(interrupt_id, form)
        if reply.status == 200 or told(reply) == "already_decided":
            return
        time.sleep(0.1)
    raise AssertionError("never decided")


def kill_postgres(cluster: Cluster) -> None:
    """Every process of the server at once, as when the power goes; the disk remains."""
    processes = [
        process
        for process in psutil.process_iter(["name", "cwd"])
        if process.info["name"] == "postgres"
        and process.info["cwd"]
        and os.path.realpath(process.info["cwd"]) == os.path.realpath(cluster.data)
    ]
    assert processes
    for process in processes:
        process.kill()
    psutil.wait_procs(processes, timeout=20)
