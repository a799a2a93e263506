"""What can go wrong, each with its own name: refused, unreachable, not executed, lease lost."""

from collections.abc import Mapping
from enum import StrEnum

from placet.protocol.reading import JSONValue
from placet.protocol.refusals import Fault


class PlacetError(Exception):
    """Everything that this package raises on purpose, but ValueErrors for what was given to it."""


class Refused(PlacetError):
    """The server said no; nothing was changed.

    `code` is a `RefusalCode`, or a plain text where a newer server has a code that this version
    does not know. `current` is how things stand instead. `kept` says that a report came too late
    to count and is kept for whoever finds out what happened.
    """

    def __init__(
        self,
        code: str,
        status: int,
        detail: str = "",
        current: Mapping[str, JSONValue] | None = None,
        *,
        retry_after_s: float | None = None,
        kept: bool = False,
        faults: tuple[Fault, ...] = (),
    ) -> None:
        super().__init__(f"{code}: {detail}" if detail else str(code))
        self.code = code
        self.status = status
        self.detail = detail
        self.current: Mapping[str, JSONValue] = current or {}
        self.retry_after_s = retry_after_s
        self.kept = kept
        self.faults = faults


class Unreachable(PlacetError):
    """No answer came in the time given; whether the last request took effect is not known.

    Calling again is harmless: runs are found by `external_id`, questions by `call_id`.
    """


class UnexpectedAnswer(PlacetError):
    """The answer is none that a Placet server of this contract gives."""


class NotExecuted(PlacetError):
    """To be raised by a work before it sends anything: certainly nothing was done.

    The action becomes NOT_EXECUTED. The client raises it itself where it never began the work.
    """

    def __init__(self, reason: str = "It was not sent.") -> None:
        super().__init__(reason)
        self.reason = reason


class Failed(PlacetError):
    """To be raised by a work whose target said no, so that it is certain that nothing happened.

    The action becomes FAILED with this JSON value as its result. Any other exception leaves it
    UNKNOWN.
    """

    def __init__(self, result: JSONValue = None) -> None:
        super().__init__("The target said no." if result is None else str(result))
        self.result = result


class StopReason(StrEnum):
    """Why an executor has to stop."""

    STOP_ASKED = "stop_asked"
    LOST = "lost"
    UNCONFIRMED = "unconfirmed"
    RELEASED = "released"

    @property
    def sentence(self) -> str:
        """The reason for people."""
        return _SENTENCES[self]


_SENTENCES = {
    StopReason.STOP_ASKED: "The run was asked to stop, or has ended.",
    StopReason.LOST: "The server says that this executor no longer controls the run.",
    StopReason.UNCONFIRMED: "The server could not be reached in time to keep control of the run.",
    StopReason.RELEASED: "Control of the run was given back.",
}


class LeaseLost(PlacetError):
    """This executor must not go on: it lost control of the run, or was asked to stop.

    `kept` says that what it reported came too late to count, and is kept for whoever finds out
    what happened.
    """

    def __init__(self, why: StopReason, *, kept: bool = False) -> None:
        super().__init__(why.sentence)
        self.why = why
        self.kept = kept


class InvalidSignature(PlacetError):
    """A webhook that nobody who knows a secret sent, or not now; the message says what is wrong."""


class InvalidGrant(PlacetError):
    """A grant that does not permit what is about to be done; the message says why."""


class KeysUnavailable(PlacetError):
    """The public keys could not be fetched, so no grant can be checked now."""
