"""The agent as a LangGraph graph: begin → plan → ask → wait → act → plan → finish.

Each node may run twice, after a crash or on resuming, and nothing happens twice: the run is
named by the thread, the question by its tool call, and the dispatch uses the approval up. What
resumes the graph only wakes it; what was decided is read from the server.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.messages.tool import ToolCall
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, interrupt

from pay_vendor.ledger import Ledger
from pay_vendor.model import ORDER, ScriptedModel
from pay_vendor.placet import Placet, Refused, asked_sha256

Next = Command[Literal["ask", "wait", "plan"]]

EDITABLE = {
    "type": "object",
    "properties": {
        "vendor_id": {"type": "string", "minLength": 1},
        "invoice": {"type": "string", "minLength": 1},
        "amount_paise": {"type": "integer", "minimum": 1},
    },
    "required": ["vendor_id", "invoice", "amount_paise"],
    "additionalProperties": False,
}


STUB = "  (The bank is a file here. It does one idempotency key once.)"


class State(MessagesState):
    """What the checkpointer keeps: the conversation, and where it stands with Placet."""

    run_id: str
    waiting: dict[str, str]
    news: str | None
    outcome: str


class NotWhatWasApproved(Exception):
    """The call about to run is not the approved one; it did not run."""


@dataclass(frozen=True, slots=True)
class Payer:
    """The nodes, with what they work on."""

    placet: Placet
    ledger: Ledger
    model: ScriptedModel
    owner: str

    def begin(self, state: State, config: RunnableConfig) -> dict[str, Any]:
        """Begin the run; its name outside is the thread's, so that it is found again."""
        run = self.placet.begin_run(
            title=titled(state["messages"][0].text),
            owner=self.owner,
            external_id=config["configurable"]["thread_id"],
        )
        return {"run_id": run["id"]}

    def plan(self, state: State) -> dict[str, Any]:
        """Let the model say what to do next."""
        return {"messages": [self.model.invoke(state["messages"])]}

    def ask(self, state: State) -> Next:
        """Ask people about the call; one asked before in other words is thereby superseded."""
        call = planned_call(state)
        assert call is not None
        try:
            asked = self.placet.ask(
                state["run_id"],
                call_id=call["id"],
                tool=call["name"],
                args=call["args"],
                args_schema=EDITABLE,
                allowed_decisions=["approve", "edit", "reject"],
            )
        except Refused as refused:
            return ended(call, f"Not paid: the question was refused, {refused}", "failed")
        say(f"Asked whether to pay {told(call['args'])}:\n  {asked['url']}")
        waiting = {"asked_id": asked["id"], "url": asked["url"]}
        return Command(goto="wait", update={"waiting": waiting, "news": None})

    def wait(self, state: State) -> dict[str, Any]:
        """Pause the graph until somebody answered, or until there is news."""
        woken = interrupt(state["waiting"])
        return {"news": woken.get("news")}

    def act(self, state: State) -> Next:
        """Do what was decided, and nothing else."""
        call = planned_call(state)
        assert call is not None
        asked = self.placet.interrupt(state["waiting"]["asked_id"])
        decision = asked["decision"]
        if asked["state"] == "PENDING":
            return self._replanned(call, state["news"]) if state["news"] else Command(goto="wait")
        if asked["state"] == "SUPERSEDED":
            return Command(goto="ask")  # a person's edit made the next attempt: it is given back
        if decision is None:
            return ended(call, f"Not paid: the question is {asked['state']}.", "failed")
        by, reason = decision["decided_by"]["name"], decision["reason"]
        say(f"Got: {decision['kind']} by {by} at {decision['decided_at']}.{quoted(reason)}")
        if decision["kind"] == "reject":
            return ended(call, f"Not paid: {by} rejected it.{quoted(reason)}", "rejected")
        if datetime.fromisoformat(decision["valid_until"]) <= datetime.now(UTC):
            say("That approval is no longer valid.")
            return Command(goto="ask")
        return self._pay(call, asked)

    def _replanned(self, call: ToolCall, news: str) -> Next:
        say(f"News: {news}")
        dropped = answered(call, "Not paid: the plan changed.")
        return Command(goto="plan", update={"messages": [dropped, HumanMessage(news)]})

    def _pay(self, call: ToolCall, asked: dict[str, Any]) -> Next:
        """Pay what was approved: the planned arguments, or those that a person put in place.

        The dispatch uses the approval up, and only it permits paying. An agent that was killed
        after it finds the action used: whether it paid is then for people to find out.
        """
        decision = asked["decision"]
        is_planned = asked_sha256(call["name"], call["args"]) == asked["requested_sha256"]
        is_approved = asked_sha256(call["name"], decision["args"]) == decision["approved_sha256"]
        if not (is_planned and is_approved):
            raise NotWhatWasApproved(f"The approval {decision['id']} is not for this call.")
        try:
            action = self.placet.dispatch(asked["run_id"], asked["id"], decision["args"])
        except Refused as refused:
            return ended(call, f"I do not pay: {refused}", "failed")
        say("Dispatched: the approval is used up, and permits paying once.")
        self.ledger.pay(action["idempotency_key"], action["args"])
        self.placet.succeeded(action)
        return ended(call, f"Paid {told(action['args'])}.", "succeeded")

    def finish(self, state: State) -> None:
        """End the run with its outcome, unless somebody else ended it."""
        say(state["messages"][-1].text)
        if state["outcome"] == "succeeded":
            say(STUB)
        try:
            self.placet.finish_run(state["run_id"], state["outcome"])
        except Refused as refused:
            say(f"The run stays as it is: {refused}")


def build(payer: Payer, saver: BaseCheckpointSaver[Any]) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Give the graph that `saver` keeps."""
    graph = StateGraph(State)
    for node in (payer.begin, payer.plan, payer.ask, payer.wait, payer.act, payer.finish):
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "begin")
    graph.add_edge("begin", "plan")
    graph.add_conditional_edges(
        "plan", lambda state: "ask" if planned_call(state) else "finish", ["ask", "finish"]
    )
    graph.add_edge("wait", "act")
    graph.add_edge("finish", END)
    return graph.compile(checkpointer=saver)


def planned_call(state: State) -> ToolCall | None:
    """Give the tool call that the model wants now, if it wants one."""
    calls = [each for each in state["messages"] if isinstance(each, AIMessage)][-1].tool_calls
    return calls[0] if calls else None


def answered(call: ToolCall, text: str) -> ToolMessage:
    """Give the tool's answer to a call."""
    return ToolMessage(text, tool_call_id=call["id"])


def ended(call: ToolCall, text: str, outcome: str) -> Next:
    """Give the tool's answer to the model, and how the run ends with it."""
    return Command(goto="plan", update={"messages": [answered(call, text)], "outcome": outcome})


def titled(order: str) -> str:
    """Name the run after its invoice alone; vendor and amount may change and are asked about."""
    found = ORDER.search(order)
    return f"Pay invoice {found['invoice']}" if found else order


def told(args: dict[str, Any]) -> str:
    """Say a payment in words."""
    paise = args["amount_paise"]
    amount = f"{paise / 100:,.2f} rupees ({paise} paise)"
    return f"{amount} to {args['vendor_id']} for {args['invoice']}"


def quoted(reason: str) -> str:
    """Give a reason as a sentence of its own, where there is one."""
    return f" “{reason}”" if reason else ""


def say(text: str) -> None:
    """Print what the agent does."""
    print(text, flush=True)
