"""What waits for people, as those who tell people about it may know it: never the arguments.

`notices` may not import `approvals`, yet has to say what waits, for how long, and whose answer
would count. So whoever owns the questions registers here how to read them.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A question that takes an answer now; `owner` and `agent` are names.

    `reopened` is the hand-back after which a handoff was opened again and waits since, else 0,
    and `handed_back_by` the id of whoever handed it back.
    `remind_before_s` and `escalate_after_s` are what its rule says, None where it says nothing.
    """

    id: str
    tenant_id: int
    tool: str
    owner: str
    agent: str
    created_at: datetime
    expires_at: datetime
    remind_before_s: int | None
    escalate_after_s: int | None
    reopened: int = 0
    handed_back_by: int | None = None

    @property
    def escalate_at(self) -> datetime | None:
        """When it is put to more people, None where it never is."""
        if self.escalate_after_s is None:
            return None
        at = self.created_at + timedelta(seconds=self.escalate_after_s)
        return at if at < self.expires_at else None


class Questions(Protocol):
    """Reads questions of one tenant; takes no lock, so what it says can be past."""

    def waiting(self, tenant_id: int, interrupt_ids: Collection[str]) -> Mapping[str, Waiting]:
        """Give those of these questions that are open and before their deadline, by id."""

    def first_asked(self, question: Waiting, among: Collection[int]) -> frozenset[int]:
        """Give those of these people's ids whose answer would count, but for the escalated to."""

    def escalated_to(self, question: Waiting, among: Collection[int]) -> frozenset[int]:
        """Give those of these people's ids in the group that an escalation tells."""

    def count_for(self, tenant_id: int, user_id: int) -> int:
        """Give how many questions wait for this person's answer now."""


_registered: list[Questions] = []


def register_questions(questions: Questions) -> None:
    """Say, once at start-up, how to read what waits for people on this server."""
    _registered[:] = [questions]


def questions() -> Questions:
    """What was registered; IndexError where the app that owns the questions is not installed."""
    return _registered[0]
