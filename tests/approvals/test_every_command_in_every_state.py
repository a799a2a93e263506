"""Every command in every state, over HTTP: the tables of contract §3 and §11, cell by cell.

A cell in capitals is the state of the run after a command that was taken; any other is the code
of the refusal, which changes nothing but the record.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction

from approvals.models import Interrupt
from placet.protocol.refusals import RefusalCode
from runs.clock import database_now
from runs.models import Action, Run, run
from runs.rules.refusal import Refusal
from tests.approvals.acting import Executor
from tests.approvals.scenes import Scene
from tests.cast import Cast
from tests.concurrency.invariants import broken

pytestmark = pytest.mark.django_db

TABLE = """
ready: ask_new WAIT_USER, look lease_lost, cancel CANCELLED, finish DONE, take READY,
    renew lease_lost, release lease_lost
ready_held: ask_new WAIT_USER, look READY, cancel CANCELLED, finish DONE, take lease_held,
    renew READY, release READY
pending: ask_same WAIT_USER, ask_other WAIT_USER, ask_new WAIT_USER, decide READY,
    take_back READY, observe lease_lost, look lease_lost, cancel CANCELLED, finish wrong_state,
    take WAIT_USER, renew lease_lost, release lease_lost, dispatch wrong_state
pending_held: ask_same WAIT_USER, ask_other WAIT_USER, ask_new WAIT_USER, decide READY,
    take_back READY, observe wrong_state, look WAIT_USER, cancel CANCELLED, finish wrong_state,
    take lease_held, renew WAIT_USER, release WAIT_USER, dispatch wrong_state
handed_back: ask_same WAIT_USER, ask_other WAIT_USER, ask_new WAIT_USER, decide wrong_state,
    take_back READY, observe READY, look WAIT_USER, cancel CANCELLED, finish wrong_state,
    take lease_held, renew WAIT_USER, release WAIT_USER, dispatch wrong_state
approved: ask_same READY, ask_other WAIT_USER, ask_new WAIT_USER, decide already_decided,
    take_back already_decided, observe already_decided, look lease_lost, cancel CANCELLED,
    finish DONE, take READY, renew lease_lost, release lease_lost, dispatch IN_FLIGHT
approved_held: ask_same READY, ask_other WAIT_USER, ask_new WAIT_USER, decide already_decided,
    take_back already_decided, observe already_decided, look READY, cancel CANCELLED,
    finish DONE, take lease_held, renew READY, release READY, dispatch IN_FLIGHT
rejected: ask_same READY, ask_other WAIT_USER, ask_new WAIT_USER, decide already_decided,
    take_back already_decided, observe already_decided, look READY, cancel CANCELLED,
    finish DONE, take lease_held, renew READY, release READY, dispatch not_approved
expired: ask_same WAIT_USER, ask_other WAIT_USER, ask_new WAIT_USER, decide expired,
    take_back expired, observe expired, look EXPIRED, cancel CANCELLED, finish DONE,
    take lease_held, renew EXPIRED, release EXPIRED, dispatch expired
taken_back: ask_same WAIT_USER, ask_other WAIT_USER, ask_new WAIT_USER, decide cancelled,
    take_back READY, observe cancelled, look READY, cancel CANCELLED, finish DONE,
    take lease_held, renew READY, release READY, dispatch cancelled
replaced: ask_same WAIT_USER, ask_other WAIT_USER, ask_new WAIT_USER, decide superseded,
    take_back superseded, observe superseded, look WAIT_USER, cancel CANCELLED,
    finish wrong_state, take lease_held, renew WAIT_USER, release WAIT_USER, dispatch superseded
outdated: ask_same WAIT_USER, ask_other WAIT_USER, ask_new WAIT_USER, decide already_decided,
    take_back already_decided, observe already_decided, look WAIT_USER, cancel CANCELLED,
    finish wrong_state, take lease_held, renew WAIT_USER, release WAIT_USER, dispatch superseded
in_flight: ask_same IN_FLIGHT, ask_other wrong_state, ask_new wrong_state,
    decide already_decided, take_back already_decided, observe already_decided, look IN_FLIGHT,
    cancel IN_FLIGHT, finish wrong_state, take lease_held, renew IN_FLIGHT, release wrong_state,
    dispatch already_dispatched, result READY, unknown UNKNOWN, reconcile wrong_state
