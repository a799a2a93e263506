"""Placet as an MCP server: an agent asks by a tool call, people answer on the page.

    PLACET_URL=… PLACET_KEY=… python -m placet.mcp --owner alice

The key stays with this server. Nothing that a client sends is an answer: an elicitation that is
accepted only means that the person was brought to the page.
"""

from placet.mcp.desk import Desk
from placet.mcp.tools import server

__all__ = ["Desk", "server"]
