"""The tools of the MCP server, and how a person is brought to the page."""

from collections.abc import Awaitable
from contextlib import suppress
from typing import Annotated, Any, TypeVar

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitRequest, ElicitRequestURLParams, InputRequiredResult
from pydantic import Field

from placet.errors import PlacetError, Refused
from placet.mcp.answers import Outcome, Permission, Reported
from placet.mcp.desk import Desk, Ending
from placet.models import Interrupt
from placet.question import Question

T = TypeVar("T")

IN_RESULTS_FROM = "2026-07-28"
"""The protocol from which on a server asks within a result, not by a request of its own."""

PAGE = "page"
EDITABLE = ("approve", "edit", "reject")

INSTRUCTIONS = """Ask people here before you do anything with consequences.
1. ask_approval: what you want to do, exactly. The user answers on a page, which may take days.
2. get_outcome, later, until it is approved or rejected. "waiting" is no error.
3. begin_action with exactly the approved args, do that once, then report_action.
You cannot answer yourself. What was not approved here, or was rejected, you do not do."""

WaitS = Annotated[float, Field(ge=0, le=50, description="How long to wait for the answer, in s.")]


def server(desk: Desk) -> MCPServer:
    """The MCP server over a desk; `run()` serves it over standard input and output."""
    made = MCPServer("placet", instructions=INSTRUCTIONS)

    @made.tool()
    async def ask_approval(
        ctx: Context,
        *,
        tool: Annotated[str, Field(description="What you want to do, one name.")],
        args: Annotated[dict[str, Any], Field(description="Exactly with what.")],
        call_id: Annotated[
            str, Field(description="Your name for this call. The same again is the same question.")
        ],
        target: Annotated[dict[str, Any] | None, Field(description="What it acts on.")] = None,
        description: Annotated[str | None, Field(description="Your words for people.")] = None,
        args_schema: Annotated[
            dict[str, Any] | None, Field(description="JSON Schema; lets people edit args.")
        ] = None,
        wait_s: WaitS = 0,
    ) -> Outcome | InputRequiredResult:
        """Ask people whether this may be done. Returns at once, with the page to answer on."""
        question = Question(
            tool=tool,
            args=args,
            call_id=call_id,
            target=target,
            description=description,
            args_schema=args_schema,
            allowed_decisions=EDITABLE if args_schema else ("approve", "reject"),
        )
        asked = await spoken(desk.ask(question))
        if asked.is_pending and brings_to_pages(ctx) and ctx.input_responses is None:
            if (ctx.protocol_version or "") >= IN_RESULTS_FROM:
                return InputRequiredResult(input_requests={PAGE: to_page(asked)})
            with suppress(MCPError):  # the address is in the answer as well
                await ctx.elicit_url(message(asked), asked.url, asked.id)
        asked = await spoken(desk.outcome(asked.id, wait_s=wait_s))
        if not asked.is_pending and brings_to_pages(ctx) and ctx.input_responses is None:
            await ctx.session.send_elicit_complete(asked.id)
        return Outcome.of(asked)

    @made.tool()
    async def get_outcome(question: str, wait_s: WaitS = 0) -> Outcome:
        """How a question stands: waiting, approved, rejected, expired, cancelled, superseded."""
        return Outcome.of(await spoken(desk.outcome(question, wait_s=wait_s)))

    @made.tool()
    async def begin_action(question: str, args: dict[str, Any]) -> Permission:
        """Use an approval up: permits doing exactly these args, once, now."""
        return await spoken(desk.begin(question, args))

    @made.tool()
    async def report_action(action: str, outcome: Ending, result: Any = None) -> Reported:
        """Say what became of an action. "not_executed" and "failed" mean that it is certain that
        nothing was done; where you are not sure, say "unknown"."""
        state = await spoken(desk.report(action, outcome, result))
        return Reported(action=action, state=state)

    return made


def brings_to_pages(ctx: Context) -> bool:
    """Whether the client can open a page for its user."""
    capabilities = ctx.client_capabilities
    return bool(capabilities and capabilities.elicitation and capabilities.elicitation.url)


def message(asked: Interrupt) -> str:
    """What the client shows beside the address; the arguments stand on the page alone."""
    return f"An agent asks whether it may do {asked.tool}. Answer on the page of Placet."


def to_page(asked: Interrupt) -> ElicitRequest:
    """The request to bring the person to the page."""
    params = ElicitRequestURLParams(message=message(asked), url=asked.url, elicitation_id=asked.id)
    return ElicitRequest(params=params)


async def spoken(doing: Awaitable[T]) -> T:
    """What was done, or what went wrong in words for the client, the code of a refusal first."""
    try:
        return await doing
    except Refused as refused:
        raise ToolError(f"{refused.code}: {refused.detail}") from refused
    except (PlacetError, ValueError) as error:
        raise ToolError(str(error)) from error
