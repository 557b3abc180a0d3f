"""The list of laws, and positions to try them on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from airenv.byhand import Game

Law = Callable[[str, int], None]


@dataclass(frozen=True)
class Check:
    """A law, and the group it is listed under."""

    group: str
    law: Law
    needs: str = ""  # a package that not every installation has

    @property
    def name(self) -> str:
        return self.law.__name__

    @property
    def says(self) -> str:
        return (self.law.__doc__ or "").strip().splitlines()[0]


CHECKS: list[Check] = []


def law(group: str, needs: str = "") -> Callable[[Law], Law]:
    """Add a function to the suite."""

    def add(function: Law) -> Law:
        CHECKS.append(Check(group, function, needs))
        return function

    return add


def positions(game: Game, number: int, seed: int = 0, running: bool = False) -> Iterator[np.ndarray]:
    """Positions all through random games: a few from each, of every depth that comes up."""
    rng = np.random.default_rng(seed)
    length = max(1, game.random_playouts(20, seed) // 20)
    made = 0
    while made < number:
        state = game.random_position(int(rng.integers(2**62)), int(rng.integers(0, int(length * 1.2) + 2)))
        if running and game.is_over(state):
            continue
        made += 1
        yield state


def worlds(game: Game, number: int, seed: int = 0) -> Iterator[tuple[np.ndarray, int, np.ndarray]]:
    """Positions, every seat of each, and a world drawn from what that seat knows."""
    for count, state in enumerate(positions(game, number, seed)):
        for seat in range(game.players):
            yield state, seat, game.determinize(state, seat, count * game.players + seat)
