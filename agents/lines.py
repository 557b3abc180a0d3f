"""Agent lines: `random`, `greedy`, `name:key=value,...`: one string names an agent anywhere."""

from __future__ import annotations

from collections.abc import Callable

from agents.basic import GreedyAgent, RandomAgent
from airenv.core.errors import BadOption, unknown
from airenv.seat import Agent

AGENTS: dict[str, Callable[..., Agent]] = {"random": RandomAgent, "greedy": GreedyAgent}
PARAMETERS: dict[str, tuple[str, ...]] = {"random": (), "greedy": ("epsilon",)}


def parse_line(line: str) -> tuple[str, dict[str, str]]:
    """The name and the parameters of an agent line."""
    if not isinstance(line, str) or not line.strip():
        raise BadOption(f"an agent line is a text such as 'greedy', not {line!r}")
    name, _, rest = line.strip().partition(":")
    if name not in AGENTS:
        raise unknown("agent", name, AGENTS)
    parameters: dict[str, str] = {}
    for part in rest.split(",") if rest else []:
        key, equals, value = part.partition("=")
        if key.strip() not in PARAMETERS[name]:
            raise unknown(f"parameter of {name}", key.strip(), PARAMETERS[name])
        if not equals or not value.strip():
            raise BadOption(f"{key.strip()} of {name} needs a value, as in {key.strip()}=...")
        parameters[key.strip()] = value.strip()
    return name, parameters


def make_agent(line: str) -> Agent:
    """The agent a line names; a line that names none says what is allowed."""
    name, parameters = parse_line(line)
    return AGENTS[name](**parameters)
