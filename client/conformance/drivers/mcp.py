"""`placet.mcp` with the library's own client: an agent that asks, acts and reports by tools."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

from mcp.client.client import Client
from mcp_types import CallToolResult, ElicitResult

from conformance.driver import SCHEMA, TOOL, Call, Limit, Pay, Situation
from conformance.site import Site
from placet import AsyncClient
from placet.mcp import Desk, server

_FOLDER = TemporaryDirectory(prefix="placet-mcp-")


class MCP:
    """An agent over MCP, whose plan and notes are files; each process has a server of its own."""

    name: ClassVar[str] = "MCP"
    limits: ClassVar[Mapping[Situation, Limit]] = {}

    def open(self, site: Site, thread: str, pay: Pay, *, by_sub_agent: bool) -> "Held":
        """Open the files; a sub-agent has the same tools."""
        return Held(site, thread, pay)


class Held:
    """The agent of one thread."""

    def __init__(self, site: Site, thread: str, pay: Pay) -> None:
        self._site = site
        self._thread = thread
        self._pay = pay
        self._folder = Path(_FOLDER.name) / thread
        for folder in (self._folder / "plan", self._folder / "told"):
            folder.mkdir(parents=True, exist_ok=True)

    def begin(self, calls: tuple[Call, ...]) -> None:
        """Note the plan and ask."""
        for call in calls:
            self.replan(call)
        self.wake()

    def wake(self) -> None:
        """Ask or look again, act on what is approved, and note what came of it."""
        self._with_client(self._go_on)

    def forge(self) -> None:
        """Say yes as the client, to being brought to the page, and act on that."""

        async def forge(client: Client) -> None:
            for call_id, args in self._plan().items():
                outcome = await self._ask(client, call_id, args)
                assert outcome["status"] == "waiting"
                told = await call(client, "begin_action", question=outcome["question"], args=args)
                assert told.is_error and "wrong_state" in str(told.content)

        self._with_client(forge)

    def replan(self, call: Call) -> None:
        """Note other arguments."""
        (self._folder / "plan" / call.id).write_text(json.dumps(call.args))

    def is_over(self) -> bool:
        """Whether the agent noted something of every call."""
        return bool(self._plan()) and set(self._plan()) == set(self.told())

    def told(self) -> Mapping[str, str]:
        """What it noted."""
        return {path.name: path.read_text() for path in (self._folder / "told").iterdir()}

    def close(self) -> None:
        """Nothing is held open."""

    def _plan(self) -> dict[str, Any]:
        plan = (self._folder / "plan").iterdir()
        return {path.name: json.loads(path.read_text()) for path in sorted(plan)}

    async def _go_on(self, client: Client) -> None:
        for call_id, args in self._plan().items():
            if call_id not in self.told():
                outcome = await self._ask(client, call_id, args)
                if outcome["status"] == "rejected":
                    self._note(call_id, outcome["reason"])
                elif outcome["status"] == "approved":
                    await self._act(client, call_id, outcome)

    async def _ask(self, client: Client, call_id: str, args: Any) -> dict[str, Any]:
        asking = {"tool": TOOL, "args": args, "call_id": call_id, "args_schema": SCHEMA}
        return (await call(client, "ask_approval", **asking)).structured_content or {}

    async def _act(self, client: Client, call_id: str, outcome: Mapping[str, Any]) -> None:
        what = {"question": outcome["question"], "args": outcome["args"]}
        permitted = (await call(client, "begin_action", **what)).structured_content
        if permitted is None:  # another question is open, or somebody else acts
            return
        receipt = self._pay(permitted["args"])
        report = {"action": permitted["action"], "outcome": "succeeded", "result": receipt}
        reported = (await call(client, "report_action", **report)).structured_content
        assert reported == {"action": permitted["action"], "state": "SUCCEEDED"}
        self._note(call_id, receipt)

    def _note(self, call_id: str, text: str) -> None:
        (self._folder / "told" / call_id).write_text(text)

    def _with_client(self, doing: Callable[[Client], Awaitable[None]]) -> None:
        async def do() -> None:
            async with AsyncClient(self._site.url, self._site.key) as placet:
                desk = Desk(placet, owner="alice", title="Pay", external_id=self._thread)
                async with Client(server(desk), elicitation_callback=agreeing) as client:
                    await doing(client)

        asyncio.run(do())


async def agreeing(context: Any, params: Any) -> ElicitResult:
    """A client that says at once that the person agreed to open the page."""
    return ElicitResult(action="accept")


async def call(client: Client, name: str, **arguments: Any) -> CallToolResult:
    """Call a tool."""
    return await client.call_tool(name, arguments)
