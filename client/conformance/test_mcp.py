"""`placet.mcp`: what a client can do, what it cannot, and how a person is brought to the page."""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal
from uuid import uuid4

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp_types import CallToolResult, ElicitRequestURLParams, ElicitResult, TextContent

from conformance.site import Site
from placet import AsyncClient, Run
from placet.mcp import Desk, desk, server

ARGS = {"vendor_id": "V-2291", "amount_paise": 500}
Mode = Literal["auto", "legacy"]
Action = Literal["accept", "decline", "cancel"]


@dataclass
class Seat:
    """An agent over MCP in a run of its own, and the addresses that its person was led to."""

    site: Site
    thread: str
    client: Client
    led_to: list[str] = field(default_factory=list)
    notified: list[str] = field(default_factory=list)

    @property
    def run(self) -> Run:
        (run,) = self.site.client.find_runs(external_id=self.thread)
        return run

    async def ask(self, **more: Any) -> dict[str, Any]:
        asking = {"tool": "pay_vendor", "args": ARGS, "call_id": "call-1", **more}
        return await self.gives("ask_approval", **asking)

    async def gives(self, name: str, **arguments: Any) -> dict[str, Any]:
        """What a tool answers."""
        told = await self.client.call_tool(name, arguments)
        assert not told.is_error, told.content
        return told.structured_content or {}

    async def refuses(self, name: str, **arguments: Any) -> str:
        """With what a tool refuses."""
        told = await self.client.call_tool(name, arguments)
        assert told.is_error, told
        return said(told)


def said(told: CallToolResult) -> str:
    """The text of an answer."""
    (content,) = told.content
    assert isinstance(content, TextContent)
    return content.text.rpartition("ask_approval: ")[2]


Doing = Callable[[Seat], Awaitable[None]]


@asynccontextmanager
async def seat(
    site: Site, *, mode: Mode = "auto", action: Action | None = None, on_page: Any = None
) -> AsyncIterator[Seat]:
    """A client of a server in this process; one that cannot open pages where action is None."""
    thread = f"thread-{uuid4().hex}"
    made: list[Seat] = []

    async def elicit(context: Any, params: Any) -> ElicitResult:
        assert isinstance(params, ElicitRequestURLParams)
        made[0].led_to.append(params.url)
        if on_page:
            await asyncio.to_thread(on_page, params.url.rstrip("/").rpartition("/")[2])
        return ElicitResult(action=action or "cancel")

    async def hear(message: Any) -> None:
        made[0].notified.append(message.method)

    async with AsyncClient(site.url, site.key) as placet:
        table = Desk(placet, owner="alice", title="Pay", external_id=thread)
        callback = elicit if action else None
        async with Client(
            server(table), mode=mode, elicitation_callback=callback, message_handler=hear
        ) as client:
            made.append(Seat(site, thread, client))
            yield made[0]


def at_seat(doing: Doing) -> Callable[[Site], None]:
    """A test on an event loop of its own."""

    def test(site: Site) -> None:
        async def do() -> None:
            async with seat(site) as made:
                await doing(made)

        asyncio.run(do())

    return test


async def approved(seat: Seat) -> dict[str, Any]:
    """A question that Rae approved."""
    asked = await seat.ask()
    assert await asyncio.to_thread(seat.site.rae.approve, asked["question"]) is None
    return await seat.gives("get_outcome", question=asked["question"])


@at_seat
async def test_there_is_no_tool_that_answers_a_question(seat: Seat) -> None:
    tools = (await seat.client.list_tools()).tools

    assert [tool.name for tool in tools] == [
        "ask_approval",
        "get_outcome",
        "begin_action",
        "report_action",
    ]


@at_seat
async def test_a_client_that_cannot_open_pages_gets_the_address_and_waits(seat: Seat) -> None:
    asked = await seat.ask(description="As ordered.", target={"vendor": "V-2291"})

    (interrupt,) = seat.run.refresh(is_all=True).interrupts
    assert (interrupt.args, interrupt.target) == (ARGS, {"vendor": "V-2291"})
    assert asked == {
        "status": "waiting",
        "question": interrupt.id,
        "url": interrupt.url,
        "args": ARGS,
        "reason": "",
        "by": "",
        "action": None,
        "next": asked["next"],
    }
    assert await seat.ask(description="As ordered.", target={"vendor": "V-2291"}) == asked


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_person_is_brought_to_the_page_and_the_outcome_comes_back(
    site: Site, *, mode: Mode
) -> None:
    async def do() -> None:
        async with seat(site, mode=mode, action="accept", on_page=site.rae.approve) as made:
            outcome = await made.ask(wait_s=20)

            assert (outcome["status"], outcome["by"]) == ("approved", "rae")
            assert made.led_to == [outcome["url"]]
            if mode == "legacy":
                assert made.notified == ["notifications/elicitation/complete"]

    asyncio.run(do())


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("action", ["accept", "decline", "cancel"])
def test_what_a_client_says_of_the_page_is_no_answer(
    site: Site, *, mode: Mode, action: Action
) -> None:
    async def do() -> None:
        async with seat(site, mode=mode, action=action) as made:
            outcome = await made.ask()

            assert (outcome["status"], len(made.led_to)) == ("waiting", 1)
            told = await made.refuses("begin_action", question=outcome["question"], args=ARGS)
            assert "wrong_state" in told

    asyncio.run(do())


