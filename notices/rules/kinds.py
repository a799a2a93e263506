"""What a person can be told, and where a message can stand."""

from enum import StrEnum


class Kind(StrEnum):
    """Why somebody is written to; the first three are about a question."""

    ASKED = "asked"
    REMINDER = "reminder"
    ESCALATION = "escalation"
    CODE = "code"
    TEST = "test"

    @property
    def is_about_question(self) -> bool:
        """Whether this tells of a question, and so obeys quiet hours and limits."""
        return self in (Kind.ASKED, Kind.REMINDER, Kind.ESCALATION)


class NoticeState(StrEnum):
    """How far one message is; the last three are ends."""

    WAITING = "waiting"
    SENDING = "sending"
    SENT = "sent"
    DROPPED = "dropped"
    FAILED = "failed"
