"""Ask people from inside LangGraph: in a node, around a tool, and as a middleware."""

from placet.langgraph.asking import ask, guarded_call
from placet.langgraph.guarding import Rejected, Unanswered

__all__ = ["Rejected", "Unanswered", "ask", "guarded_call"]
