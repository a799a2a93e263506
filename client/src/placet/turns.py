"""The last moment before a framework's tool: what is about to run is compared with what people saw.

Guards "approved once, dispatched at most once" behind frameworks whose own resume runs a tool as
often as it is given: a tool runs only inside a turn, which holds the run's lease, and only by a
dispatch of exactly the content about to run.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any, TypeVar
from uuid import uuid4

from placet.async_client import AsyncRun
from placet.async_lease import AsyncLease
from placet.binding import Bound, Waiting, is_covered
from placet.errors import Failed, NotExecuted, PlacetError, Refused
from placet.models import Action, Interrupt
from placet.permissions import permitting
from placet.protocol.canonical import canonical
from placet.protocol.refusals import RefusalCode
from placet.protocol.states import ActionState
from placet.question import Question

T = TypeVar("T")

Work = Callable[[dict[str, Any]], Awaitable[Any]]


class OutsideTurn(PlacetError):
    """A guarded tool was called by something else than `start` and `resume`; it did not run."""


class Halt(BaseException):
    """Ends a framework's run at a guarded tool, to wait for people or with an error.

    No Exception, for frameworks tell those to the model, which then tries again.
    """

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__(error)
        self.error = error


_TURN: ContextVar["Turn"] = ContextVar("placet_turn")


class Turn:
    """One stretch of an agent's work, under the lease of its run."""

    def __init__(self, run: AsyncRun, lease: AsyncLease) -> None:
        self.bound: Bound = {}
        self.asked: list[Interrupt] = []
        self._run = run
        self._lease = lease
        self._one_at_a_time = asyncio.Lock()

    @classmethod
    def current(cls) -> "Turn":
        """The turn that a tool is called in; raises OutsideTurn."""
        try:
            return _TURN.get()
        except LookupError:
            raise OutsideTurn("A guarded tool runs only by `start` and `resume`.") from None

    async def carry_out(self, question: Question, work: Work) -> Any:
        """Do a call, once, if exactly it was approved; gives what the work gave.

        A call that was done before gives what was recorded. Another content is asked anew and
        ends the turn. Raises Failed and NotExecuted as the work does, and Halt for all else.
        Tools that a framework starts side by side come one after the other: one that halts
        would else cut off another in the middle.
        """
        async with self._one_at_a_time:
            if self.asked:
                raise Halt
            try:
                asked = await self._question(question)
                if asked.action_id is not None:
                    return recorded(self._action(asked.action_id))
                return await self._lease.execute(asked, permitted(work))
            except (Failed, NotExecuted):
                raise
            except Refused as refused:
                if refused.code == RefusalCode.APPROVAL_EXPIRED:
                    await self._ask(question)
                raise Halt(refused) from refused
            except Exception as error:
                raise Halt(error) from error

    async def _question(self, question: Question) -> Interrupt:
        """The answered question about exactly this content; asks and halts where there is none."""
        asked = self.bound.get(question.call_id)
        if asked is None or asked.state.is_open or not is_covered(question, asked):
            asked = await self._ask(question)
        return asked

    async def _ask(self, question: Question) -> Interrupt:
        (asked,) = await self._run.ask_all([question])
        if asked.state.is_open or not is_covered(question, asked):
            self.asked.append(asked)
            raise Halt
        return asked

    def _action(self, action_id: str) -> Action:
        (action,) = (each for each in self._run.view.actions if each.id == action_id)
        return action


def permitted(work: Work) -> Callable[..., Awaitable[Any]]:
    """The work as a lease calls it, which finds its permission by `permission()`."""

    async def act(args: dict[str, Any], *, idempotency_key: str, grant: str) -> Any:
        with permitting(idempotency_key, grant):
            return await work(args)

    return act


def recorded(action: Action) -> Any:
    """What a call that was dispatched before gave; raises as it did, or Refused where unknown."""
    match action.state:
        case ActionState.SUCCEEDED:
            return action.result
        case ActionState.FAILED:
            raise Failed(action.result)
        case ActionState.NOT_EXECUTED:
            raise NotExecuted(str((action.result or {}).get("reason") or ActionState.NOT_EXECUTED))
        case _:
            code = RefusalCode.ALREADY_DISPATCHED
            current = {"action_id": action.id, "state": action.state.value}
            raise Refused(code, code.status, code.sentence, current)


def not_done(error: Failed | NotExecuted) -> str:
    """What a model is told of a call that was permitted, and of which it is certain that it did
    nothing.
    """
    if isinstance(error, NotExecuted) or error.result is None:
        return f"Not done: {error}"
    result = error.result
    return f"Not done: {result if isinstance(result, str) else canonical(result)}"


@asynccontextmanager
async def turn(run: AsyncRun, *, holder: str | None, ttl_s: int) -> AsyncIterator[Turn]:
    """A turn of the run; raises Refused, `lease_held` while another process goes on with it."""
    async with run.lease(holder=holder or f"py-{uuid4().hex[:12]}", ttl_s=ttl_s) as lease:
        began = Turn(run, lease)
        before = _TURN.set(began)
        try:
            yield began
        finally:
            _TURN.reset(before)


async def until_halted(began: Turn, going: Awaitable[T]) -> T | Waiting:
    """What a framework's run gives, or Waiting where a tool halted it to ask anew."""
    try:
        return await going
    except Halt as halt:
        if halt.error is not None:
            raise halt.error from None
        return Waiting(tuple(began.asked))
