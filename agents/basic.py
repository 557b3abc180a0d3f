"""The two baselines every game has."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from agents.parameters import Parameter, read_parameters
from airenv.seat import Seat


class RandomAgent:
    """Any legal action, uniformly."""

    kind = name = "random"
    parameters: ClassVar[dict[str, Parameter]] = {}

    def act(self, seat: Seat, rng: np.random.Generator) -> int:
        return seat.legal_actions[int(rng.integers(len(seat.legal_actions)))]


class GreedyAgent:
    """The game's own rule of thumb, asked in a world drawn from what the seat knows."""

    kind = "greedy"
    parameters: ClassVar[dict[str, Parameter]] = {"epsilon": Parameter("share of random moves", 0.0)}

    def __init__(self, **given: object) -> None:
        self.epsilon: float = read_parameters(self.kind, self.parameters, given)["epsilon"]
        self.name = f"greedy:epsilon={self.epsilon:g}" if self.epsilon else "greedy"

    def act(self, seat: Seat, rng: np.random.Generator) -> int:
        if self.epsilon and rng.random() < self.epsilon:
            return seat.legal_actions[int(rng.integers(len(seat.legal_actions)))]
        return seat.game.suggest(seat.sample_world(rng))
