"""The model's leases and actions: what contract §3 says of executors, in plain Python."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tests.approvals.contract_model import (
    IDEMPOTENT,
    TERMINAL,
    Action,
    Question,
    Run,
    ended,
    rule_of,
)

FOUND = {
    "executed": "SUCCEEDED",
    "not_executed": "NOT_EXECUTED",
    "still_unknown": "UNKNOWN",
    "resend": "RESENT",
}
PROVING_ABSENCE = ("idempotency_lookup", "status_record", "human_statement")


class ActingRun(Run):
    """A run with the commands of those who act, and of those who find out what became of it."""

    def can(self) -> set[str]:
        """What its agent may do now."""
        if self.state in TERMINAL:
            return set()
        can = {"cancel"} if not self.cancel_requested else set()
        can |= {"ask", "lease"} if self.state in ("READY", "WAIT_USER", "EXPIRED") else set()
        can |= {"finish"} if self.state in ("READY", "EXPIRED") else set()
        if self.is_held:
            can = (can - {"lease"}) | {"lease.renew"}
            can |= {"lease.release"} if self.state != "IN_FLIGHT" else set()
        return can

    def take(self) -> str | None:
        self.settle()
        if self.state in TERMINAL:
            return "run_closed"
        if self.state == "UNKNOWN":
            return "outcome_unknown"
        if self.is_held:
            return "lease_held"
        self._start_lease()
        return None

    def _start_lease(self) -> None:
        self.token, self.is_held, self.is_lease_due = self.token + 1, True, False

    def renew(self, token: int) -> str | None:
        self.settle()
        return self._not_holding(token)

    def release(self, token: int) -> str | None:
        self.settle()
        if refusal := self._not_holding(token):
            return refusal
        if self.state == "IN_FLIGHT":
            return "wrong_state"
        self.is_held = False
        return None

    def _not_holding(self, token: int) -> str | None:
        if self.state in TERMINAL:
            return "run_closed"
        return "outcome_unknown" if self.state == "UNKNOWN" else self.no_control(token)

    def dispatch(
        self, question: Question, args: object, token: int | None, name: str
    ) -> Action | str:
        """The action, or why not; without a token the lease is taken in the same step."""
        self.settle()
        if refusal := self._no_dispatch(question, args, token):
            return refusal
        if token is None:
            self._start_lease()
        question.action = Action(name, question, self.token)
        self.actions.append(question.action)
        if self.state != "IN_FLIGHT":
            self.move("IN_FLIGHT")
        return question.action

    def _no_dispatch(  # noqa: PLR0911
        self, question: Question, args: Any, token: int | None
    ) -> str | None:
        if question.superseded_by:
            return "superseded"
        if question.state in ("EXPIRED", "CANCELLED"):
            return ended(question)
        if refusal := self.stands() or self.no_control(token):
            return refusal
        if self.state == "WAIT_USER":
            return "wrong_state"
        approved = question.approved_args
        if approved is not None and approved != args:
            return "digest_mismatch"
        if rule_of(question.ask.tool, args) == "never":
            return "tool_not_allowed"
        if approved is None:
            return "not_approved"
        if question.action is not None:
            return "already_dispatched"
        return None if question.is_valid else "approval_expired"

    def report(self, action: Action, said: str, token: int) -> str | None:
        self.settle()
        is_reported = action.evidence is None
        if (action.state, action.token, is_reported) == (said, token, True):
            return None
        refusal = None
        if "UNKNOWN" in (action.state, self.state):
            refusal = "outcome_unknown"
        elif self.state in TERMINAL:
            refusal = "run_closed"
        else:
            refusal = self.no_control(token)
        if refusal:
            action.late.add((said, token))
            return refusal
        if action.state != "IN_FLIGHT":
            return "wrong_state"
        action.state = said
        self.rest_actions()
        return None

    def find_out(  # noqa: PLR0911
        self, action: Action, found: tuple[str, str | None], by: str, name: str
    ) -> str | None:
        """Take a finding and the kind of evidence; `name` is for what is sent again."""
        self.settle()
        finding, kind = found
        may_approve = by in action.question.asked_people
        if by == "key":
            if finding == "resend" or kind == "human_statement":
                return "not_permitted"
        elif not may_approve and by not in ("alice", "ada"):
            return "not_permitted"
        if action.evidence == found:
            return None
        if finding == "resend" and not may_approve:
            return "not_permitted"
        if self.state in TERMINAL:
            return "run_closed"
        if finding == "resend" and self.cancel_requested:
            return "cancelled"
        if action.state != "UNKNOWN":
            return "wrong_state"
        if refusal := _not_shown(action, finding, kind):
            return refusal
        if finding == "still_unknown":
            return None
        action.state, action.evidence = FOUND[finding], found
        if finding == "resend":
            self._send_again(action, by, name)
        self.rest_actions()
        return None

    def _send_again(self, action: Action, by: str, name: str) -> None:
        before, args = action.question, action.question.approved_args
        assert isinstance(args, dict)
        self.questions.append(
            replace(
                before,
                name=name,
                args=args,
                attempt=before.attempt + 1,
                round=self.revision,
                approved_by=[],
                decision=("approve", by, args),
                is_due=False,
                is_valid=True,
                retries=action,
                action=None,
                sent_again=True,
            )
        )

    def observe(self, question: Question, handback: int, token: int, is_there: bool) -> str | None:
        self.settle()
        if not question.is_open:
            return ended(question)
        if refusal := self.no_control(token):
            return refusal
        if question.state != "HANDED_BACK":
            return "wrong_state"
        if handback != question.handback:
            return "page_not_verified"
        if is_there:
            question.state, question.decision = "DECIDED", ("done", "alice", None)
            self.rest()
        else:
            question.state = "PENDING"
        return None


def _not_shown(action: Action, finding: str, kind: str | None) -> str | None:
    if finding == "resend" and action.question.rule not in IDEMPOTENT:
        return "decision_not_allowed"
    if finding == "executed" and kind is None:
        return "evidence_required"
    if finding == "not_executed" and kind not in PROVING_ABSENCE:
        return "evidence_required"
    return None


def unused(runs: Sequence[ActingRun]) -> list[Question]:
    """The approvals that could be used, were their run held."""
    return [
        question
        for run in runs
        if run.state in ("READY", "EXPIRED", "IN_FLIGHT") and not run.cancel_requested
        for question in run.questions
        if question.is_unused_approval and not question.superseded_by
    ]
