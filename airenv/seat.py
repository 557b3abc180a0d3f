"""What an agent is given: a seat at the table, never the state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from airenv.core.errors import GameOver

if TYPE_CHECKING:
    from airenv.byhand import Game


@dataclass(frozen=True)
class Clock:
    """What an agent may spend on a decision; None is no limit."""

    milliseconds: float | None = None
    simulations: int | None = None


class Seat:
    """One seat's knowledge of a running game, at the moment it is asked to act.

    The state itself is kept in closures: what an agent can reach are the observation, the mask, the
    JSON view and worlds re-drawn from what this seat knows.
    """

    def __init__(self, game: Game, state: np.ndarray, clock: Clock | None = None) -> None:
        player = game.player(state)
        if player < 0:
            raise GameOver("the game is over: no seat is to act")
        self.game = game
        self.index = player
        self.clock = clock or Clock()
        self.observation, self.action_mask = game.observe_with_mask(state, player)
        self.legal_actions = game.legal_actions(state)
        self._view: Callable[[], dict[str, Any]] = lambda: game.view(state, player)
        self._sample: Callable[[int], np.ndarray] = lambda seed: game.determinize(state, player, seed)

    @property
    def view(self) -> dict[str, Any]:
        """What this seat sees, as JSON."""
        return self._view()

    def sample_world(self, rng: np.random.Generator) -> np.ndarray:
        """A possible true state, drawn anew: hidden cards and all future chance are random."""
        return self._sample(int(rng.integers(2**63)))


class Agent(Protocol):
    """A player: anything that picks an action for a seat."""

    name: str

    def act(self, seat: Seat, rng: np.random.Generator) -> int: ...


@lru_cache(maxsize=1)
def _agent_maker() -> Callable[[str], Agent]:
    found = list(entry_points(group="airenv.agents", name="lines"))
    if not found:
        raise LookupError("no agents are installed: install airenv with its agents package")
    return found[0].load()


def agent_from_line(line: str) -> Agent:
    """The agent a line such as "greedy" names."""
    return _agent_maker()(line)
