"""The run of one MCP server, and the one action that may be under way in it."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from uuid import uuid4

from placet.async_client import AsyncClient, AsyncRun
from placet.errors import Failed, LeaseLost, NotExecuted, Refused
from placet.mcp.answers import Permission
from placet.models import Interrupt
from placet.protocol.digest import asked_sha256
from placet.protocol.refusals import RefusalCode
from placet.question import Question

ACT_WITHIN_S = 900.0
"""How long an action may go without a report; then nobody knows what became of it."""

Ending = Literal["succeeded", "failed", "not_executed", "unknown"]


class NoReport(Exception):
    """The client did not say what became of an action, or said that it does not know."""


@dataclass
class UnderWay:
    """An action that the client carries out."""

    permission: asyncio.Future[Permission] = field(default_factory=asyncio.Future)
    report: asyncio.Future[tuple[Ending, Any]] = field(default_factory=asyncio.Future)
    task: "asyncio.Task[None] | None" = None


class Desk:
    """Asks and acts in one run, which is begun with the first question.

    With an `external_id` a server that is started again goes on in the same run.
    """

    def __init__(
        self, client: AsyncClient, *, owner: str, title: str, external_id: str | None = None
    ) -> None:
        self._client = client
        self._owner = owner
        self._title = title
        self._external_id = external_id or f"mcp-{uuid4().hex}"
        self._run: AsyncRun | None = None
        self._beginning = asyncio.Lock()
        self._under_way: UnderWay | None = None

    async def run(self) -> AsyncRun:
        """The run."""
        async with self._beginning:
            if self._run is None:
                self._run = await self._client.create_run(
                    title=self._title, owner=self._owner, external_id=self._external_id
                )
            return self._run

    async def ask(self, question: Question) -> Interrupt:
        """Ask; the same question asked again is given back with its answer."""
        (asked,) = await (await self.run()).ask_all([question])
        return asked

    async def outcome(self, question_id: str, *, wait_s: float) -> Interrupt:
        """How a question of this run stands, as soon as it is answered or the time is up."""
        asked = await self._client.get_interrupt(question_id)
        if asked.run_id != (await self.run()).id:
            code = RefusalCode.NOT_FOUND
            raise Refused(code, code.status, code.sentence)
        return await self._client.wait(asked, timeout_s=wait_s) if asked.is_pending else asked

    async def begin(self, question_id: str, args: Mapping[str, Any]) -> Permission:
        """Use an approval up for exactly these arguments; the client then does it and reports."""
        if self._under_way is not None:
            raise ValueError("Another action is under way: report it first.")
        asked = await self.outcome(question_id, wait_s=0)
        approved = asked.decision.approved_sha256 if asked.decision else None
        digest = asked_sha256(tool=asked.tool, args=dict(args), target=asked.target)
        if approved is not None and digest != approved:
            code = RefusalCode.DIGEST_MISMATCH
            raise Refused(code, code.status, "These are not the approved args: ask anew.")
        under_way = self._under_way = UnderWay()
        under_way.task = asyncio.create_task(self._act(asked, under_way))
        try:
            return await asyncio.shield(under_way.permission)
        except asyncio.CancelledError:  # the client gets no permission, so it does nothing
            under_way.report.set_result(("not_executed", None))
            raise

    async def report(self, action_id: str, ending: Ending, result: Any) -> str:
        """Say what became of the action under way; gives its state on the server."""
        under_way = self._under_way
        if under_way is None or under_way.permission.result().action != action_id:
            raise ValueError("This action is not under way here.")
        if not under_way.report.done():
            under_way.report.set_result((ending, result))
        assert under_way.task is not None
        await asyncio.shield(under_way.task)
        return str((await self._client.get_action(action_id)).state)

    async def _act(self, asked: Interrupt, under_way: UnderWay) -> None:
        async def work(args: dict[str, Any], *, idempotency_key: str, grant: str) -> Any:
            action_id = (await self._client.get_interrupt(asked.id)).action_id
            under_way.permission.set_result(
                Permission(
                    action=action_id or "",
                    tool=asked.tool,
                    args=args,
                    target=None if asked.target is None else dict(asked.target),
                    idempotency_key=idempotency_key,
                    grant=grant,
                )
            )
            ending, result = await asyncio.wait_for(under_way.report, ACT_WITHIN_S)
            match ending:
                case "succeeded":
                    return result
                case "failed":
                    raise Failed(result)
                case "not_executed":
                    raise NotExecuted
                case "unknown":
                    raise NoReport

        try:
            run = await self.run()
            async with run.lease(holder=f"mcp-{uuid4().hex[:12]}") as lease:
                await lease.execute(asked, work)
        except (Failed, NotExecuted, NoReport, TimeoutError, LeaseLost) as error:
            if not under_way.permission.done():
                under_way.permission.set_exception(error)
        except Exception as error:
            if under_way.permission.done():
                raise
            under_way.permission.set_exception(error)
        finally:
            self._under_way = None
