"""The values that agents get, for the API's own documentation."""

from datetime import datetime
from typing import Any

from ninja import Field, Schema

from runs.api.shapes import ActionOut


class ActorOut(Schema):
    """Who did something, with the name as it was then."""

    kind: str
    id: str
    name: str


class DecisionOut(Schema):
    """The one outcome of an interrupt."""

    id: str
    kind: str
    decided_by: ActorOut
    decided_at: datetime
    approvals: list[ActorOut]
    reason: str
    args: dict[str, Any] | None
    approved_sha256: str | None
    response: Any
    valid_until: datetime | None
    idempotency_key: str | None


class PolicyOut(Schema):
    """The rule that binds an interrupt, and the version of the policy it is in."""

    rule: str
    version: int


class InterruptOut(Schema):
    """One question, how it stands, and its decision."""

    id: str
    run_id: str
    call_id: str
    attempt: int
    kind: str
    state: str
    round: int
    tool: str
    args: dict[str, Any]
    target: dict[str, Any] | None
    asked_sha256: str
    requested_sha256: str
    description: str
    allowed_decisions: list[str]
    required: int
    approvals_so_far: int
    expires_at: datetime
    created_at: datetime
    created: bool
    superseded_by: str | None
    action_id: str | None
    handback: int
    warnings: list[str]
    policy: PolicyOut
    can: list[str]
    url: str
    decision: DecisionOut | None


class RunLeaseOut(Schema):
    """Who controls a run, and until when."""

    holder: str
    expires_at: datetime


class ObservedOut(Schema):
    """A stored observation, and what it says of the handoff that it is about."""

    observation_id: str
    matched: bool | None
    differs: list[str]
    interrupt: InterruptOut | None = None


class RunOut(Schema):
    """One run, its latest round and every approval not yet dispatched."""

    id: str
    external_id: str | None
    parent: str | None
    title: str
    context: Any
    allowed_tools: list[str] | None
    labels: dict[str, Any]
    owner: str
    state: str
    revision: int
    seq: int
    outcome: str | None
    cancel_requested: bool
    lease: RunLeaseOut | None
    created_at: datetime
    updated_at: datetime
    url: str
    can: list[str]
    interrupts: list[InterruptOut]
    actions: list[ActionOut]


class AskedOut(Schema):
    """A run and the interrupts that answer a request, in its order."""

    run: RunOut
    interrupts: list[InterruptOut]


class RunsOut(Schema):
    """A page of runs, and the `after` of the next page."""

    items: list[RunOut]
    next: str | None


class EventRefusedOut(Schema):
    """Why a command was refused, what it gave and what was true instead."""

    code: str
    given: dict[str, Any]
    current: dict[str, Any]


class EventOut(Schema):
    """One fact of the record."""

    n: int
    run_seq: int
    type: str
    at: datetime
    actor: ActorOut
    run_id: str | None
    interrupt_id: str | None
    action_id: str | None
    from_state: str | None = Field(alias="from")
    to_state: str | None = Field(alias="to")
    revision: int | None
    digest: str | None
    refused: EventRefusedOut | None


class EventsOut(Schema):
    """Events in the order of their numbers, and the `after` with which to go on."""

    items: list[EventOut]
    next: int


class MeOut(Schema):
    """Whose key this is and what it opens."""

    tenant: str
    agent: ActorOut
    scopes: list[str]
    owners: list[str] | None
