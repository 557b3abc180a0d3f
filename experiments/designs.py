"""Who meets whom, and where they sit: the designs of a tournament.

A line-up is the agents of a table in no particular seats. It is played on the same deal in several seatings, so that
neither cards nor seats favour anybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, combinations_with_replacement, permutations
from typing import Literal

import numpy as np

LineUp = tuple[str, ...]
Design = Literal["round_robin", "one_against_field", "random_pairings", "gauntlet"]
Seatings = Literal["rotations", "all"]


def line_ups(
    design: Design, agents: Sequence[str], players: int, rng: np.random.Generator, newcomer: str | None = None
) -> list[LineUp]:
    """The line-ups of a deal: the same for every deal, but for random pairings, which are drawn from `rng`."""
    if design == "one_against_field":
        return [(agent, *[other] * (players - 1)) for agent in agents for other in agents if other != agent]
    if design == "gauntlet":
        others = [agent for agent in agents if agent != newcomer]
        return [(str(newcomer), *company) for company in groups(others, players - 1)]
    if design == "random_pairings":
        return [drawn(agents, players, rng)]
    return [group for group in groups(agents, players) if len(set(group)) > 1]


def groups(agents: Sequence[str], size: int) -> list[LineUp]:
    """All groups of so many different agents; with too few agents, some are in a group more than once."""
    choose = combinations if len(agents) >= size else combinations_with_replacement
    return list(choose(agents, size))


def drawn(agents: Sequence[str], players: int, rng: np.random.Generator) -> LineUp:
    """A random line-up: nobody sits down a second time before everybody has."""
    order: list[str] = []
    while len(order) < players:
        order += [agents[i] for i in rng.permutation(len(agents))]
    return tuple(order[:players])


def seatings(line_up: LineUp, how: Seatings) -> list[LineUp]:
    """Every way to seat a line-up: moved on round the table, or in all orders; those that are alike once."""
    if how == "all":
        found = list(permutations(line_up))
    else:
        found = [line_up[first:] + line_up[:first] for first in range(len(line_up))]
    return list(dict.fromkeys(found))
