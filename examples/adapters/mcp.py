"""An agent over MCP: asks by a tool of `placet.mcp`, which it starts, and acts on the answer.

The key is the MCP server's. Stopped at any moment and started again, it asks the same again.
"""

import asyncio
import os
import sys
from typing import Any

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp_types import ElicitRequestURLParams, ElicitResult

from adapters.order import Order, connect, say

SCHEMA = {
    "type": "object",
    "properties": {
        "vendor_id": {"type": "string"},
        "invoice": {"type": "string"},
        "amount_paise": {"type": "integer", "minimum": 1},
    },
    "required": ["vendor_id", "invoice", "amount_paise"],
    "additionalProperties": False,
}


async def open_page(context: Any, params: Any) -> ElicitResult:
    """Bring the person to the page; a client with a screen would open a browser here."""
    assert isinstance(params, ElicitRequestURLParams)
    say(f"{params.message}\n  {params.url}")
    return ElicitResult(action="accept")


async def call(client: Client, name: str, /, **arguments: Any) -> dict[str, Any]:
    """What a tool answers; raises where it refuses."""
    told = await client.call_tool(name, arguments)
    if told.is_error:
        raise SystemExit(f"{name}: {told.content}")
    return told.structured_content or {}


async def pay(client: Client, order: Order) -> str:
    """Ask, wait, and do what was approved, once."""
    outcome = await call(
        client,
        "ask_approval",
        tool="pay_vendor",
        args=order.args,
        call_id=f"pay-{order.invoice}",
        description="The invoice was matched with its order.",
        args_schema=SCHEMA,
    )
    while outcome["status"] == "waiting":
        outcome = await call(client, "get_outcome", question=outcome["question"], wait_s=50)
    if outcome["status"] != "approved" or outcome["action"]:
        return f"Not paid: {outcome['reason'] or outcome['next']}"
    permission = await call(
        client, "begin_action", question=outcome["question"], args=outcome["args"]
    )
    order.ledger.pay(permission["idempotency_key"], permission["args"])
    said = "Paid {amount_paise} paise to {vendor_id} for {invoice}.".format(**permission["args"])
    report = {"action": permission["action"], "outcome": "succeeded", "result": said}
    await call(client, "report_action", **report)
    return said


async def main() -> None:
    """Pay, or hear why not."""
    order = Order.of("mcp", __doc__)
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "placet.mcp", "--owner", order.owner, "--external-id", order.invoice],
        env={name: os.environ[name] for name in ("PLACET_URL", "PLACET_KEY")},
    )
    async with connect() as placet:
        run = await order.run(placet)
        async with Client(server, elicitation_callback=open_page) as client:
            said = await pay(client, order)
        await order.end(run, said)


if __name__ == "__main__":
    asyncio.run(main())
