"""The OpenAI Agents SDK: pays an invoice once people approved exactly that.

Stopped at any moment and started again, it goes on where it was.
"""

import asyncio

from agents import Agent, set_tracing_disabled
from agents.testing import ModelCall, ModelStep, ScriptedModel, assistant_message, function_call

from adapters.order import Order, connect, say
from placet.openai_agents import Approvals, SQLitePauses, Waiting, guard, permission

set_tracing_disabled(True)


def model(order: Order) -> ScriptedModel:
    """A model that wants to pay, and then tells what came of it; no network."""

    def answer(call: ModelCall) -> list[object]:
        items = call.input if isinstance(call.input, list) else []
        told = [item["output"] for item in items if item.get("type") == "function_call_output"]
        if told:
            return [assistant_message(f"The tool said: {told[-1]}")]
        return [function_call("pay_vendor", order.args, call_id=f"pay-{order.invoice}")]

    return ScriptedModel([ModelStep.respond(answer), ModelStep.respond(answer)])


def agent_of(order: Order) -> Agent[None]:
    """The agent; whatever it does with `pay_vendor`, people see it first."""

    @guard(description="The invoice was matched with its order.")
    def pay_vendor(vendor_id: str, invoice: str, amount_paise: int) -> str:
        """Pay an invoice."""
        payment = {"vendor_id": vendor_id, "invoice": invoice, "amount_paise": amount_paise}
        order.ledger.pay(permission().idempotency_key, payment)
        return f"Paid {amount_paise} paise to {vendor_id} for {invoice}."

    return Agent(name="payer", model=model(order), tools=[pay_vendor])


async def main() -> None:
    """Pay, or hear why not."""
    order = Order.of("openai_agents", __doc__)
    agent = agent_of(order)
    async with connect() as client:
        run = await order.run(client)
        approvals = Approvals(run, SQLitePauses(order.data / "pauses.sqlite"))
        outcome = await approvals.start(agent, order.text)
        while isinstance(outcome, Waiting):
            say(f"I wait for an answer:\n  {outcome.urls[0]}")
            outcome = await approvals.resume(agent)
        await order.end(run, outcome.final_output)


if __name__ == "__main__":
    asyncio.run(main())