in_flight_stopping: ask_same IN_FLIGHT, ask_other cancelled, ask_new cancelled,
    decide already_decided, take_back already_decided, observe already_decided, look IN_FLIGHT,
    cancel IN_FLIGHT, finish wrong_state, take lease_held, renew IN_FLIGHT, release wrong_state,
    dispatch cancelled, result CANCELLED, unknown UNKNOWN, reconcile wrong_state
unknown: ask_same UNKNOWN, ask_other outcome_unknown, ask_new outcome_unknown,
    decide already_decided, take_back already_decided, observe already_decided,
    look outcome_unknown, cancel UNKNOWN, finish outcome_unknown, take outcome_unknown,
    renew outcome_unknown, release outcome_unknown, dispatch outcome_unknown,
    result outcome_unknown, unknown UNKNOWN, reconcile READY
unknown_stopping: ask_same UNKNOWN, ask_other cancelled, ask_new cancelled,
    decide already_decided, take_back already_decided, observe already_decided,
    look outcome_unknown, cancel UNKNOWN, finish outcome_unknown, take outcome_unknown,
    renew outcome_unknown, release outcome_unknown, dispatch cancelled,
    result outcome_unknown, unknown UNKNOWN, reconcile CANCELLED
unknown_beside_in_flight: ask_same IN_FLIGHT, ask_other wrong_state, ask_new wrong_state,
    decide already_decided, take_back already_decided, observe already_decided, look IN_FLIGHT,
    cancel IN_FLIGHT, finish wrong_state, take lease_held, renew IN_FLIGHT, release wrong_state,
    dispatch already_dispatched, result outcome_unknown, unknown IN_FLIGHT, reconcile IN_FLIGHT
succeeded: ask_same READY, ask_other WAIT_USER, ask_new WAIT_USER, decide already_decided,
    take_back already_decided, observe already_decided, look READY, cancel CANCELLED,
    finish DONE, take lease_held, renew READY, release READY, dispatch already_dispatched,
    result READY, unknown wrong_state, reconcile wrong_state
failed: ask_same READY, ask_other WAIT_USER, ask_new WAIT_USER, decide already_decided,
    take_back already_decided, observe already_decided, look READY, cancel CANCELLED,
    finish DONE, take lease_held, renew READY, release READY, dispatch already_dispatched,
    result wrong_state, unknown wrong_state, reconcile wrong_state
not_executed: ask_same READY, ask_other WAIT_USER, ask_new WAIT_USER, decide already_decided,
    take_back already_decided, observe already_decided, look READY, cancel CANCELLED,
    finish DONE, take lease_held, renew READY, release READY, dispatch already_dispatched,
    result wrong_state, unknown wrong_state, reconcile wrong_state
reconciled: ask_same READY, ask_other WAIT_USER, ask_new WAIT_USER, decide already_decided,
    take_back already_decided, observe already_decided, look lease_lost, cancel CANCELLED,
    finish DONE, take READY, renew lease_lost, release lease_lost, dispatch already_dispatched,
    result lease_lost, unknown lease_lost, reconcile READY
resent: ask_same READY, ask_other WAIT_USER, ask_new WAIT_USER, decide already_decided,
    take_back already_decided, observe already_decided, look lease_lost, cancel CANCELLED,
    finish DONE, take READY, renew lease_lost, release lease_lost, dispatch already_dispatched,
    result lease_lost, unknown lease_lost, reconcile wrong_state
done: ask_same DONE, ask_other run_closed, ask_new run_closed, decide already_decided,
    take_back already_decided, observe already_decided, look run_closed, cancel run_closed,
    finish DONE, take run_closed, renew run_closed, release run_closed, dispatch run_closed
done_after_acting: ask_same DONE, ask_other run_closed, ask_new run_closed,
    decide already_decided, take_back already_decided, observe already_decided, look run_closed,
    cancel run_closed, finish DONE, take run_closed, renew run_closed, release run_closed,
    dispatch run_closed, result DONE, unknown run_closed, reconcile run_closed
cancelled: ask_same run_closed, ask_other run_closed, ask_new run_closed, decide cancelled,
    take_back CANCELLED, observe cancelled, look run_closed, cancel CANCELLED, finish run_closed,
    take run_closed, renew run_closed, release run_closed, dispatch cancelled
