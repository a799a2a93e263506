"""Any order of commands, told twice: by the product and by a small model of the contract.

Agents' commands go through the model methods and through HTTP, people's answers through the
command and through the question's page. After each step both tell the same, and everything that
contract §3 promises at every commit holds.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from django.conf import settings as settings_of_django
from django.db import connection, transaction
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
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
from runs.models import Action, NewRun
from runs.models import Run as RunRow
from runs.rules.refusal import Refusal
from tests.approvals import contract_model as model
from tests.approvals.acting import ALL_SCOPES
from tests.approvals.contract_acting import ActingRun
from tests.approvals.contract_doors import Asking, code
from tests.approvals.contract_executing import Executing
from tests.approvals.contract_strategies import (
    Picks,
    answers,
    args,
    asks,
    controls,
    doors,
    people_doors,
    picked,
    picks,
)
from tests.cast import Cast
from tests.concurrency.invariants import broken
from tests.postgres import connect_as

MOST_RUNS = 4


class Conversation(Executing):
    """An agent and people, over a few runs, in one transaction that is rolled back."""

    runs = Bundle("runs")
    questions = Bundle("questions")

    def __init__(self) -> None:
        super().__init__()
        self.roots: list[ActingRun] = []
        self.originals: list[tuple[str, str, str, object]] = []
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
    def first(self) -> ActingRun:
        return self._begin(None)

    @rule(target=runs, parent=st.none() | runs)
    def begin(self, parent: ActingRun | None) -> Any:
        return self._begin(parent) if len(self.all()) < MOST_RUNS else multiple()

    def _begin(self, parent: ActingRun | None) -> Any:
        name = self.name("r")
        expected = parent.begin_child(name) if parent else ActingRun(name)
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
        control=controls,
    )
    def ask(
        self,
        run: ActingRun,
        asked: list[model.Ask],
        known: int | None,
        door: str,
        control: str = "own",
    ) -> Any:
        row = RunRow.objects.get(pk=self.pks[run.name])
        revision = None if known is None else max(row.revision + known, 0)
        token = self.token(run, control)
        retries = [self._retried(run, ask) for ask in asked]
        expected = run.ask(asked, revision, token, self.name("q"))
        told = self.doors.ask(row.pk, Asking(asked, retries, revision, token), door)
        if isinstance(told, str) or isinstance(expected, str):
            assert told == expected
            return multiple()
        assert [is_new for _, is_new in told] == [q.name not in self.pks for q in expected]
        for (pk, _), answering in zip(told, expected, strict=True):
            assert self.pks.setdefault(answering.name, pk) == pk
        return multiple(*expected)

    def _retried(self, run: ActingRun, ask: model.Ask) -> str | None:
        last = run.last(ask.call_id)
        action = model.repeated(last) if last and ask.is_retry else None
        return self.pks[action.name] if action else None

    @rule(target=questions, run=runs, asked=asks)
    def ask_again_soon(self, run: ActingRun, asked: model.Ask) -> Any:
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
        runs = [run for run in self.all() if run.state not in model.TERMINAL]
        waiting = [
            question for run in runs for question in run.questions if question.state == model.OPEN
        ]
        if not waiting:
            return self.ask(picked(runs, picks[0]), [asked], None, "http") if runs else multiple()
        question = picked(waiting, picks[0])
        decision = picked(sorted(question.ask.offered()), picks[1])
        people = ["alice"] if decision == "done" else sorted(question.asked_people)
        posted = model.Posted(
            user=picked(people, picks[2]),
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
        run = self.run_of(question)
        row = Interrupt.objects.get(pk=self.pks[question.name])
        name = self.name("e")
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

    @rule(question=questions, door=doors, control=controls)
    def cancel_question(self, question: model.Question, door: str, control: str) -> None:
        token = self.token(self.run_of(question), control)
        expected = self.run_of(question).cancel_question(question, token)
        assert self.doors.cancel_question(self.pks[question.name], token, door) == expected

    @rule(
        run=runs,
        end=st.sampled_from(["cancel", "succeeded", "failed"]),
        door=doors,
        control=controls,
    )
    def end_run(self, run: ActingRun, end: str, door: str, control: str) -> None:
        """Late, since little is left to do with a run that has ended; or once more."""
        if run.state not in model.TERMINAL and run.revision < 4:
            return
        token = self.token(run, control)
        expected = run.cancel() if end == "cancel" else run.finish(end, token)
        assert self.doors.end_run(self.pks[run.name], end, token, door) == expected

    @rule(question=questions)
    def let_time_pass(self, question: model.Question) -> None:
        """To the deadline of an open question, or of an approval's use."""
        pk = self.pks[question.name]
        if question.is_open:
            question.is_due = True
            self._pass("approvals_interrupt", "expires_at", pk)
        elif question.is_unused_approval and question.is_valid:
            question.is_valid = False
            self._pass(
                "approvals_decision", "valid_until", Interrupt.objects.get(pk=pk).decision.pk
            )

    @rule(run=runs, is_sweep=st.booleans())
    def look(self, run: ActingRun, is_sweep: bool) -> None:
        """What is past its deadline has ended for whoever looks, swept up or not."""
        for each in self.all() if is_sweep else [run]:
            each.settle()
        if is_sweep:
            sweep()
        shape = self.doors.http.get(f"/runs/{self.pks[run.name]}?all=1").json()
        assert (shape["state"], shape["revision"]) == (run.state, run.revision)
        assert set(shape["can"]) == run.can()

    @invariant()
    def both_tell_the_same(self) -> None:
        for run in self.all():
            row = RunRow.objects.get(pk=self.pks[run.name])
            assert (row.state, row.revision, row.outcome) == (run.state, run.revision, run.outcome)
            assert row.cancel_requested is run.cancel_requested
            assert (row.fencing_token, row.lease is not None) == (run.token, run.is_held)
            rows = Interrupt.objects.filter(run=row).select_related("decision")
            rows = rows.prefetch_related("approvals__user")
            told = {attempt.pk: self._told(attempt) for attempt in rows}
            assert told == {self.pks[q.name]: self._expected(run, q) for q in run.questions}
            used = {action.pk: self.told_of(action) for action in Action.objects.filter(run=row)}
            assert used == {self.pks[each.name]: self.expected_of(each) for each in run.actions}

    @invariant()
    def every_promise_holds(self) -> None:
        assert broken(self.pks[run.name] for run in self.all()) == []

    def _told(self, row: Interrupt) -> dict[str, Any]:
        decision = getattr(row, "decision", None)
        value = decision and (decision.args if decision.approved_asked else decision.response_value)
        key = decision and decision.idempotency_key
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
            "handback": row.handback,
            "key": key and self.keys.setdefault(key, row.pk),
        }

    def _expected(self, run: ActingRun, question: model.Question) -> dict[str, Any]:
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
            "approvals_so_far": len(question.approved_by) + question.sent_again,
            "superseded_by": question.superseded_by and self.pks[question.superseded_by],
            "allowed": question.ask.offered(),
            "decision": question.decision,
            "handback": question.handback,
            "key": question.key and self.pks[question.key],
        }

    def all(self) -> list[ActingRun]:
        found = list(self.roots)
        for run in found:
            found.extend(run.children)
        return found

    def run_of(self, question: model.Question) -> ActingRun:
        return next(run for run in self.all() if question in run.questions)

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
    monkeypatch.setattr(settings_of_django, "PLACET_GRANT_TTL_S", 0)  # no finding is too early
    agent, key = Agent.create(
        "executor", tenant=cast.tenant, any_owner=True, scopes=ALL_SCOPES, by=OPERATOR
    )
    cast = replace(cast, agent=agent, key=key)
    Agent.objects.filter(pk=agent.pk).update(responsible=cast.bob)
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
