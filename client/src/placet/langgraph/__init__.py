"""Ask people from inside LangGraph: in a node, around a tool, and as a middleware.

What resumes a graph only wakes it. The adapter then reads the answer from the server and compares
the call that is about to run with the one that was approved; a difference is asked anew.
"""

from placet.langgraph.asking import ask, guarded_call
from placet.langgraph.bridge import Bridge
from placet.langgraph.guarding import Rejected, Unanswered
from placet.langgraph.middleware import PlacetMiddleware
from placet.langgraph.runs import RunSource, run_of_thread
from placet.langgraph.tools import guard
from placet.langgraph.waking import wake
from placet.permissions import Permission, permission

__all__ = [
    "Bridge",
    "Permission",
    "PlacetMiddleware",
    "Rejected",
    "RunSource",
    "Unanswered",
    "ask",
    "guard",
    "guarded_call",
    "permission",
    "run_of_thread",
    "wake",
]
