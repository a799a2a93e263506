"""An agent that pays vendors and asks first: LangGraph, and Placet over plain HTTP."""
