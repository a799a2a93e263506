"""An agent of the SDK that waits for people in a store and goes on from there, call by call."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agents import Agent, Runner, RunResult, RunState
from agents.items import ToolApprovalItem
from agents.run_context import RunContextWrapper

from placet.async_client import AsyncRun
from placet.binding import Bound, Waiting, bind, still_open, why_not
from placet.errors import PlacetError
from placet.openai_agents.guard import guard_of
from placet.pauses import NothingPaused, Pauses
from placet.protocol.canonical import NotCanonical
from placet.protocol.reading import InvalidJSON
from placet.question import Question
from placet.turns import Turn, turn, until_halted


class NotGuarded(PlacetError):
    """A tool wants approval that is not guarded: nothing would compare the call before it runs."""


@dataclass(frozen=True, slots=True)
class Calls:
    """The calls of a paused agent: what to ask of each, or why it cannot be asked."""

    questions: tuple[Question, ...]
    faults: Mapping[str, str]

    @classmethod
    def of(cls, items: list[ToolApprovalItem]) -> "Calls":
        """The calls that wait for approval, those of sub-agents among them."""
        questions, faults = [], {}
        for item in items:
            guarded = guard_of(item.agent.tools, item.tool_name)
            if guarded is None or item.call_id is None:
                raise NotGuarded(f"The tool {item.tool_name} of {item.agent.name} is not guarded.")
            try:
                question = guarded.question(item.call_id, item.arguments or "")
                question.sha256  # noqa: B018 - raises NotCanonical
            except (InvalidJSON, NotCanonical, ValueError) as error:
                faults[item.call_id] = f"Not done, and nobody was asked: {error}"
            else:
                questions.append(question)
        return cls(tuple(questions), faults)


class Approvals:
    """The agent of one run. Any process can go on with it that has the same store and agents.

    `holder` names this process to people; `ttl_s` is how long the run stays its own where it dies.
    """

    def __init__(
        self, run: AsyncRun, pauses: Pauses, *, holder: str | None = None, ttl_s: int = 60
    ) -> None:
        self._run = run
        self._pauses = pauses
        self._holder = holder
        self._ttl_s = ttl_s

    async def start(self, agent: Agent[Any], what: Any, **how: Any) -> RunResult | Waiting:
        """Run the agent until it ends or waits; where it already waits, as `resume` at once.

        `how` are further arguments of `Runner.run`. Raises Refused, `lease_held` while another
        process has the run, and what else a guarded tool raised.
        """
        if await self._pauses.load(self._run.id) is not None:
            return await self.resume(agent, timeout_s=0, **how)
        async with turn(self._run, holder=self._holder, ttl_s=self._ttl_s) as began:
            return await self._go(began, agent, what, how)

    async def resume(
        self, agent: Agent[Any], *, timeout_s: float | None = None, **how: Any
    ) -> RunResult | Waiting:
        """Go on once every call is answered, which None as time waits for; else Waiting.

        Raises NothingPaused where no agent waits, and as `start`.
        """
        calls = Calls.of((await self._state(agent, how)).get_interruptions())
        bound = await bind(self._run, calls.questions, timeout_s=timeout_s)
        if waiting := still_open(bound.values()):
            return Waiting(waiting)
        async with turn(self._run, holder=self._holder, ttl_s=self._ttl_s) as began:
            state = await self._state(agent, how)  # another process may have gone on with it
            calls = Calls.of(state.get_interruptions())
            began.bound = await bind(self._run, calls.questions, timeout_s=0)
            if waiting := still_open(began.bound.values()):
                return Waiting(waiting)
            answer(state, began.bound, calls.faults)
            return await self._go(began, agent, state, how)

    async def _go(
        self, began: Turn, agent: Agent[Any], what: Any, how: Mapping[str, Any]
    ) -> RunResult | Waiting:
        result = await until_halted(began, Runner.run(agent, what, **how))
        if isinstance(result, Waiting):
            return result
        if not result.interruptions:
            await self._pauses.drop(self._run.id)
            return result
        text = result.to_state().to_string(context_serializer=lambda _: {})
        await self._pauses.save(self._run.id, text)
        calls = Calls.of(result.interruptions)
        bound = await bind(self._run, calls.questions, timeout_s=0)
        return Waiting(tuple(bound.values()))

    async def _state(self, agent: Agent[Any], how: Mapping[str, Any]) -> RunState[Any, Any]:
        text = await self._pauses.load(self._run.id)
        if text is None:
            raise NothingPaused(f"No agent waits for the run {self._run.id}.")
        context = how.get("context")
        given = None if context is None else RunContextWrapper(context)
        return await RunState.from_string(agent, text, context_override=given)


def answer(state: RunState[Any, Any], bound: Bound, faults: Mapping[str, str]) -> None:
    """Give the framework people's answers, each to the call of its id."""
    for item in state.get_interruptions():
        call_id = item.call_id or ""
        if call_id in faults:
            state.reject(item, rejection_message=faults[call_id])
        elif bound[call_id].is_approved:
            state.approve(item)
        else:
            state.reject(item, rejection_message=why_not(bound[call_id]))
