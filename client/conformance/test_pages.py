"""The programs of the pages on frameworks run as they stand there."""

import asyncio
import json
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from agents import Model
from agents.testing import ScriptedModel, assistant_message, function_call
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from conformance.site import ROOT, Site
from placet import AsyncClient

ARGS = {"vendor_id": "V-2291", "amount_paise": 500}


def for_openai() -> Model:
    call = function_call("pay_vendor", ARGS, call_id="call-1")
    return ScriptedModel([[call], [assistant_message("Done.")]])


def for_pydantic_ai() -> FunctionModel:
    def model(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        if len(messages) > 1:
            return ModelResponse(parts=[TextPart("Done.")])
        return ModelResponse(parts=[ToolCallPart("pay_vendor", ARGS, tool_call_id="call-1")])

    return FunctionModel(model)


@pytest.mark.parametrize(
    ("page", "model"), [("openai-agents", for_openai), ("pydantic-ai", for_pydantic_ai)]
)
def test_the_program_of_the_page_pays_once_when_it_was_approved(
    site: Site, tmp_path: Path, page: str, model: Callable[[], Any]
) -> None:
    (program,) = block(page, "python agent")
    invoice = f"INV-{uuid4().hex[:12]}"
    paid: list[tuple[str, int]] = []

    def pay(vendor_id: str, amount_paise: int, *, key: str) -> str:
        paid.append((vendor_id, amount_paise))
        return f"Paid under {key}."

    names: dict[str, Any] = {"model": model(), "pay": pay}
    exec(program.replace("INV-88412", invoice), names)
    answering = threading.Thread(target=answer, args=(site, invoice))
    answering.start()

    said = asyncio.run(names["main"](site.url, site.key, str(tmp_path / "pauses")))

    answering.join()
    assert (said, paid) == ("Done.", [("V-2291", 500)])


def test_the_settings_shown_for_mcp_are_json_and_name_the_module() -> None:
    (settings,) = block("mcp", "json client")

    shown = json.loads(settings)["mcpServers"]["placet"]

    assert shown["args"][:4] == ["-m", "placet.mcp", "--owner", "alice"]


def block(page: str, words: str) -> list[str]:
    """The blocks of a page with these words after the fence."""
    text = (ROOT / "docs" / "howto" / f"{page}.md").read_text()
    return re.findall(rf"^```{words}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def answer(site: Site, invoice: str) -> None:
    """Let Rae approve what the run of this invoice asks, once it does."""

    async def question() -> str:
        async with AsyncClient(site.url, site.key) as client, asyncio.timeout(60):
            while True:
                async for run in client.find_runs(external_id=invoice):
                    if run.view.interrupts:
                        return run.view.interrupts[0].id
                await asyncio.sleep(0.05)

    assert site.rae.approve(asyncio.run(question())) is None
