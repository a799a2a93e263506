"""The closed lists of the contract as words for people, each in one table.

Badges and lists say these words; the code's own spelling stays what the API and the record say.
"""

from collections.abc import Mapping
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from identity.roles import Role
from placet.protocol.states import (
    ActionState,
    DecisionKind,
    InterruptState,
    RunOutcome,
    RunState,
)
from runs.rules.evidence import EvidenceKind, Finding

Words = Mapping[str, Promise]

RUN_STATES: Final[Words] = {
    RunState.READY: pgettext_lazy("state of a run", "Ready to go on"),
    RunState.WAIT_USER: pgettext_lazy("state of a run", "Waiting for people"),
    RunState.EXPIRED: pgettext_lazy("state of a run", "Not answered in time"),
    RunState.IN_FLIGHT: pgettext_lazy("state of a run", "Carrying out"),
    RunState.UNKNOWN: pgettext_lazy("state of a run", "Outcome unknown"),
    RunState.DONE: pgettext_lazy("state of a run", "Done"),
    RunState.CANCELLED: pgettext_lazy("state of a run", "Cancelled"),
}
QUESTION_STATES: Final[Words] = {
    InterruptState.PENDING: pgettext_lazy("state of a question", "Waiting"),
    InterruptState.HANDED_BACK: pgettext_lazy("state of a question", "Being checked"),
    InterruptState.DECIDED: pgettext_lazy("state of a question", "Answered"),
    InterruptState.SUPERSEDED: pgettext_lazy("state of a question", "Replaced"),
    InterruptState.EXPIRED: pgettext_lazy("state of a question", "Not answered in time"),
    InterruptState.CANCELLED: pgettext_lazy("state of a question", "Cancelled"),
}
DECISIONS: Final[Words] = {
    DecisionKind.APPROVE: pgettext_lazy("decision", "Approved"),
    DecisionKind.EDIT: pgettext_lazy("decision", "Edited and approved"),
    DecisionKind.REJECT: pgettext_lazy("decision", "Rejected"),
    DecisionKind.RESPOND: pgettext_lazy("decision", "Responded"),
    DecisionKind.DONE: pgettext_lazy("decision", "Done"),
}
OUTCOMES: Final[Words] = {
    RunOutcome.SUCCEEDED: pgettext_lazy("outcome of a run", "Succeeded"),
    RunOutcome.FAILED: pgettext_lazy("outcome of a run", "Failed"),
    RunOutcome.REJECTED: pgettext_lazy("outcome of a run", "Rejected"),
}
ACTION_STATES: Final[Words] = {
    ActionState.IN_FLIGHT: pgettext_lazy("state of an action", "Under way"),
    ActionState.SUCCEEDED: pgettext_lazy("state of an action", "Carried out"),
    ActionState.FAILED: pgettext_lazy("state of an action", "Failed"),
    ActionState.NOT_EXECUTED: pgettext_lazy("state of an action", "Not carried out"),
    ActionState.UNKNOWN: pgettext_lazy("state of an action", "Outcome unknown"),
    ActionState.RESENT: pgettext_lazy("state of an action", "Sent again"),
}
REPORTS: Final[Words] = {
    "succeeded": pgettext_lazy("report", "It was carried out"),
    "failed": pgettext_lazy("report", "It failed"),
    "not_executed": pgettext_lazy("report", "It was not carried out"),
    "unknown": pgettext_lazy("report", "Its outcome is not known"),
}
FINDINGS: Final[Words] = {
    Finding.EXECUTED: pgettext_lazy("finding", "It was carried out"),
    Finding.NOT_EXECUTED: pgettext_lazy("finding", "It was not carried out"),
    Finding.STILL_UNKNOWN: pgettext_lazy("finding", "It is still not known"),
    Finding.RESEND: pgettext_lazy("finding", "It is sent again under the same key"),
}
EVIDENCE: Final[Words] = {
    EvidenceKind.TARGET_OBJECT: pgettext_lazy("evidence", "What is there at the target"),
    EvidenceKind.IDEMPOTENCY_LOOKUP: pgettext_lazy("evidence", "A lookup by the idempotency key"),
    EvidenceKind.STATUS_RECORD: pgettext_lazy("evidence", "A status or a log of the target"),
    EvidenceKind.HUMAN_STATEMENT: pgettext_lazy("evidence", "A person's own statement"),
}
ROLES: Final[Words] = {
    Role.MEMBER: pgettext_lazy("role", "Member"),
    Role.REVIEWER: pgettext_lazy("role", "Reviewer"),
    Role.ADMIN: pgettext_lazy("role", "Admin"),
    Role.AUDITOR: pgettext_lazy("role", "Auditor"),
}
EVENTS: Final[Words] = {
    "interrupt.asked": _("Question asked"),
    "interrupt.shown": _("Question shown"),
    "interrupt.partly_approved": _("Approval counted"),
    "interrupt.decided": _("Question answered"),
    "interrupt.superseded": _("Question replaced"),
    "interrupt.expired": _("Question not answered in time"),
    "interrupt.cancelled": _("Question taken back"),
    "interrupt.handed_back": _("Handed back"),
    "interrupt.reopened": _("Question opened again"),
    "run.state_changed": _("Run moved on"),
    "run.cancel_requested": _("Stop asked for"),
    "action.dispatched": _("Action dispatched"),
    "action.known": _("Outcome reported"),
    "action.unknown": _("Outcome not known"),
    "action.reconciled": _("Outcome looked into"),
    "command.refused": _("Refusal"),
    "tenant.created": _("Tenant made"),
    "user.created": _("Account made"),
    "user.deactivated": _("Account deactivated"),
    "agent.created": _("Agent made"),
    "agent.deactivated": _("Agent deactivated"),
    "account.registered": _("Account at a site registered"),
    "policy.saved": _("Policy saved"),
    "display.saved": _("Display hints saved"),
    "endpoint.created": _("Webhook made"),
    "endpoint.changed": _("Webhook changed"),
    "endpoint.secret_rotated": _("Secret of a webhook replaced"),
    "endpoint.enabled": _("Webhook enabled"),
    "endpoint.disabled": _("Webhook disabled"),
    "endpoint.test": _("Webhook tested"),
    "endpoint.resent": _("Webhook sent again"),
}


def named(words: Words, name: str) -> str:
    """The words for a name; a name that has none is told as it is."""
    return str(words.get(name, name))