cancelled_after_acting: ask_same CANCELLED, ask_other run_closed, ask_new run_closed,
    decide already_decided, take_back already_decided, observe already_decided, look run_closed,
    cancel CANCELLED, finish run_closed, take run_closed, renew run_closed, release run_closed,
    dispatch run_closed, result CANCELLED, unknown run_closed, reconcile run_closed
"""
ROWS = {
    name: dict(cell.split() for cell in cells.split(","))
    for name, cells in (
        line.split(":") for line in TABLE.strip().replace("\n    ", " ").splitlines()
    )
}


@pytest.fixture
def scene(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> Scene:
    @contextmanager
    def later() -> Iterator[None]:
        with monkeypatch.context() as patched:
            patched.setattr(run, "database_now", lambda: database_now() + timedelta(seconds=11))
            yield

    return Scene(Executor(cast), later)


@pytest.mark.parametrize("name", ROWS)
def test_every_command_does_what_the_contract_says(scene: Scene, name: str) -> None:
    """H-14, H-15, H-16 and their kinds: no state has a way around what the table says."""
    getattr(scene, name)()

    told = {command: _outcome(scene, command) for command in ROWS[name]}

    assert told == ROWS[name]


def _outcome(scene: Scene, command: str) -> str:
    """The cell, seen in a transaction that is undone so that every command finds the same."""
    before = _standing(scene)
    with transaction.atomic():
        answer = scene.send(command)
        after = _standing(scene)
        assert broken([scene.executor.run]) == []
        transaction.set_rollback(True)
    code = _code(answer)
    if code is None:
        return str(after["run"]["state"])
    assert after == before, command
    return code


def _code(answer: Any) -> str | None:
    if isinstance(answer, Interrupt):
        return None
    if isinstance(answer, Refusal):
        return str(answer.code)
    if answer.status_code in (200, 201):
        return None
    told = answer.json()
    assert answer.status_code == RefusalCode(told["code"]).status
    if told["code"] == "wrong_state":
        _names_what_is_open(answer)
    return str(told["code"])


def _names_what_is_open(answer: Any) -> None:
    current = answer.json()["current"]
    still_open = Action.objects.filter(ended_at=None).order_by("pk").values_list("pk", flat=True)
    assert current.get("open_actions", []) == list(still_open)


def _standing(scene: Scene) -> dict[str, Any]:
    """Everything of the run but its record, its lookers-on and the reports that were kept."""
    names = ("state", "revision", "outcome", "cancel_requested", "fencing_token")
    run = Run.objects.values(*names, "lease_holder", "lease_expires_at").get(pk=scene.executor.run)
    of_run = {"run_id": scene.executor.run}
    actions = Action.objects.filter(**of_run).order_by("pk")
    return {
        "run": run,
        "interrupts": list(Interrupt.objects.filter(**of_run).order_by("pk").values()),
        "actions": list(actions.values("pk", "state", "result", "evidence", "ended_at")),
    }


@pytest.mark.parametrize(
    "name", [name for name in ROWS if name.endswith(("held", "in_flight")) or name == "handed_back"]
)
def test_another_token_than_the_living_one_changes_nothing(scene: Scene, name: str) -> None:
    """H-15: the same name with an older or a guessed number is somebody else."""
    getattr(scene, name)()
    taking_a_token = {"ask_new", "finish", "look", "renew", "release"}
    taking_a_token |= {"observe", "take_back"} if name == "handed_back" else set()
    taking_a_token |= {"result", "unknown"} if scene.action else set()

    for token in (scene.token - 1, scene.token + 1):
        other = Scene(
            scene.executor,
            scene.later,
            scene.question,
            scene.interrupt,
            scene.action,
            token,
            is_held=True,
        )
        commands = taking_a_token | ({"dispatch"} if scene.interrupt else set())
        told = {command: _outcome(other, command) for command in commands}

        if name == "unknown_beside_in_flight":
            assert told.pop("result") == "outcome_unknown"
            assert told.pop("unknown") == "outcome_unknown"
        assert set(told.values()) == {"lease_lost"}


def test_the_table_has_every_scene() -> None:
    helpers = {"take", "ask", "approve", "dispatch", "be_unknown", "post", "of_run", "send"}
    scenes = {name for name in vars(Scene) if callable(getattr(Scene, name))} - helpers

    assert {name for name in scenes if not name.startswith("_")} == set(ROWS)
