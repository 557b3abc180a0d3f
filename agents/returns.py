"""Advantages and returns of many games at once, each seat's from its own rewards, values and decisions."""

from __future__ import annotations

import numpy as np

from airenv.core.engine import MOST_SEATS as SEATS
from airenv.core.jit import jit
from airenv.core.scratch import scratch


@jit
def seat_returns(values, rewards, over, movers, last_values, gamma, trace, advantages, returns, watching, watched):
    """Generalised advantage estimates along each seat's own decisions.

    values, movers, over [step, game]; rewards [step, game, seat], what a step brought to every seat;
    last_values [game, seat], of the observations after the last step. A seat's decision is followed by its next one
    in the same game, by the end of the game, or by last_values. `watching` [step, game] is a seat that only looked on
    (-1: none), and `watched` is set to the return of what it saw.
    """
    for game in range(values.shape[1]):
        earned = scratch(SEATS, np.float64)  # since the seat's decision that is looked at
        next_value = scratch(SEATS, np.float64)
        next_advantage = scratch(SEATS, np.float64)
        for seat in range(last_values.shape[1]):
            next_value[seat] = last_values[game, seat]
        for step in range(values.shape[0] - 1, -1, -1):
            if over[step, game]:
                for seat in range(SEATS):
                    earned[seat] = rewards[step, game, seat]
                    next_value[seat] = 0.0
                    next_advantage[seat] = 0.0
            looker = watching[step, game]
            if looker >= 0:
                watched[step, game] = earned[looker] + next_value[looker] + next_advantage[looker]
            seat = movers[step, game]
            delta = earned[seat] + gamma * next_value[seat] - values[step, game]
            advantages[step, game] = delta + gamma * trace * next_advantage[seat]
            returns[step, game] = advantages[step, game] + values[step, game]
            earned[seat] = 0.0
            next_value[seat] = values[step, game]
            next_advantage[seat] = advantages[step, game]
