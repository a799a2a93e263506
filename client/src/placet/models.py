"""What the server answers (contract §6), as frozen values; members added later are let by."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from placet.protocol.states import (
    ActionState,
    DecisionKind,
    InterruptKind,
    InterruptState,
    RunOutcome,
    RunState,
)

Object = Mapping[str, Any]

APPROVING = frozenset({DecisionKind.APPROVE, DecisionKind.EDIT})


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who did something; `kind` is user, agent, policy or standing."""

    kind: str
    id: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """The policy rule that binds a question; version 0 is the rule without a policy."""

    rule: str
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The outcome that people, or a policy, gave a question.

    `args` and `approved_sha256` are what was approved, edits included; None where nothing was.
    """

    id: str
    kind: DecisionKind
    decided_by: Actor
    decided_at: datetime
    approvals: tuple[Object, ...]
    reason: str
    args: Object | None
    approved_sha256: str | None
    response: Any
    valid_until: datetime | None
    idempotency_key: str | None

    @property
    def approves(self) -> bool:
        """Whether it lets something be done: approve, or edit."""
        return self.kind in APPROVING


@dataclass(frozen=True, slots=True, kw_only=True)
class Interrupt:
    """One question put to people, and how it stands."""

    id: str
    run_id: str
    call_id: str
    attempt: int
    kind: InterruptKind
    state: InterruptState
    round: int
    tool: str
    args: Object
    target: Object | None
    asked_sha256: str
    requested_sha256: str
    description: str
    allowed_decisions: tuple[DecisionKind, ...]
    required: int
    approvals_so_far: int
    expires_at: datetime
    created_at: datetime
    created: bool
    superseded_by: str | None
    action_id: str | None
    handback: int
    warnings: tuple[str, ...]
    policy: Rule
    can: tuple[str, ...]
    url: str
    decision: Decision | None

    @property
    def is_pending(self) -> bool:
        """Whether it still waits for people."""
        return self.state is InterruptState.PENDING

    @property
    def is_approved(self) -> bool:
        """Whether people, or a policy, approved it, with or without an edit."""
        return self.decision is not None and self.decision.approves


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One dispatched side effect and what is known of it."""

    id: str
    run_id: str
    interrupt_id: str
    state: ActionState
    idempotency_key: str
    tool: str
    args: Object
    target: Object | None
    approved_sha256: str
    fencing_token: int
    grant: str
    result: Any
    evidence: Object | None
    late_reports: tuple[Object, ...]
    refs: Any
    resent_as: str | None
    can: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who controls a run, and until when."""

    holder: str
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """A run as the server told it once."""

    id: str
    external_id: str | None
    parent: str | None
    title: str
    context: Any
    labels: Object
    allowed_tools: tuple[str, ...] | None
    owner: str
    state: RunState
    revision: int
    seq: int
    outcome: RunOutcome | None
    cancel_requested: bool
    lease: Holder | None
    created_at: datetime
    updated_at: datetime
    url: str
    can: tuple[str, ...]
    interrupts: tuple[Interrupt, ...]
    actions: tuple[Action, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsPage:
    """Some runs, and where the next page begins."""

    items: tuple[RunView, ...]
    next: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What asking is answered with."""

    run: RunView
    interrupts: tuple[Interrupt, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """An executor's lease as the server told it: its token, until when, whether to stop."""

    fencing_token: int
    holder: str | None
    expires_at: datetime | None
    cancel_requested: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """What became of a look at the controlled page; `differs` names what was not as wanted."""

    observation_id: str
    matched: bool
    differs: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Me:
    """What a key is and opens; `owners` None is anybody."""

    tenant: str
    agent: Actor
    scopes: tuple[str, ...]
    owners: tuple[str, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One fact of the record under the tenant's number `n`; `data` is all that was sent."""

    n: int
    run_seq: int | None
    type: str
    at: datetime
    run_id: str | None
    interrupt_id: str | None
    action_id: str | None
    data: Object
