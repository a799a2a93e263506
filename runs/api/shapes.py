"""What executors see of leases and actions (contract §6)."""

from typing import Any

from ninja import Schema

from audit.chain import instant
from placet.protocol.reading import JSONValue, read_json
from placet.protocol.states import ActionState
from runs.models import Action, Run

Shape = dict[str, JSONValue]


class LeaseOut(Schema):
    """Control of a run: its token, until when, and whether the run is asked to stop."""

    fencing_token: int
    holder: str | None
    expires_at: str | None
    cancel_requested: bool


class ActionOut(Schema):
    """One dispatched side effect and what is known of it."""

    id: str
    run_id: str
    interrupt_id: str
    state: str
    idempotency_key: str
    tool: str
    args: dict[str, Any]
    target: dict[str, Any] | None
    approved_sha256: str
    fencing_token: int
    grant: str
    result: Any
    evidence: dict[str, Any] | None
    late_reports: list[dict[str, Any]]
    refs: Any
    resent_as: str | None
    can: list[str]


def lease_shape(run: Run) -> Shape:
    """The lease that lives, or that none does."""
    lease = run.lease
    return {
        "fencing_token": run.fencing_token,
        "holder": lease.holder if lease else None,
        "expires_at": instant(lease.expires_at) if lease else None,
        "cancel_requested": run.cancel_requested,
    }


def action_shape(action: Action) -> Shape:
    """One action as its agent sees it."""
    content = action.content
    return {
        "id": action.pk,
        "run_id": action.run_id,
        "interrupt_id": action.interrupt_id,
        "state": str(action.state),
        "idempotency_key": action.idempotency_key,
        "tool": action.tool,
        "args": content["args"],
        "target": content["target"],
        "approved_sha256": action.approved_sha256,
        "fencing_token": action.fencing_token,
        "grant": action.grant,
        "result": _read(action.result),
        "evidence": action.evidence_value or None,
        "late_reports": list(action.late_values),
        "refs": _read(action.refs),
        "resent_as": action.resent_as,
        "can": action_commands(action),
    }


def action_commands(action: Action) -> list[JSONValue]:
    """What the run's agent may say of an action now."""
    match ActionState(action.state):
        case ActionState.IN_FLIGHT:
            return ["result", "unknown"]
        case ActionState.UNKNOWN:
            return ["reconcile"]
        case _:
            return []


def _read(text: str | None) -> JSONValue:
    return None if text is None else read_json(text.encode())
