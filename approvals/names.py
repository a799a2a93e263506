"""The closed lists of the contract as words for people, each in one table.

Badges and lists say these words; the code's own spelling stays what the API and the record say.
"""

from collections.abc import Mapping
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from identity.roles import Role
from placet.protocol.states import DecisionKind, InterruptState, RunOutcome, RunState

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
    "command.refused": _("Refusal"),
    "tenant.created": _("Tenant made"),
    "user.created": _("Account made"),
    "user.deactivated": _("Account deactivated"),
    "agent.created": _("Agent made"),
    "agent.deactivated": _("Agent deactivated"),
    "policy.saved": _("Policy saved"),
    "display.saved": _("Display hints saved"),
}


def named(words: Words, name: str) -> str:
    """The words for a name; a name that has none is told as it is."""
    return str(words.get(name, name))
