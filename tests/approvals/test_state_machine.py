"""Any order of commands, told twice: by the product and by a small model of the contract.

Agents' commands go through the model methods and through HTTP, people's answers through the
command and through the question's page. After each step both tell the same, and everything that
contract §3 promises at every commit holds.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from approvals.models import Interrupt, PolicyVersion
from approvals.sweeping import sweep
from audit.verify import verify
from config.roles import OWNER, RUNTIME
from identity.management.reporting import OPERATOR
from identity.models import Agent
from runs.api import http
from runs.models import NewRun
from runs.models import Run as RunRow
from runs.rules.refusal import Refusal
from tests.approvals import contract_model as model
from tests.approvals.contract_doors import Doors, code
from tests.approvals.contract_strategies import (
    Picks,
    answers,
    args,
    asks,
    doors,
    people_doors,
    picked,
    picks,
)
from tests.cast import Cast
from tests.concurrency.invariants import broken
from tests.postgres import connect_as

MOST_RUNS = 4


class Conversation(RuleBasedStateMachine):
    """An agent and people, over a few runs, in one transaction that is rolled back."""

    cast: Cast
    runs = Bundle("runs")
    questions = Bundle("questions")

    def __init__(self) -> None:
        super().__init__()
        self.names = 0
        self.pks: dict[str, str] = {}
        self.roots: list[model.Run] = []
        self.originals: list[tuple[str, str, str, object]] = []
        self.doors = Doors(self.cast)
        self.transaction = transaction.atomic()
        self.transaction.__enter__()

    def teardown(self) -> None:
        """Put the deadlines back, whose digests are on record; verify it; undo everything."""
        try:
            for table, column, pk, original in reversed(self.originals):
                self._rewrite(table, column, pk, original)
            assert verify(self.cast.tenant.pk).first_bad is None
        finally:
            transaction.set_rollback(True)
            self.transaction.__exit__(None, None, None)

    @initialize(target=runs)
    def first(self) -> model.Run:
        return self._begin(None)

    @rule(target=runs, parent=st.none() | runs)
    def begin(self, parent: model.Run | None) -> Any:
        return self._begin(parent) if len(self._all()) < MOST_RUNS else multiple()

    def _begin(self, parent: model.Run | None) -> Any:
        name = self._name("r")
        expected = parent.begin_child(name) if parent else model.Run(name)
        new = NewRun(
            title="Work",
            owner=self.cast.alice,
            parent_id=self.pks[parent.name] if parent else None,
        )
        told = RunRow.begin(new, agent=self.cast.agent)
        if isinstance(expected, str):
            assert code(told) == expected
            return multiple()
        assert not isinstance(told, Refusal)
        self.pks[name] = told[0].pk
        if parent is None:
            self.roots.append(expected)
        return expected

    @rule(
        target=questions,
        run=runs,
        asked=st.lists(asks, min_size=1, max_size=2, unique_by=lambda ask: ask.call_id),
        known=st.sampled_from([None, None, 0, 0, -1]),
        door=doors,
    )
    def ask(self, run: model.Run, asked: list[model.Ask], known: int | None, door: str) -> Any:
        row = RunRow.objects.get(pk=self.pks[run.name])
        revision = None if known is None else max(row.revision + known, 0)
        expected = run.ask(asked, revision, self._name("q"))
        told = self.doors.ask(row.pk, asked, revision, door)
        if isinstance(told, str) or isinstance(expected, str):
            assert told == expected
            return multiple()
        assert [is_new for _, is_new in told] == [q.name not in self.pks for q in expected]
        for (pk, _), answering in zip(told, expected, strict=True):
            assert self.pks.setdefault(answering.name, pk) == pk
        return multiple(*expected)

    @rule(target=questions, run=runs, asked=asks)
    def ask_again_soon(self, run: model.Run, asked: model.Ask) -> Any:
        """Half of what is asked is asked twice: that is what restarted agents do."""
        first = self.ask(run, [asked], None, "command")
        self.ask(run, [asked], None, "http")
        return first

    @rule(target=questions, question=questions, posted=answers, door=people_doors)
    def answer(self, question: model.Question, posted: model.Posted, door: str) -> Any:
        return self._answer(question, posted, door)

    @rule(target=questions, asked=asks, picks=picks, given=args, door=people_doors)
    def answer_well(self, asked: model.Ask, picks: Picks, given: model.Args, door: str) -> Any:
        """What most people do: who is asked gives an answer that is offered, from its page."""
        runs = [run for run in self._all() if run.state not in model.TERMINAL]
        waiting = [
            question for run in runs for question in run.questions if question.state == model.OPEN
        ]
        if not waiting:
            return self.ask(picked(runs, picks[0]), [asked], None, "http") if runs else multiple()
        question = picked(waiting, picks[0])
        decision = picked(sorted(question.ask.offered()), picks[1])
        posted = model.Posted(
            user=picked(sorted(question.asked_people), picks[2]),
            decision=decision,
            reason="Because",
            args=given if decision == "edit" else None,
            response="Monday",
        )
        return self._answer(question, posted, door)

    @rule(target=questions, asked=asks, picks=picks, given=args, door=people_doors)
    def answer_well_again(
        self, asked: model.Ask, picks: Picks, given: model.Args, door: str
    ) -> Any:
        """The same, so that answers are as frequent as all else together."""
        return self.answer_well(asked, picks, given, door)

    def _answer(self, question: model.Question, posted: model.Posted, door: str) -> Any:
        run = self._run_of(question)
        row = Interrupt.objects.get(pk=self.pks[question.name])
        name = self._name("e")
        if posted.decision not in ("approve", "edit"):
            posted = replace(posted, args=None)
        if door == "page" and posted.user in {"rae", "rob"} - question.asked_people:
            assert self.doors.answer(row, posted, door) == "not_found"  # no command, no record
            return multiple()
        assert self.doors.answer(row, posted, door) == run.answer(question, posted, name)
        if question.superseded_by != name:
            return multiple()
        following = Interrupt.objects.get(
            run_id=row.run_id, call_id=row.call_id, attempt=row.attempt + 1
        )
        self.pks[name] = following.pk
        return run.questions[-1]

    @rule(question=questions, door=doors)
    def cancel_question(self, question: model.Question, door: str) -> None:
        expected = self._run_of(question).cancel_question(question)
        assert self.doors.cancel_question(self.pks[question.name], door) == expected

    @rule(run=runs, end=st.sampled_from(["cancel", "succeeded", "failed"]), door=doors)
    def end_run(self, run: model.Run, end: str, door: str) -> None:
        """Late, since little is left to do with a run that has ended; or once more."""
        if run.state not in model.TERMINAL and run.revision < 3:
            return
        expected = run.cancel() if end == "cancel" else run.finish(end)
        assert self.doors.end_run(self.pks[run.name], end, door) == expected

    @rule(question=questions)
    def let_time_pass(self, question: model.Question) -> None:
        """To the deadline of an open question, or of an approval's use."""
        pk = self.pks[question.name]
        if question.state == model.OPEN:
            question.is_due = True
            self._pass("approvals_interrupt", "expires_at", pk)
        elif question.state == "DECIDED" and question.is_unused_approval:
            question.is_valid = False
            self._pass(
                "approvals_decision", "valid_until", Interrupt.objects.get(pk=pk).decision.pk
            )

    @rule(run=runs, is_sweep=st.booleans())
    def look(self, run: model.Run, is_sweep: bool) -> None:
        """What is past its deadline has ended for whoever looks, swept up or not."""
        for each in self._all() if is_sweep else [run]:
            each.settle()
        if is_sweep:
            sweep()
        shape = self.doors.http.get(f"/runs/{self.pks[run.name]}?all=1").json()
        assert (shape["state"], shape["revision"]) == (run.state, run.revision)
        can = {"ask", "cancel"} if run.state not in model.TERMINAL else set()
        can |= {"lease"} if run.state not in model.TERMINAL else set()
        can |= {"finish"} if run.state in ("READY", "EXPIRED") else set()
        assert set(shape["can"]) == can

    @invariant()
    def both_tell_the_same(self) -> None:
        for run in self._all():
            row = RunRow.objects.get(pk=self.pks[run.name])
            assert (row.state, row.revision, row.outcome) == (run.state, run.revision, run.outcome)
            rows = Interrupt.objects.filter(run=row).select_related("decision")
            rows = rows.prefetch_related("approvals__user")
            told = {attempt.pk: self._told(attempt) for attempt in rows}
            assert told == {self.pks[q.name]: self._expected(run, q) for q in run.questions}

    @invariant()
    def every_promise_holds(self) -> None:
        assert broken(self.pks[run.name] for run in self._all()) == []

    def _told(self, row: Interrupt) -> dict[str, Any]:
        decision = getattr(row, "decision", None)
        value = decision and (decision.args if decision.approved_asked else decision.response_value)
        return {
            "call_id": row.call_id,
            "attempt": row.attempt,
            "state": row.state,
            "round": row.round,
            "args": row.content["args"],
            "rule": row.policy_rule,
            "required": row.required,
            "is_latest": row.is_latest,
            "approved_by": {approval.user.username for approval in row.approvals.all()},
            "approvals_so_far": row.approvals_so_far,
            "superseded_by": row.superseded_by_id,
            "allowed": set(row.allowed_decisions),
            "decision": decision and (decision.kind, decision.by_name, value),
        }

    def _expected(self, run: model.Run, question: model.Question) -> dict[str, Any]:
        return {
            "call_id": question.ask.call_id,
            "attempt": question.attempt,
            "state": question.state,
            "round": question.round,
            "args": question.args,
            "rule": question.rule,
            "required": question.required,
            "is_latest": run.is_last(question),
            "approved_by": set(question.approved_by),
            "approvals_so_far": len(question.approved_by),
            "superseded_by": question.superseded_by and self.pks[question.superseded_by],
            "allowed": question.ask.offered(),
            "decision": question.decision,
        }

    def _all(self) -> list[model.Run]:
        found = list(self.roots)
        for run in found:
            found.extend(run.children)
        return found

    def _run_of(self, question: model.Question) -> model.Run:
        return next(run for run in self._all() if question in run.questions)

    def _name(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    def _pass(self, table: str, column: str, pk: str) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT {column} FROM {table} WHERE id = %s", [pk])
            (original,) = cursor.fetchone()
            cursor.execute("SELECT clock_timestamp()")
            (now,) = cursor.fetchone()
        self.originals.append((table, column, pk, original))
        self._rewrite(table, column, pk, now)

    def _rewrite(self, table: str, column: str, pk: str, value: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL session_replication_role = replica")
            cursor.execute(f"UPDATE {table} SET {column} = %s WHERE id = %s", [value, pk])
            cursor.execute("SET LOCAL session_replication_role = origin")


@pytest.fixture
def as_owner(transactional_db: None) -> Iterator[None]:
    """The owner's connection, which alone can move a deadline inside the same transaction."""
    connect_as(OWNER)
    yield
    connect_as(RUNTIME)


def test_any_order_of_commands_does_what_the_contract_says(
    as_owner: None, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "_buckets", lambda: None)  # no limit on one key's requests
    Agent.objects.filter(pk=cast.agent.pk).update(responsible=cast.bob)
    assert isinstance(PolicyVersion.set(cast.tenant, model.POLICY, by=OPERATOR), PolicyVersion)
    machine = type("Conversation", (Conversation,), {"cast": cast})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=40,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
