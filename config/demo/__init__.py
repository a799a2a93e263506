"""The demo: a site with people, an agent that asks them, and everything that runs it."""
