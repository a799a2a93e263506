"""The drivers, one for each adapter and way of using it."""

from conformance.driver import Driver
from conformance.drivers.langchain_agents import AGENTS
from conformance.drivers.langgraph_node import LangGraphNode
from conformance.drivers.mcp import MCP
from conformance.drivers.openai_agents import OpenAIAgents
from conformance.drivers.plain_http import PlainHTTP
from conformance.drivers.pydantic_ai import PydanticAI

DRIVERS: tuple[Driver, ...] = (
    LangGraphNode(),
    *AGENTS,
    OpenAIAgents(),
    PydanticAI(),
    MCP(),
    PlainHTTP(),
)
