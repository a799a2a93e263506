"""An agent that waits for people in a store and goes on from there, all its calls at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter
from pydantic_ai import Agent, AgentRunResult, DeferredToolRequests
from pydantic_ai.messages import ModelMessage
from pydantic_ai.tools import ToolApproved, ToolDenied

from placet.async_client import AsyncRun
from placet.binding import Waiting, bind, is_covered, still_open, why_not
from placet.errors import PlacetError
from placet.models import Interrupt
from placet.pauses import NothingPaused, Pauses
from placet.pydantic_ai.guarded import MEMBER
from placet.question import Question
from placet.turns import Turn, turn, until_halted


class NotGuarded(PlacetError):
    """A tool wants approval that is not guarded: nothing would compare the call before it runs."""


@dataclass(frozen=True, slots=True)
class Paused:
    """What is kept of an agent that waits: what was said, and what it wants."""

    messages: list[ModelMessage]
    requests: DeferredToolRequests

    @property
    def questions(self) -> tuple[Question, ...]:
        """What to ask of each call that waits for approval."""
        found = []
        for call in self.requests.approvals:
            body = self.requests.metadata.get(call.tool_call_id, {}).get(MEMBER)
            if body is None:
                raise NotGuarded(f"The tool {call.tool_name} is not guarded.")
            found.append(Question(**body))
        return tuple(found)


_PAUSED = TypeAdapter(Paused)


class Approvals:
    """The agent of one run. Any process can go on with it that has the same store and agent.

    `holder` names this process to people; `ttl_s` is how long the run stays its own where it dies.
    """

    def __init__(
        self, run: AsyncRun, pauses: Pauses, *, holder: str | None = None, ttl_s: int = 60
    ) -> None:
        self._run = run
        self._pauses = pauses
        self._holder = holder
        self._ttl_s = ttl_s

    async def start(
        self, agent: Agent[Any, Any], what: str | Sequence[Any] | None, **how: Any
    ) -> AgentRunResult[Any] | Waiting:
        """Run the agent until it ends or waits; where it already waits, as `resume` at once.

        `how` are further arguments of `Agent.run`. Raises Refused, `lease_held` while another
        process has the run, and what else a guarded tool raised.
        """
        if await self._pauses.load(self._run.id) is not None:
            return await self.resume(agent, timeout_s=0, **how)
        async with turn(self._run, holder=self._holder, ttl_s=self._ttl_s) as began:
            return await self._go(began, agent, {**how, "user_prompt": what})

    async def resume(
        self,
        agent: Agent[Any, Any],
        *,
        timeout_s: float | None = None,
        calls: Mapping[str, Any] | None = None,
        **how: Any,
    ) -> AgentRunResult[Any] | Waiting:
        """Go on once every call is answered, which None as time waits for; else Waiting.

        `calls` are the results of what the agent left to be done elsewhere, by the call's id: all
        are given to it at once. Raises NothingPaused where no agent waits, and as `start`.
        """
        bound = await bind(self._run, (await self._paused()).questions, timeout_s=timeout_s)
        if waiting := still_open(bound.values()):
            return Waiting(waiting)
        async with turn(self._run, holder=self._holder, ttl_s=self._ttl_s) as began:
            paused = await self._paused()  # another process may have gone on with it
            questions = paused.questions
            began.bound = await bind(self._run, questions, timeout_s=0)
            if waiting := still_open(began.bound.values()):
                return Waiting(waiting)
            answers = {each.call_id: answer(each, began.bound[each.call_id]) for each in questions}
            results = paused.requests.build_results(approvals=answers, calls=dict(calls or {}))
            more = {"message_history": paused.messages, "deferred_tool_results": results}
            return await self._go(began, agent, {**how, **more})

    async def _go(
        self, began: Turn, agent: Agent[Any, Any], how: Mapping[str, Any]
    ) -> AgentRunResult[Any] | Waiting:
        result = await until_halted(began, agent.run(**how))
        if isinstance(result, Waiting):
            return result
        if not isinstance(result.output, DeferredToolRequests):
            await self._pauses.drop(self._run.id)
            return result
        paused = Paused(result.all_messages(), result.output)
        questions = paused.questions
        await self._pauses.save(self._run.id, _PAUSED.dump_json(paused).decode())
        bound = await bind(self._run, questions, timeout_s=0)
        return Waiting(tuple(bound.values()))

    async def _paused(self) -> Paused:
        text = await self._pauses.load(self._run.id)
        if text is None:
            raise NothingPaused(f"No agent waits for the run {self._run.id}.")
        return _PAUSED.validate_json(text)


def answer(question: Question, asked: Interrupt) -> ToolApproved | ToolDenied:
    """A person's answer in the words of the framework, edits included."""
    decision = asked.decision
    if decision is None or not decision.approves:
        return ToolDenied(why_not(asked))
    if is_covered(question, asked) or decision.args is None:
        return ToolApproved()
    return ToolApproved(override_args=dict(decision.args))
