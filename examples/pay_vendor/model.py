"""The model of the agent: scripted, so that the example needs no network and no key."""

import re
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult

ORDER = re.compile(r"pay (?P<invoice>\S+): (?P<amount>\d+) paise to (?P<vendor>V-\d+)", re.I)


class ScriptedModel(BaseChatModel):
    """Calls `pay_vendor` as the newest order says; sums up once the tool has answered.

    What it says follows from the conversation alone, so a restarted agent plans the same. The
    id of its tool call names the invoice: a new plan for it is the same question in new words.
    """

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._reply(messages))])

    def _reply(self, messages: list[BaseMessage]) -> AIMessage:
        if isinstance(messages[-1], ToolMessage):
            return AIMessage(f"Finished. {messages[-1].text}")
        orders = [ORDER.search(each.text) for each in messages if isinstance(each, HumanMessage)]
        order = [found for found in orders if found][-1]
        call = {
            "name": "pay_vendor",
            "id": f"pay-{order['invoice']}",
            "args": {
                "vendor_id": order["vendor"],
                "invoice": order["invoice"],
                "amount_paise": int(order["amount"]),
            },
        }
        return AIMessage("", tool_calls=[call])
