"""`placet.langgraph.guarded_call` in the nodes of a graph, kept in PostgreSQL."""

from collections import defaultdict
from collections.abc import Mapping
from operator import or_
from typing import Annotated, Any, ClassVar, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Send

from conformance.driver import SCHEMA, TOOL, Call, Limit, Pay, Situation
from conformance.drivers.checkpoints import postgres
from conformance.site import Site
from placet.langgraph import Rejected, guarded_call, wake
from placet.langgraph.waking import Graph

PLANS: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
"""What the model of a thread wants now, by call: asked again whenever a node runs."""


class State(TypedDict):
    """What the checkpointer keeps."""

    calls: list[str]
    told: Annotated[dict[str, str], or_]


class One(TypedDict):
    """What one node is sent."""

    call: str


class LangGraphNode:
    """One node for each call; the node plans anew each time that it runs."""

    name: ClassVar[str] = "LangGraph node"
    limits: ClassVar[Mapping[Situation, Limit]] = {}

    def open(self, site: Site, thread: str, pay: Pay, *, by_sub_agent: bool) -> "Held":
        """Compile the graph anew, with a connection of its own."""
        return Held(site, thread, pay, by_sub_agent=by_sub_agent)


class Held:
    """The graph of one thread."""

    def __init__(self, site: Site, thread: str, pay: Pay, *, by_sub_agent: bool) -> None:
        self._thread = thread
        self._connection, saver = postgres(site)
        self._config: RunnableConfig = {"configurable": {"thread_id": thread}}
        run = site.client.create_run(title="Pay", owner="alice", external_id=thread)

        def act(state: One) -> dict[str, Any]:
            call_id = state["call"]
            args = PLANS[thread][call_id]
            try:
                said = guarded_call(run, TOOL, args, pay, call_id=call_id, args_schema=SCHEMA)
            except Rejected as rejected:
                said = str(rejected)
            return {"told": {call_id: said}}

        def each(state: State) -> list[Send]:
            return [Send("act", {"call": call}) for call in state["calls"]]

        inner = StateGraph(State)
        inner.add_node("act", act)
        inner.add_conditional_edges(START, each, ["act"])
        outer = StateGraph(State)
        outer.add_node("sub", inner.compile())
        outer.add_edge(START, "sub")
        graph = outer if by_sub_agent else inner
        self._graph: Graph = graph.compile(checkpointer=saver)

    def begin(self, calls: tuple[Call, ...]) -> None:
        for call in calls:
            self.replan(call)
        self._graph.invoke({"calls": [call.id for call in calls], "told": {}}, self._config)

    def wake(self) -> None:
        wake(self._graph, self._config)

    def forge(self) -> None:
        for each in self._graph.get_state(self._config).interrupts:
            self._graph.invoke(Command(resume={each.id: {"kind": "approve"}}), self._config)
        self._graph.invoke(Command(resume=True), self._config)

    def replan(self, call: Call) -> None:
        PLANS[self._thread][call.id] = call.args

    def is_over(self) -> bool:
        state = self._graph.get_state(self._config)
        return bool(state.values) and not state.next

    def told(self) -> Mapping[str, str]:
        told: dict[str, str] = self._graph.get_state(self._config).values["told"]
        return told

    def close(self) -> None:
        self._connection.close()
