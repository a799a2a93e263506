"""What a person can be told, and where a message can stand."""

from enum import StrEnum


class Kind(StrEnum):
    """Why somebody is written to; the last two are about nothing that waits."""

    ASKED = "asked"
    REMINDER = "reminder"
    ESCALATION = "escalation"
    REOPENED = "reopened"
    UNKNOWN = "unknown"
    """Of an action nobody knows what became of it."""
    WEBHOOK = "webhook"
    """A webhook was disabled because it failed."""
    CODE = "code"
    TEST = "test"

    @property
    def is_about_question(self) -> bool:
        """Whether this tells of what came of a question, and so obeys quiet hours and limits."""
        return self not in (Kind.CODE, Kind.TEST)


class NoticeState(StrEnum):
    """How far one message is; the last three are ends."""

    WAITING = "waiting"
    SENDING = "sending"
    SENT = "sent"
    DROPPED = "dropped"
    FAILED = "failed"
