"""What the state machine draws: questions, answers, and what they are on the product's side."""

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from approvals.models.content import NewQuestion
from placet.protocol.states import DecisionKind, InterruptKind
from tests.approvals import contract_model as model

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"amount": {"type": "integer", "minimum": 0}},
    "required": ["amount"],
}
AMOUNTS = (0, 10, 20, 5000)
TARGET: dict[str, Any] = {"origin": "https://bank.example", "account": "alice@acme"}
OF_KIND: dict[str, Any] = {"question": {}, "handoff": {"tool": "login", "allowed": None}}
Picks = tuple[int, int, int]

doors = st.sampled_from(["command", "http"])
people_doors = st.sampled_from(["command", "command", "page"])
picks = st.tuples(*[st.integers(0, 5)] * 3)
args = st.fixed_dictionaries({"amount": st.sampled_from([*AMOUNTS, 666, -1, "10"])})
asks = st.builds(
    model.Ask,
    call_id=st.sampled_from("ab"),
    kind=st.sampled_from(["approval"] * 5 + ["question", "handoff"]),
    tool=st.sampled_from(["pay", "pay", "wire", "mail.send", "look"]),
    amount=st.sampled_from([*AMOUNTS, 666]),
    has_schema=st.sampled_from([True, True, False]),
    allowed=st.sampled_from([None, None, None, frozenset({"respond", "reject"})]),
    is_retry=st.sampled_from([True, False, False]),
).map(
    lambda ask: (
        ask if ask.kind == "approval" else replace(ask, has_schema=False, **OF_KIND[ask.kind])
    )
)
controls = st.sampled_from(["own"] * 6 + ["none", "old", "next"])
"""Whose token a command of an executor carries; its own is the last that was given."""
answers = st.builds(
    model.Posted,
    user=st.sampled_from(["alice", "rae", "rae", "rob", "bob", "ada", "otto"]),
    decision=st.sampled_from(["approve", "approve", "edit", "reject", "respond", "done"]),
    is_current=st.sampled_from([True] * 9 + [False]),
    is_digest_right=st.sampled_from([True] * 9 + [False]),
    view=st.sampled_from(["own"] * 9 + ["none", "another person's", "another question's"]),
    reason=st.sampled_from(["Because", "Because", " ", ""]),
    args=st.none() | args,
    response=st.sampled_from(["Monday", ""]),
)


def picked(values: list[Any], place: int) -> Any:
    """One of these."""
    return values[place % len(values)]


def new_question(ask: model.Ask, retry_of: str | None) -> NewQuestion:
    """The model's question as the command takes it."""
    return NewQuestion(
        call_id=ask.call_id,
        kind=InterruptKind(ask.kind),
        tool=ask.tool,
        args={"amount": ask.amount},
        args_schema=SCHEMA if ask.has_schema else None,
        allowed_decisions=ask.allowed and frozenset(DecisionKind(name) for name in ask.allowed),
        target=TARGET if ask.kind == "handoff" else None,
        retry_of=retry_of,
    )


def as_json(ask: model.Ask, retry_of: str | None) -> dict[str, Any]:
    """The model's question as the API takes it."""
    return {
        "call_id": ask.call_id,
        "kind": ask.kind,
        "tool": ask.tool,
        "args": {"amount": ask.amount},
        "args_schema": SCHEMA if ask.has_schema else None,
        "allowed_decisions": ask.allowed and sorted(ask.allowed),
        "target": TARGET if ask.kind == "handoff" else None,
        "retry_of": retry_of,
    }
