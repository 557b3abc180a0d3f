"""Players for any game: `make_agent("greedy")`."""

from agents.lines import make_agent

__all__ = ["make_agent"]
