"""LangGraph with LangChain's `create_agent`: pays an invoice once people approved exactly that.

Stopped at any moment and started again, it goes on where it was.
"""

import os
import sys
import threading
import time
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph.state import CompiledStateGraph

from adapters.order import Order, say
from pay_vendor.model import ScriptedModel
from placet import Client
from placet.langgraph import Bridge, PlacetMiddleware, permission, run_of_thread


class Model(ScriptedModel):
    """The scripted model of `pay_vendor`; no network."""

    def bind_tools(self, tools: Any, **_: Any) -> "Model":
        """Itself: it knows its one tool."""
        return self


def agent_of(
    order: Order, client: Client, saver: BaseCheckpointSaver[Any]
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """The agent; whatever it does with `pay_vendor`, people see it first."""

    @tool
    def pay_vendor(vendor_id: str, invoice: str, amount_paise: int) -> str:
        """Pay an invoice."""
        payment = {"vendor_id": vendor_id, "invoice": invoice, "amount_paise": amount_paise}
        order.ledger.pay(permission().idempotency_key, payment)
        return f"Paid {amount_paise} paise to {vendor_id} for {invoice}."

    run = run_of_thread(client, owner=order.owner, title=f"Pay invoice {order.invoice}")
    asking = PlacetMiddleware(run, [pay_vendor])
    return create_agent(Model(), [pay_vendor], middleware=[asking], checkpointer=saver)


def main() -> None:
    """Pay, or hear why not; the bridge, here a thread, could be a process anywhere."""
    order = Order.of("langgraph", __doc__)
    threads = str(order.data / "threads.sqlite")
    with connect() as client, SqliteSaver.from_conn_string(threads) as saver:
        agent = agent_of(order, client, saver)
        config: RunnableConfig = {"configurable": {"thread_id": order.invoice}}
        if not agent.get_state(config).values:
            agent.invoke({"messages": [HumanMessage(order.text)]}, config)
        for waiting in agent.get_state(config).interrupts:
            say(f"I wait for an answer:\n  {waiting.value['placet']['url']}")
        bridge = Bridge(client, agent)
        waking = threading.Thread(target=bridge.run)
        waking.start()
        while agent.get_state(config).next:
            time.sleep(0.2)
        bridge.stop()
        waking.join()
        say(agent.get_state(config).values["messages"][-1].text)
        (run,) = client.find_runs(external_id=order.invoice)
        run.finish("succeeded" if order.is_paid else "rejected")


def connect() -> Client:
    """The client of the server that the environment names."""
    try:
        return Client(os.environ["PLACET_URL"], os.environ["PLACET_KEY"])
    except KeyError as missing:
        sys.exit(f"Set {missing.args[0]}: the server's address, the agent's key.")


if __name__ == "__main__":
    main()
