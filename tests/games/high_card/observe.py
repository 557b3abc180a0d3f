"""What one seat sees, as numbers: own seat first, then clockwise."""

from __future__ import annotations

import numpy as np

from airenv.core.jit import jit
from airenv.games.high_card.layout import ACTING, CARDS, DISCARDS, HANDS, PLAYERS, ROUNDS, STEPS
from airenv.games.high_card.rules import shown


@jit
def observe(board, state, seat, out):
    out[:] = 0.0
    players = board["players"]
    out[ACTING] = 1.0 if state["player"] == seat else 0.0
    out[PLAYERS + players - 2] = 1.0
    out[STEPS] = state["steps"] / (ROUNDS * players)
    for relative in range(players):
        other = (seat + relative) % players
        if shown(state, seat, other):
            out[HANDS + relative * CARDS + np.int64(state["hand"][other]) - 1] = 1.0
    for i in range(state["discard_size"]):
        out[DISCARDS + np.int64(state["discard"][i]) - 1] = 1.0
