"""The rules of pennies: one secret choice each, then all are shown."""

from __future__ import annotations

from airenv.core.engine import ENDED, NOBODY, RUNNING
from airenv.core.jit import jit
from airenv.core.random import below, seed_generator
from airenv.games.pennies.layout import ACTIONS, HEADS, HIDDEN


@jit
def new_game(board, state, seed):
    seed_generator(state["rng"], seed)
    state["steps"] = 0
    state["player"] = 0
    state["over"] = RUNNING
    state["penny"][:] = HIDDEN
    state["spare"] = 0


@jit
def legal_mask(board, state, out):
    out[:] = 1 if state["over"] == RUNNING else 0
    return ACTIONS if state["over"] == RUNNING else 0


@jit
def step(board, state, action):
    state["penny"][state["player"]] = HEADS + action
    state["steps"] += 1
    state["player"] += 1
    if state["player"] == board["players"]:
        state["player"] = NOBODY
        state["over"] = ENDED


@jit
def secret_choice(board, state):
    return state["over"] == RUNNING


@jit
def determinize(board, state, seat, seed):
    seed_generator(state["rng"], seed)
    if state["over"] == RUNNING:
        for other in range(board["players"]):
            if other != seat and state["penny"][other] != HIDDEN:
                state["penny"][other] = HEADS + below(state["rng"], ACTIONS)


@jit
def scores(board, state, out):
    """The first player matches, the second does not; nobody else wins anything."""
    for seat in range(board["players"]):
        out[seat] = 0.0
    if state["over"] != RUNNING:
        out[0 if state["penny"][0] == state["penny"][1] else 1] = 1.0


@jit
def check(board, state):
    return 0
