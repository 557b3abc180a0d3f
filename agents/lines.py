"""Agent lines: `random`, `greedy`, `mcts:sims=2000,threads=2`: one string names an agent anywhere."""

from __future__ import annotations

from typing import Any

from agents.az import AzAgent
from agents.basic import GreedyAgent, RandomAgent
from agents.mcts import FlatAgent, MctsAgent, PimcAgent, SearchAgent
from agents.policy import Network, PolicyAgent
from agents.weights import BadCheckpoint
from airenv.byhand import Game
from airenv.core.errors import BadOption, unknown
from airenv.seat import Agent

AGENTS: dict[str, Any] = {
    agent.kind: agent for agent in (RandomAgent, GreedyAgent, MctsAgent, FlatAgent, PimcAgent, PolicyAgent, AzAgent)
}


def parse_line(line: str) -> tuple[str, dict[str, str]]:
    """The name and the parameters of an agent line."""
    if not isinstance(line, str) or not line.strip():
        raise BadOption(f"an agent line is a text such as 'greedy', not {line!r}")
    name, _, rest = line.strip().partition(":")
    if name not in AGENTS:
        raise unknown("agent", name, AGENTS)
    parameters: dict[str, str] = {}
    parts = rest.split(",") if rest else []
    if getattr(AGENTS[name], "takes_path", False) and parts and "=" not in parts[0]:
        parameters["path"] = parts.pop(0).strip()
    for part in parts:
        key, equals, value = (word.strip() for word in part.partition("="))
        if key not in AGENTS[name].parameters:
            raise unknown(f"parameter of {name}", key, AGENTS[name].parameters)
        if not equals or not value:
            raise BadOption(f"{key} of {name} needs a value, as in {key}=...")
        if key in parameters:
            raise BadOption(f"{key} of {name} is given twice")
        parameters[key] = value
    return name, parameters


def make_agent(line: str) -> Agent:
    """The agent a line names; a line that names none says what is allowed."""
    name, parameters = parse_line(line)
    return AGENTS[name](**parameters)


def identity(line: str, game: Game) -> str:
    """What a line means in a game, to the last weight: networks by their hash, searches by the settings in force."""
    name, parameters = parse_line(line)
    kind = AGENTS[name]
    if getattr(kind, "takes_path", False):
        try:
            checkpoint = Network(parameters.get("path", "")).checkpoint_for(game.name)
        except BadCheckpoint:
            return line  # whoever plays it will say why it cannot be played
        return f"{line}#{checkpoint.manifest.sha256}" if checkpoint else line
    return f"{line}#{kind(**parameters).settings(game)}" if issubclass(kind, SearchAgent) else line
