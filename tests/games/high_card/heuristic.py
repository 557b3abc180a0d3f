"""A rule-of-thumb player, from what its seat knows alone, and a position value."""

from __future__ import annotations

from airenv.core.engine import RUNNING
from airenv.core.jit import jit
from airenv.games.high_card.layout import KEEP, SWAP

WORTH_KEEPING = 7


@jit
def suggest(board, state):
    card = state["hand"][state["player"]]
    return SWAP if card < WORTH_KEEPING else KEEP


@jit
def value(board, state, out):
    """All are equal until the cards are shown."""
    players = board["players"]
    best = 0
    for seat in range(players):
        out[seat] = 1.0 / players if state["over"] == RUNNING else 0.0
        if state["hand"][seat] > state["hand"][best]:
            best = seat
    if state["over"] != RUNNING:
        out[best] = 1.0
