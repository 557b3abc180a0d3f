"""No choice is better than the other."""

from __future__ import annotations

from airenv.core.jit import jit


@jit
def suggest(board, state):
    return 0


@jit
def value(board, state, out):
    for seat in range(board["players"]):
        out[seat] = 1.0 / board["players"]
