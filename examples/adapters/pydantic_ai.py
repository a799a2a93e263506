"""Pydantic AI: pays an invoice once people approved exactly that, or what they put in its place.

Stopped at any moment and started again, it goes on where it was.
"""

import asyncio

from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.toolsets import FunctionToolset

from adapters.order import Order, connect, say
from placet.pydantic_ai import Approvals, Guarded, SQLitePauses, Waiting, permission


def model(order: Order) -> FunctionModel:
    """A model that wants to pay, and then tells what came of it; no network."""

    def answer(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        parts = [part for message in messages for part in message.parts]
        told = [part.content for part in parts if isinstance(part, ToolReturnPart)]
        if told:
            return ModelResponse(parts=[TextPart(f"The tool said: {told[-1]}")])
        call = ToolCallPart("pay_vendor", order.args, tool_call_id=f"pay-{order.invoice}")
        return ModelResponse(parts=[call])

    return FunctionModel(answer)


def agent_of(order: Order) -> Agent[None, str | DeferredToolRequests]:
    """The agent; whatever it does with `pay_vendor`, people see it first."""
    tools = FunctionToolset[None]()

    @tools.tool_plain
    def pay_vendor(vendor_id: str, invoice: str, amount_paise: int) -> str:
        """Pay an invoice."""
        payment = {"vendor_id": vendor_id, "invoice": invoice, "amount_paise": amount_paise}
        order.ledger.pay(permission().idempotency_key, payment)
        return f"Paid {amount_paise} paise to {vendor_id} for {invoice}."

    guarded = Guarded(tools, description="The invoice was matched with its order.")
    return Agent(model(order), toolsets=[guarded], output_type=[str, DeferredToolRequests])


async def main() -> None:
    """Pay, or hear why not."""
    order = Order.of("pydantic_ai", __doc__)
    agent = agent_of(order)
    async with connect() as client:
        run = await order.run(client)
        approvals = Approvals(run, SQLitePauses(order.data / "pauses.sqlite"))
        outcome = await approvals.start(agent, order.text)
        while isinstance(outcome, Waiting):
            say(f"I wait for an answer:\n  {outcome.urls[0]}")
            outcome = await approvals.resume(agent)
        await order.end(run, outcome.output)


if __name__ == "__main__":
    asyncio.run(main())
