"""The bodies that agents send, as closed and strict models; unknown members are refused."""

from typing import Annotated, Any, Literal

from pydantic import Field

from placet.protocol import limits
from runs.api.bodies import Body, LeaseBody, Name, Text, Token

Seen = Annotated[Text, Field(min_length=1)]
Tool = Annotated[str, Field(pattern=f"^{limits.TOOL_PATTERN}$")]
ToolGlob = Annotated[str, Field(pattern=rf"^(?:{limits.TOOL_PATTERN}\*?|\*)$")]
Object = dict[str, Any]
DecisionName = Literal["approve", "edit", "reject", "respond", "done"]


class Question(Body):
    """One question to people."""

    call_id: Name
    kind: Literal["approval", "question", "handoff"] = "approval"
    tool: Tool
    args: Object
    target: Object | None = None
    description: Text = ""
    args_schema: Object | None = None
    response_schema: Object | None = None
    allowed_decisions: Annotated[list[DecisionName], Field(min_length=1, max_length=5)] | None = (
        None
    )
    expires_in_s: (
        Annotated[int, Field(ge=limits.EXPIRES_IN_MIN_S, le=limits.EXPIRES_IN_MAX_S)] | None
    ) = None
    observation_max_age_s: Annotated[int, Field(ge=1, le=limits.EXPIRES_IN_MAX_S)] | None = None
    sensitive: Annotated[list[Text], Field(max_length=100)] = []
    handoff_url: Text | None = None
    retry_of: Name | None = None


Questions = Annotated[list[Question], Field(min_length=1, max_length=limits.INTERRUPTS_MAX)]


class AskBody(Body):
    """Questions of one run, all or nothing."""

    expected_revision: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = None
    fencing_token: Token | None = None
    interrupts: Questions


class RunBody(Body):
    """A run to begin, and its first questions if there are any."""

    title: Annotated[Text, Field(min_length=1)]
    owner: Annotated[str, Field(min_length=1, max_length=150)]
    external_id: Name | None = None
    parent: Name | None = None
    context: Any = None
    allowed_tools: Annotated[list[ToolGlob], Field(max_length=500)] | None = None
    labels: Object = {}
    interrupts: Questions | None = None


class CancelRunBody(Body):
    """Why a run is stopped."""

    reason: Text | None = None


class CancelInterruptBody(Body):
    """Takes a question back."""

    fencing_token: Token | None = None


class FinishBody(Body):
    """How a run ended."""

    outcome: Literal["succeeded", "failed", "rejected"]
    fencing_token: Token | None = None


class DispatchBody(Body):
    """What is about to be done, under a lease that is held, or one that is taken with it."""

    interrupt_id: Name
    args: Object
    fencing_token: Token | None = None
    lease: LeaseBody | None = None
    observation_id: Name | None = None
    refs: Any = None


class ObservationBody(Body):
    """What was seen on the controlled page."""

    fencing_token: Token
    origin: Seen
    account: Seen | None = None
    page: Seen | None = None
    session: Seen | None = None
    snapshot_sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    observed_at: Annotated[str, Field(max_length=64)]


class HandbackBody(ObservationBody):
    """What was seen after a person handed back for the so-manieth time."""

    handback: Annotated[int, Field(ge=0, le=2**31 - 1)]


class EvidenceBody(Body):
    """What a finding rests on."""

    kind: Literal["target_object", "idempotency_lookup", "status_record", "human_statement"]
    reference: Text = ""
    note: Text = ""


class ReconcileBody(Body):
    """What was found out about an action."""

    outcome: Literal["executed", "not_executed", "still_unknown", "resend"]
    evidence: EvidenceBody | None = None
