"""What becomes of a dispatched action: reports by its executor (contract §3), purely.

A report counts only from whoever controls the run, about an action that is under way. Any other
is refused and kept, for it may be the evidence by which an unknown outcome is cleared.
"""

from dataclasses import dataclass, replace

from placet.protocol.reading import JSONValue, read_json
from placet.protocol.refusals import RefusalCode
from placet.protocol.states import ActionState, RunState
from runs.rules.facts import RunFacts, ended
from runs.rules.lease import lost
from runs.rules.refusal import Refusal

REPORTED = {
    "succeeded": ActionState.SUCCEEDED,
    "failed": ActionState.FAILED,
    "not_executed": ActionState.NOT_EXECUTED,
}
"""The words of a result, and the states that they bring about."""

ENDED = frozenset(
    {ActionState.SUCCEEDED, ActionState.FAILED, ActionState.NOT_EXECUTED, ActionState.RESENT}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionFacts:
    """What the rules need to know of an action, read under the lock of its run."""

    id: str
    state: ActionState
    fencing_token: int
    result: str | None
    is_reconciled: bool = False
    """Whether evidence, and not its executor, said what became of it."""

    def current(self) -> dict[str, JSONValue]:
        """How the action stands, for a refusal."""
        return {"action": self.id, "action_state": self.state}


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What an executor says became of its action; `result` in canonical form."""

    state: ActionState
    fencing_token: int
    result: str | None = None
    detail: str = ""
    """The executor's words, and `refs` by which it can be found, of an unknown outcome."""
    refs: str | None = None

    def told(self) -> dict[str, JSONValue]:
        """What was said, as it is kept; the two of an unknown outcome only where they are given."""
        return {
            "fencing_token": self.fencing_token,
            "outcome": self.state.lower(),
            "result": None if self.result is None else read_json(self.result.encode()),
            **({"detail": self.detail} if self.detail else {}),
            **({} if self.refs is None else {"refs": read_json(self.refs.encode())}),
        }

    def repeats(self, action: ActionFacts) -> bool:
        """Whether exactly this was taken already, as a report."""
        if (
            action.is_reconciled
            or self.fencing_token != action.fencing_token
            or self.state is not action.state
        ):
            return False
        return self.state is ActionState.UNKNOWN or self.result == action.result


def take_report(run: RunFacts, action: ActionFacts, report: Report) -> ActionState | Refusal | None:
    """The action's next state, None where this was taken already, or why it does not count."""
    if report.repeats(action):
        return None
    current = {**run.current(), **action.current()}
    if ActionState.UNKNOWN is action.state or run.state is RunState.UNKNOWN:
        return Refusal(code=RefusalCode.OUTCOME_UNKNOWN, current=current, is_kept=True)
    if refusal := ended(run) or lost(run, report.fencing_token):
        return replace(refusal, current=current, is_kept=True)
    if action.state is not ActionState.IN_FLIGHT or report.fencing_token != action.fencing_token:
        return Refusal(code=RefusalCode.WRONG_STATE, current=current)
    return report.state
