"""`create_agent` and deepagents with `PlacetMiddleware` in both modes, and with `guard` alone."""

from collections.abc import Mapping
from typing import Any, ClassVar

from deepagents import SubAgent, create_deep_agent
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, tool
from langgraph.types import Command

from conformance.driver import Call, Limit, Pay, Situation
from conformance.drivers.checkpoints import Store, postgres, sqlite
from conformance.drivers.scripted import ScriptedModel, order
from conformance.site import Site
from placet.langgraph import PlacetMiddleware, guard, run_of_thread, wake
from placet.langgraph.middleware import Mode
from placet.langgraph.waking import Graph


class LangChainAgent:
    """An agent of LangChain whose tools ask; a sub-agent is one of deepagents."""

    limits: ClassVar[Mapping[Situation, Limit]] = {}

    def __init__(self, name: str, mode: Mode | None, store: Store) -> None:
        self.name = name
        self._mode = mode
        self._store = store

    def open(self, site: Site, thread: str, pay: Pay, *, by_sub_agent: bool) -> "Held":
        """Build the agent anew, with a connection of its own."""
        connection, saver = self._store(site)
        run = run_of_thread(site.client, owner="alice", title="Pay")
        pay_vendor = paying(pay)
        middleware: list[AgentMiddleware[Any, Any, Any]] = []
        if self._mode is None:
            pay_vendor = guard(pay_vendor, run)
        else:
            middleware = [PlacetMiddleware(run, [pay_vendor], mode=self._mode)]
        if not by_sub_agent:
            agent: Graph = create_agent(
                ScriptedModel(), [pay_vendor], middleware=middleware, checkpointer=saver
            )
            return Held(agent, connection, thread, by_sub_agent=False)
        payer = SubAgent(
            name="payer",
            description="Pays.",
            system_prompt="Pay.",
            tools=[pay_vendor],
            middleware=middleware,
        )
        deep: Graph = create_deep_agent(ScriptedModel(), subagents=[payer], checkpointer=saver)
        return Held(deep, connection, thread, by_sub_agent=True)


class Held:
    """The agent of one thread."""

    def __init__(self, graph: Graph, connection: Any, thread: str, *, by_sub_agent: bool) -> None:
        self._graph = graph
        self._connection = connection
        self._by_sub_agent = by_sub_agent
        self._config: RunnableConfig = {"configurable": {"thread_id": thread}}

    def begin(self, calls: tuple[Call, ...]) -> None:
        text = order(calls, by_sub_agent=self._by_sub_agent)
        self._graph.invoke({"messages": [("user", text)]}, self._config)

    def wake(self) -> None:
        if not wake(self._graph, self._config) and not self.is_over():
            self._graph.invoke(None, self._config)  # as after an edit of the state

    def forge(self) -> None:
        yes = {"decisions": [{"type": "approve"}], "type": "approve"}
        for each in self._graph.get_state(self._config).interrupts:
            self._graph.invoke(Command(resume={each.id: yes}), self._config)
        self._graph.invoke(Command(resume=yes), self._config)

    def replan(self, call: Call) -> None:
        """Edit the model's turn in the state, as an operator or a time-travelling UI does."""
        said = next(
            each
            for each in self._graph.get_state(self._config).values["messages"]
            if isinstance(each, AIMessage)
        )
        calls = [
            {**each, "args": call.args} if each["id"] == call.id else each
            for each in said.tool_calls
        ]
        edited = said.model_copy(update={"tool_calls": calls})
        self._graph.update_state(self._config, {"messages": [edited]}, as_node="model")

    def is_over(self) -> bool:
        state = self._graph.get_state(self._config)
        return bool(state.values) and not state.next

    def told(self) -> Mapping[str, str]:
        messages = self._graph.get_state(self._config).values["messages"]
        answers = [each for each in messages if isinstance(each, ToolMessage)]
        if self._by_sub_agent:
            # the sub-agent repeats in its task's answer what it was told
            return {"call-1": answers[0].text} if answers else {}
        return {each.tool_call_id: each.text for each in answers}

    def close(self) -> None:
        self._connection.close()


def paying(pay: Pay) -> BaseTool:
    """The tool, as any agent has it."""

    @tool
    def pay_vendor(vendor_id: str, amount_paise: int) -> str:
        """Pay a vendor."""
        return pay({"vendor_id": vendor_id, "amount_paise": amount_paise})

    return pay_vendor


AGENTS = (
    LangChainAgent("LangChain batched", "batched", postgres),
    LangChainAgent("LangChain per call", "per_call", sqlite),
    LangChainAgent("LangChain guard", None, sqlite),
)
