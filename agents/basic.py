"""The two baselines every game has."""

from __future__ import annotations

import numpy as np

from airenv.core.errors import BadOption
from airenv.seat import Seat


class RandomAgent:
    """Any legal action, uniformly."""

    name = "random"

    def act(self, seat: Seat, rng: np.random.Generator) -> int:
        return seat.legal_actions[int(rng.integers(len(seat.legal_actions)))]


class GreedyAgent:
    """The game's own rule of thumb, asked in a world drawn from what the seat knows; with
    probability `epsilon` any legal action instead."""

    def __init__(self, epsilon: str | float = 0.0) -> None:
        try:
            self.epsilon = float(epsilon)
        except ValueError:
            raise BadOption(f"epsilon of greedy is a number from 0 to 1, not {epsilon!r}") from None
        if not 0.0 <= self.epsilon <= 1.0:
            raise BadOption(f"epsilon of greedy is a number from 0 to 1, not {epsilon}")
        self.name = f"greedy:epsilon={self.epsilon:g}" if self.epsilon else "greedy"

    def act(self, seat: Seat, rng: np.random.Generator) -> int:
        if self.epsilon and rng.random() < self.epsilon:
            return seat.legal_actions[int(rng.integers(len(seat.legal_actions)))]
        return seat.game.suggest(seat.sample_world(rng))
