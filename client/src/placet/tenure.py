"""What an executor knows of its lease, and how it keeps it.

Guards "an executor that lost its lease can change nothing" on the executor's side: it counts the
lease from before each request was sent, by its own clock, so it takes the lease for over before
the server does. Once it has to stop it never goes on.
"""

import threading
import time
from collections.abc import Callable

from placet import requests
from placet.errors import LeaseLost, Refused, StopReason, UnexpectedAnswer
from placet.flows import PATIENCE_S, TRY_AGAIN, Flow, Lost, Pause, Send, call
from placet.models import Control
from placet.protocol.refusals import RefusalCode
from placet.requests import Answer
from placet.shapes import read_shape

RENEW_AT = 3
"""A lease is renewed when a third of its span is over."""

LONGEST_RENEWAL_S = 10.0
MARGIN = 10
"""The work is stopped when only a tenth of the span is left."""

PARTING_S = 2.0
"""How long leaving a `with` may take where the server is away; the lease then ends by itself."""


def boot_clock() -> float:
    """Seconds that also pass while the machine sleeps, as they do for the server."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


class Tenure:
    """One lease from taking it to its end; may be read and told from several threads."""

    def __init__(
        self,
        run_id: str,
        *,
        holder: str,
        ttl_s: int,
        clock: Callable[[], float] = boot_clock,
    ) -> None:
        self.run_id = run_id
        self.holder = holder
        self.ttl_s = ttl_s
        self.fencing_token = 0
        self._clock = clock
        self.on_stop: Callable[[], None] = lambda: None
        self._lock = threading.Lock()
        self._confirmed_at = 0.0
        self._sure_until = 0.0
        self._why: StopReason | None = None

    @property
    def why(self) -> StopReason | None:
        """Why the executor has to stop, or None while it may go on."""
        with self._lock:
            if self._why is None and self._clock() >= self._sure_until:
                return StopReason.UNCONFIRMED
            return self._why

    def check(self) -> None:
        """Raise LeaseLost where the executor has to stop."""
        if why := self.why:
            raise LeaseLost(why)

    def stop(self, why: StopReason) -> None:
        """Stop for good; the first reason stands."""
        with self._lock:
            self._why = self._why or why
        self.on_stop()

    def confirm(self, control: Control, *, sent_at: float) -> None:
        """Take note of what the server answered to a request sent at that instant."""
        with self._lock:
            self.fencing_token = control.fencing_token
            self._confirmed_at = max(self._confirmed_at, sent_at)
            self._sure_until = self._confirmed_at + self.ttl_s - self.ttl_s / MARGIN
        if control.cancel_requested:
            self.stop(StopReason.STOP_ASKED)

    @property
    def is_held(self) -> bool:
        """Whether there is something to give back at the end."""
        return self.why in (None, StopReason.STOP_ASKED)

    @property
    def left_s(self) -> float:
        """How long control is sure; negative when it no longer is."""
        return self._sure_until - self._clock()

    def take(self) -> Flow[None]:
        """Take control; raises Refused, `lease_held` while somebody else has it."""
        sent_at = self._clock()
        request = requests.take_lease(self.run_id, holder=self.holder, ttl_s=self.ttl_s)
        answer = yield from call(request)
        self.confirm(read_shape(Control, answer.value()), sent_at=sent_at)

    def renew(self) -> Flow[bool]:
        """Keep control; whether the server confirmed it. Raises LeaseLost where it is lost."""
        self.check()
        sent_at = self._clock()
        request = requests.renew_lease(
            self.run_id,
            self.fencing_token,
            ttl_s=self.ttl_s,
            read_s=min(LONGEST_RENEWAL_S, max(0.2, self.left_s / 2)),
        )
        told: Answer | Lost = yield Send(request)
        if isinstance(told, Lost) or told.status in TRY_AGAIN:
            return False
        try:
            self.confirm(read_shape(Control, told.value()), sent_at=sent_at)
        except Refused as refused:
            self.stop(reason_of(refused))
        except UnexpectedAnswer:
            return False  # a proxy's page, say
        self.check()
        return True

    def keep(self) -> Flow[None]:
        """Renew until the executor has to stop, and tell that it has to; lets nothing out."""
        is_confirmed = True
        try:
            while True:
                soon_s = min(1.0, self.ttl_s / 30)
                due_s = self._confirmed_at + self.ttl_s / RENEW_AT - self._clock()
                yield Pause(max(due_s, 0.0) if is_confirmed else soon_s)
                is_confirmed = yield from self.renew()
        except LeaseLost as lost:
            self.stop(lost.why)

    def release(self, *, patience_s: float = PATIENCE_S) -> Flow[None]:
        """Give control back; raises Refused, `wrong_state` while an action is open."""
        request = requests.release_lease(self.run_id, self.fencing_token)
        answer = yield from call(request, patience_s=patience_s)
        read_shape(Control, answer.value())
        self.stop(StopReason.RELEASED)


def reason_of(refused: Refused) -> StopReason:
    """What a refusal means for an executor that thought it had control."""
    if refused.code in (RefusalCode.CANCELLED, RefusalCode.RUN_CLOSED):
        return StopReason.STOP_ASKED
    return StopReason.LOST
