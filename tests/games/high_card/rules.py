"""The rules of high card: in turn, keep the own card or swap it for the top of the pack."""

from __future__ import annotations

import numpy as np

from airenv.core.decks import count_cards, fill_pack, shuffle, take_top
from airenv.core.engine import ENDED, NOBODY, RUNNING
from airenv.core.jit import jit
from airenv.core.random import seed_generator
from airenv.core.scratch import scratch
from airenv.games.high_card.layout import ACTIONS, CARDS, KEEP, KINDS, ROUNDS, SWAP


@jit
def new_game(board, state, seed):
    """Shuffle the pack and deal everybody a card."""
    seed_generator(state["rng"], seed)
    state["steps"] = 0
    state["player"] = 0
    state["over"] = RUNNING
    state["pack_size"] = board["cards"]
    state["discard_size"] = 0
    state["hand"][:] = 0
    state["pack"][:] = 0
    state["discard"][:] = 0
    state["spare"][:] = 0
    for i in range(board["cards"]):
        state["pack"][i] = i + 1
    shuffle(state["rng"], state["pack"], state["pack_size"])
    for seat in range(board["players"]):
        state["hand"][seat] = take_card(state)


@jit
def take_card(state):
    card = take_top(state["pack"], state["pack_size"])
    state["pack_size"] -= 1
    return card


@jit
def legal_mask(board, state, out):
    out[:] = 0
    if state["over"] != RUNNING:
        return 0
    out[KEEP] = 1
    out[SWAP] = 1
    return ACTIONS


@jit
def step(board, state, action):
    seat = state["player"]
    if action == SWAP:
        state["discard"][state["discard_size"]] = state["hand"][seat]
        state["discard_size"] += 1
        state["hand"][seat] = take_card(state)
    state["steps"] += 1
    state["player"] = state["steps"] % board["players"]
    if state["steps"] == ROUNDS * board["players"]:
        state["over"] = ENDED
        state["player"] = NOBODY


@jit
def shown(state, seat, other):
    """Whether a seat sees another's card: its own always, all of them when the game is over."""
    return other == seat or state["over"] != RUNNING


@jit
def determinize(board, state, seat, seed):
    """Deal the cards the seat has not seen anew, to the other hands and to the pack."""
    seed_generator(state["rng"], seed)
    counts = scratch(KINDS, np.int64)
    for other in range(board["players"]):
        if not shown(state, seat, other):
            counts[state["hand"][other]] = 1
    for i in range(state["pack_size"]):
        counts[state["pack"][i]] = 1
    cards = scratch(CARDS, np.int8)
    left = fill_pack(cards, counts)  # in order of their numbers: the true order leaves no trace
    shuffle(state["rng"], cards, left)
    for other in range(board["players"]):
        if not shown(state, seat, other):
            left -= 1
            state["hand"][other] = cards[left]
    for i in range(left):
        state["pack"][i] = cards[i]


@jit
def scores(board, state, out):
    """The card in hand; nothing before the end, when the hands are hidden."""
    for seat in range(board["players"]):
        out[seat] = 0.0 if state["over"] == RUNNING else state["hand"][seat]


@jit
def check(board, state):
    """The number of the first broken law, 0 if none is."""
    counts = scratch(KINDS, np.int64)
    for seat in range(board["players"]):
        counts[state["hand"][seat]] += 1
    count_cards(state["pack"], state["pack_size"], counts)
    count_cards(state["discard"], state["discard_size"], counts)
    for card in range(CARDS + 1):
        if counts[card] != (1 if 0 < card <= board["cards"] else 0):
            return 1
    running = state["steps"] < ROUNDS * board["players"]
    expected = state["steps"] % board["players"] if running else NOBODY
    if running != (state["over"] == RUNNING) or state["player"] != expected:
        return 2
    return 0
