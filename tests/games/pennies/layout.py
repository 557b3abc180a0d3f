"""Constants and records of pennies."""

from __future__ import annotations

import numpy as np

SEATS = 5
HIDDEN, HEADS, TAILS = 0, 1, 2  # a seat's penny
ACTIONS = 2  # heads, tails
ACTION_KINDS = {"show": range(ACTIONS)}
OBSERVATION = 1 + SEATS
LAWS: dict[int, str] = {}

BOARD = np.dtype([("players", "i4")], align=True)
STATE = np.dtype(
    [
        ("rng", "u4", 4),
        ("steps", "i4"),
        ("player", "i1"),
        ("over", "i1"),
        ("penny", "i1", SEATS),
        ("spare", "i1"),
    ],
    align=True,
)
