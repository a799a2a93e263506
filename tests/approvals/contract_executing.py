"""What executors do in the state machine, and those who find out what became of it."""

from abc import abstractmethod
from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, multiple, rule

from approvals.models import Interrupt
from approvals.models.reconciling import Found
from runs.clock import database_now
from runs.models import Action
from runs.models import Run as RunRow
from runs.rules.evidence import Evidence, EvidenceKind, Finding
from tests.approvals import contract_model as model
from tests.approvals.contract_acting import ActingRun, unused
from tests.approvals.contract_doors import Doors, code
from tests.approvals.contract_strategies import TARGET, Picks, args, controls, picked, picks
from tests.cast import Cast

findings = st.sampled_from(["executed", "executed", "not_executed", "still_unknown", "resend"])
kinds = st.none() | st.sampled_from([kind.value for kind in EvidenceKind])
finders = st.sampled_from(["key", "key", "alice", "rae", "rae", "rob", "ada", "bob", "otto"])
said = st.sampled_from(["SUCCEEDED", "FAILED", "FAILED", "NOT_EXECUTED", "UNKNOWN", "UNKNOWN"])


class Executing(RuleBasedStateMachine):
    """The part of a conversation that begins once something is approved."""

    cast: Cast
    runs = Bundle("runs")
    questions = Bundle("questions")
    actions = Bundle("actions")

    def __init__(self) -> None:
        super().__init__()
        self.names = 0
        self.pks: dict[str, str] = {}
        self.keys: dict[str, str] = {}
        """The first question that was seen under each idempotency key."""
        self.doors = Doors(self.cast)

    @abstractmethod
    def all(self) -> list[ActingRun]:
        """Every run so far."""

    @abstractmethod
    def run_of(self, question: model.Question) -> ActingRun:
        """The run that a question was asked in."""

    def name(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    def token(self, run: ActingRun, control: str) -> int | None:
        """The token that a command carries; an executor that lost its lease does not know it."""
        by_control = {"none": None, "old": max(run.token - 1, 0), "next": run.token + 1}
        own = run.token if run.is_held else None
        return by_control.get(control, own)

    def number(self, run: ActingRun, control: str) -> int:
        """The same for commands that always carry one."""
        token = self.token(run, control)
        return run.token if token is None else token

    @rule(run=runs, command=st.sampled_from(["take", "renew", "release"]), control=controls)
    def lease(self, run: ActingRun, command: str, control: str) -> None:
        path, token = f"/runs/{self.pks[run.name]}/lease", self.number(run, control)
        if command == "take":
            told = self.doors.act(path, {"holder": "worker-1", "ttl_s": 600})
            expected = run.take()
        else:
            told = self.doors.act(f"{path}/{command}", {"fencing_token": token})
            expected = run.renew(token) if command == "renew" else run.release(token)
        assert code(told) == expected
        if expected is None:
            assert told.json()["fencing_token"] == run.token

    @rule(run=runs)
    def let_the_lease_end(self, run: ActingRun) -> None:
        """To its end; whoever comes next finds it over."""
        if run.is_held:
            run.is_lease_due = True
            rows = RunRow.objects.filter(pk=self.pks[run.name])
            rows.update(lease_expires_at=database_now())

    @rule(target=actions, question=questions, given=args, control=controls)
    def dispatch(self, question: model.Question, given: model.Args, control: str) -> Any:
        return self._dispatch(question, question.approved_args or given, control)

    @rule(target=actions, picks=picks, amount=st.sampled_from([0, 0, 10, 20]), control=controls)
    def dispatch_well(self, picks: Picks, amount: int, control: str) -> Any:
        """What most executors do: ask, hear a yes, and use it with the token that they hold."""
        question = self._approved(picks, amount)
        if question is None:
            return multiple()
        return self._dispatch(question, question.approved_args, control)

    @rule(target=actions, picks=picks, amount=st.sampled_from([0, 10]))
    def dispatch_well_again(self, picks: Picks, amount: int) -> Any:
        """The same, so that acting is as frequent as asking."""
        return self.dispatch_well(picks, amount, "own")

    def _approved(self, picks: Picks, amount: int) -> model.Question | None:
        """An approval that can be used; where there is none, a run is brought to one."""
        if found := unused(self.all()):
            return picked(found, picks[0])  # type: ignore[no-any-return]
        resting = [run for run in self.all() if run.state in ("READY", "EXPIRED")]
        if not resting:
            return None
        tool = picked(["pay", "mail.send"], picks[1])
        ask = model.Ask(picked("abc", picks[2]), "approval", tool, amount, False, None, True)
        run = picked(resting, picks[0])
        self.ask(run, [ask], None, "http")
        question: model.Question = run.questions[-1]
        if question.state == model.OPEN:
            posted = model.Posted(user="rae", decision="approve", reason="Because")
            self.answer(question, posted, "command")
        return question if question.is_unused_approval else None

    @abstractmethod
    def ask(self, *asked: Any) -> Any:
        """Ask, and compare what came of it with the model."""

    @abstractmethod
    def answer(self, *posted: Any) -> Any:
        """Answer, and compare what came of it with the model."""

    @rule(picks=picks, said=said)
    def report_well(self, picks: Picks, said: str) -> None:
        """What most executors do next."""
        flying = [each for run in self.all() for each in run.actions if each.state == "IN_FLIGHT"]
        if flying:
            self.report(picked(flying, picks[0]), said, "own")

    @rule(target=questions, picks=picks, finding=findings, kind=kinds, by=finders)
    def find_out_well(self, picks: Picks, finding: str, kind: str | None, by: str) -> Any:
        """Somebody looks into what is not known."""
        unknown = [each for run in self.all() for each in run.actions if each.state == "UNKNOWN"]
        if not unknown:
            return multiple()
        return self.find_out(picked(unknown, picks[0]), finding, kind, by)

    def _dispatch(self, question: model.Question, given: Any, control: str) -> Any:
        run, name = self.run_of(question), self.name("a")
        token = self.token(run, control)
        how = {"fencing_token": token} if token is not None else {"lease": LEASE}
        body = {"interrupt_id": self.pks[question.name], "args": given, **how}
        told = self.doors.act(f"/runs/{self.pks[run.name]}/dispatch", body)
        expected = run.dispatch(question, given, token, name)
        if isinstance(expected, str):
            assert code(told) == expected
            return multiple()
        assert told.status_code == 201, told.content
        self.pks[name] = told.json()["id"]
        return expected

    @rule(action=actions, said=said, control=controls)
    def report(self, action: model.Action, said: str, control: str) -> None:
        run = self.run_of(action.question)
        token = self.number(run, control)
        path, body = f"/actions/{self.pks[action.name]}", {"fencing_token": token}
        if said == "UNKNOWN":
            told = self.doors.act(f"{path}/unknown", body)
        else:
            told = self.doors.act(f"{path}/result", body | {"outcome": said.lower()})
        expected = run.report(action, said, token)
        assert code(told) == expected
        assert told.json().get("kept", False) is (expected not in (None, "wrong_state"))

    @rule(
        target=questions,
        action=actions,
        finding=findings,
        kind=kinds,
        by=finders,
    )
    def find_out(self, action: model.Action, finding: str, kind: str | None, by: str) -> Any:
        run, name = self.run_of(action.question), self.name("s")
        row = Action.objects.get(pk=self.pks[action.name])
        evidence = Evidence(EvidenceKind(kind), "receipt 77") if kind else None
        told = self.doors.find_out(row, Found(Finding(finding), evidence), by)
        before = len(run.questions)
        assert told == run.find_out(action, (finding, kind), by, name)
        if len(run.questions) == before:
            return multiple()
        row.refresh_from_db()
        self.pks[name] = Interrupt.objects.get(pk=row.resent_as).pk
        return run.questions[-1]

    @rule(
        question=questions,
        back=st.sampled_from([0, 0, 0, 1]),
        is_there=st.booleans(),
        control=controls,
    )
    def observe(self, question: model.Question, back: int, is_there: bool, control: str) -> None:
        if question.ask.kind != "handoff":
            return
        run = self.run_of(question)
        token, handback = self.number(run, control), max(question.handback - back, 0)
        body = {
            **TARGET,
            **({} if is_there else {"account": "bob@acme"}),
            "handback": handback,
            "fencing_token": token,
            "snapshot_sha256": "a" * 64,
            "observed_at": datetime.now(UTC).isoformat(),
        }
        told = self.doors.act(f"/interrupts/{self.pks[question.name]}/observations", body)
        assert code(told) == run.observe(question, handback, token, is_there)

    def told_of(self, row: Action) -> dict[str, Any]:
        return {
            "state": row.state,
            "token": row.fencing_token,
            "args": row.content["args"],
            "question": row.interrupt_id,
            "key": self.keys[row.idempotency_key],
            "late": {(told["outcome"].upper(), told["fencing_token"]) for told in row.late_values},
        }

    def expected_of(self, action: model.Action) -> dict[str, Any]:
        return {
            "state": action.state,
            "token": action.token,
            "args": action.question.approved_args,
            "question": self.pks[action.question.name],
            "key": self.pks[action.question.key],
            "late": action.late,
        }


LEASE = {"holder": "one-shot", "ttl_s": 600}
