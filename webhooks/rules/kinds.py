"""What an endpoint can be told, and where a delivery, an attempt and an endpoint can stand."""

from enum import StrEnum


class WebhookType(StrEnum):
    """The types of contract §7, named like the events that they tell of."""

    ASKED = "interrupt.asked"
    DECIDED = "interrupt.decided"
    HANDED_BACK = "interrupt.handed_back"
    REOPENED = "interrupt.reopened"
    SUPERSEDED = "interrupt.superseded"
    EXPIRED = "interrupt.expired"
    CANCELLED = "interrupt.cancelled"
    STATE_CHANGED = "run.state_changed"
    CANCEL_REQUESTED = "run.cancel_requested"
    DISPATCHED = "action.dispatched"
    KNOWN = "action.known"
    UNKNOWN = "action.unknown"
    RECONCILED = "action.reconciled"
    TEST = "endpoint.test"

    @property
    def is_chosen(self) -> bool:
        """Whether an endpoint can ask for it; a test goes to the one that it is for."""
        return self is not WebhookType.TEST


CHOICES = tuple(kind for kind in WebhookType if kind.is_chosen)


class DeliveryState(StrEnum):
    """How far one event for one endpoint is; the last two are ends, until it is sent again."""

    WAITING = "waiting"
    DELIVERED = "delivered"
    FAILED = "failed"


class Failure(StrEnum):
    """Why an attempt has no answer, as far as a tenant may know it.

    UNREACHABLE is blocked, refused and timed out alike: the difference would map the network.
    """

    UNREACHABLE = "unreachable"
    TLS = "tls"
    BAD_ANSWER = "bad_answer"


class DisabledBecause(StrEnum):
    """Why an endpoint gets nothing more."""

    BY_HAND = "by_hand"
    GONE = "gone"
    """It answered 410."""
    FAILING = "failing"
    """It has not taken anything for long."""
    UNREADABLE = "unreadable"
    """Its secret was sealed under another secret of the server."""