@at_seat
async def test_an_approval_is_used_once_and_only_for_what_was_approved(seat: Seat) -> None:
    outcome = await approved(seat)
    what = {"question": outcome["question"], "args": outcome["args"]}
    other = {**ARGS, "amount_paise": 501}
    assert "digest_mismatch" in await seat.refuses("begin_action", **{**what, "args": other})

    permission = await seat.gives("begin_action", **what)

    assert "Another action is under way" in await seat.refuses("begin_action", **what)
    assert (permission["args"], permission["grant"].count(".")) == (ARGS, 2)
    reported = await seat.gives(
        "report_action", action=permission["action"], outcome="succeeded", result={"receipt": 1}
    )
    assert reported == {"action": permission["action"], "state": "SUCCEEDED"}
    (action,) = seat.run.refresh(is_all=True).actions
    assert (action.id, action.result) == (permission["action"], {"receipt": 1})
    assert "already_dispatched" in await seat.refuses("begin_action", **what)
    again = await seat.ask()
    assert (again["status"], again["action"]) == ("approved", action.id)
    assert again["next"].startswith("Do not do it again")


@pytest.mark.parametrize(
    ("outcome", "state"),
    [("failed", "FAILED"), ("not_executed", "NOT_EXECUTED"), ("unknown", "UNKNOWN")],
)
def test_what_a_client_reports_is_what_the_record_says(
    site: Site, *, outcome: str, state: str
) -> None:
    @at_seat
    async def do(seat: Seat) -> None:
        question = (await approved(seat))["question"]
        permission = await seat.gives("begin_action", question=question, args=ARGS)

        reported = await seat.gives(
            "report_action", action=permission["action"], outcome=outcome, result="no"
        )

        assert reported["state"] == state
        late = {"action": permission["action"], "outcome": "succeeded"}
        assert "not under way" in await seat.refuses("report_action", **late)

    do(site)


def test_an_action_without_a_report_becomes_unknown(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desk, "ACT_WITHIN_S", 0.01)

    @at_seat
    async def do(seat: Seat) -> None:
        question = (await approved(seat))["question"]
        permission = await seat.gives("begin_action", question=question, args=ARGS)
        async with asyncio.timeout(20):
            while seat.run.state != "UNKNOWN":
                await asyncio.sleep(0.02)

        late = {"action": permission["action"], "outcome": "succeeded"}
        await seat.client.call_tool("report_action", late)
        (action,) = seat.run.refresh(is_all=True).actions
        assert action.state == "UNKNOWN"

    do(site)


@at_seat
async def test_a_question_of_another_run_is_not_found(seat: Seat) -> None:
    run = seat.site.client.create_run(title="Other", owner="alice")
    other = run.ask("pay_vendor", ARGS, call_id="call-1")

    assert "not_found" in await seat.refuses("get_outcome", question=other.id)
    assert "not_found" in await seat.refuses("get_outcome", question="int_none")


@at_seat
async def test_a_rejection_gives_its_reason_and_a_schema_lets_people_edit(seat: Seat) -> None:
    schema = {"type": "object"}
    first = await seat.ask(args_schema=schema)
    less = {**ARGS, "amount_paise": 1}
    assert await asyncio.to_thread(seat.site.rae.edit, first["question"], less) is None
    second = await seat.ask(call_id="call-2")
    assert await asyncio.to_thread(seat.site.rae.reject, second["question"], "Paid.") is None

    edited = await seat.gives("get_outcome", question=first["question"])
    rejected = await seat.gives("get_outcome", question=second["question"])

    assert (edited["status"], edited["args"]) == ("approved", less)
    assert (rejected["status"], rejected["reason"]) == ("rejected", "Paid.")
    assert "digest_mismatch" in await seat.refuses(
        "begin_action", question=first["question"], args=ARGS
    )


def test_the_program_serves_over_standard_input_and_keeps_the_key(site: Site) -> None:
    thread = f"thread-{uuid4().hex}"
    program = StdioServerParameters(
        command=sys.executable,
        args=["-m", "placet.mcp", "--owner", "alice", "--external-id", thread],
        env={"PLACET_URL": site.url, "PLACET_KEY": site.key},
    )

    async def do() -> None:
        async with Client(program) as client:
            asking = {"tool": "pay_vendor", "args": ARGS, "call_id": "call-1"}
            asked = await client.call_tool("ask_approval", asking)
            assert asked.structured_content and asked.structured_content["status"] == "waiting"
            assert site.key not in asked.model_dump_json()
            outcome = {"question": asked.structured_content["question"]}
            assert await asyncio.to_thread(site.rae.approve, outcome["question"]) is None
        async with Client(program) as client:  # started again
            told = await client.call_tool("get_outcome", outcome)
            assert told.structured_content and told.structured_content["status"] == "approved"

    asyncio.run(do())
