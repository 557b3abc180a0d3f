"""What one seat sees, as numbers."""

from __future__ import annotations

from airenv.core.engine import RUNNING
from airenv.core.jit import jit


@jit
def observe(board, state, seat, out):
    out[:] = 0.0
    out[0] = 1.0 if state["player"] == seat else 0.0
    for other in range(board["players"]):
        if other == seat or state["over"] != RUNNING:
            out[1 + other] = state["penny"][other] / 2.0
