"""The model of LangChain's agents: scripted, so that no test needs a network or a key."""

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from conformance.driver import TOOL, Call


def order(calls: Sequence[Call], *, by_sub_agent: bool = False) -> str:
    """What a person tells the model, so that it makes these calls, or has them made."""
    text = json.dumps([{"id": call.id, "name": TOOL, "args": call.args} for call in calls])
    if not by_sub_agent:
        return text
    delegated = {"description": text, "subagent_type": "payer"}
    return json.dumps([{"id": "task-1", "name": "task", "args": delegated}])


class ScriptedModel(BaseChatModel):
    """Makes the calls of the last order; once all are answered it repeats the answers and ends."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_: Any) -> "ScriptedModel":
        """Itself: it needs no telling what there is."""
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **_: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=reply(messages))])


def reply(messages: Sequence[BaseMessage]) -> AIMessage:
    """What the model says next."""
    told = [each.text for each in messages if isinstance(each, ToolMessage)]
    if told:
        return AIMessage("Finished. " + " ".join(told))
    said = [each.text for each in messages if isinstance(each, HumanMessage)][-1]
    calls = [
        ToolCall(name=each["name"], args=each["args"], id=each["id"]) for each in json.loads(said)
    ]
    return AIMessage("", id="turn", tool_calls=calls)
