"""Constants, records, actions and observation slices of high card."""

from __future__ import annotations

import numpy as np

SEATS = 3
CARDS = 12  # numbered from 1; 0 is no card
KINDS = CARDS + 1
ROUNDS = 2

KEEP, SWAP = 0, 1
ACTIONS = 2
ACTION_KINDS = {"keep": range(KEEP, KEEP + 1), "swap": range(SWAP, SWAP + 1)}

BOARD = np.dtype([("players", "i4"), ("cards", "i4")], align=True)

STATE = np.dtype(
    [
        ("rng", "u4", 4),
        ("steps", "i4"),  # decisions made
        ("player", "i1"),  # seat to act, -1 when the game is over
        ("over", "i1"),
        ("pack_size", "i1"),  # pack[pack_size - 1] is the top; above it all is zero
        ("discard_size", "i1"),
        ("hand", "i1", SEATS),
        ("pack", "i1", CARDS),
        ("discard", "i1", SEATS * ROUNDS),  # face up, in order
        ("spare", "i1", 3),  # always zero; fills the record up to a multiple of four bytes
    ],
    align=True,
)

# Laws that `check` tests, by number.
LAWS = {
    1: "there is one card of each number",
    2: "turns go round until everybody had two",
}

# Observation: own seat first, then clockwise.
ACTING = 0  # 1 if it is this seat's move
PLAYERS = 1  # one-hot: 2, 3
STEPS = 3  # share of the decisions made
HANDS = 4  # one-hot for each seat: its card; others' only when the game is over
DISCARDS = HANDS + SEATS * CARDS  # 1 for each card that lies face up
OBSERVATION = DISCARDS + CARDS
