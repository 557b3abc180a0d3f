"""What one seat sees, as numbers: own seat first, then clockwise, about [-1, 1]."""

from __future__ import annotations

import numpy as np

from airenv.core.jit import jit
from airenv.core.scratch import scratch
from airenv.games.aviation.knowledge import ANY, count_drawable, count_unseen, delay_is_drawn
from airenv.games.aviation.layout import (
    BLUE_CARDS,
    BLUE_KINDS,
    CITIES,
    DELAY,
    HAND,
    KINDS,
    PARACHUTE,
    RED_CARDS,
    SEATS,
    SLICES,
    TOP_DISCARDS,
)

PHASE, ACTING, PLAYERS, ON_TURN = (SLICES[n].start for n in ("phase", "acting", "players", "on_turn"))
OWN_HAND, NEXT, PILE, DELAYED = (SLICES[n].start for n in ("hand", "next", "pile", "delayed"))
CHUTE, HELD, WAITS, KNOWN = (SLICES[n].start for n in ("parachute", "held", "waits", "known"))
MAY_FIT, TOP, DISCARDS, UNSEEN = (SLICES[n].start for n in ("may_fit", "top", "discards", "unseen"))
POOL, BLUE_UNSEEN, SIZES, CHOSEN = (SLICES[n].start for n in ("pool", "blue_unseen", "sizes", "chosen"))
HAS_CHOSEN, TURNS = SLICES["has_chosen"].start, SLICES["turns"].start


@jit
def observe(board, state, seat, out):
    out[:] = 0.0
    players = board["players"]
    out[PHASE + state["phase"]] = 1.0
    out[ACTING] = 1.0 if state["player"] == seat else 0.0
    out[PLAYERS + players - 2] = 1.0
    out[ON_TURN + (state["on_turn"] - seat + players) % players] = 1.0
    for relative in range(players):
        observe_seat(state, (seat + relative) % players, relative, out)
        if relative > 0:
            observe_opponent(state, seat, (seat + relative) % players, relative - 1, out)
    observe_own(state, seat, out)
    observe_red(board, state, seat, out)
    observe_blue(board, state, out)
    out[TURNS] = state["turns"] / board["max_turns"]


@jit
def observe_seat(state, seat, relative, out):
    """What lies open in front of anybody."""
    out[PILE + relative] = state["pile"][seat] / CITIES
    out[DELAYED + relative] = state["delayed"][seat]
    out[CHUTE + relative] = state["parachute"][seat]
    out[HELD + relative] = state["held"][seat] / (HAND + 1)
    out[HAS_CHOSEN + relative] = 1.0 if state["passing"][seat] > 0 else 0.0


@jit
def observe_opponent(state, seat, other, row, out):
    """What is known of another's hand."""
    if state["pile"][other] < CITIES:
        out[WAITS + row * CITIES + np.int64(state["pile"][other])] = 1.0
    out[MAY_FIT + row] = state["may_fit"][other, seat] / ANY
    for city in range(1, KINDS):
        out[KNOWN + row * CITIES + city - 1] = state["known"][other, city, seat]


@jit
def observe_own(state, seat, out):
    if state["pile"][seat] < CITIES:
        out[NEXT + np.int64(state["pile"][seat])] = 1.0
    for city in range(1, KINDS):
        out[OWN_HAND + city - 1] = state["hand"][seat, city] / 3.0
    if state["passing"][seat] > 0:
        out[CHOSEN + np.int64(state["passing"][seat]) - 1] = 1.0


@jit
def observe_red(board, state, seat, out):
    """The discards, in order at the top and counted below, and what is left to be drawn."""
    size = state["discard_size"]
    for i in range(size):
        out[DISCARDS + np.int64(state["discard"][i]) - 1] += np.float32(1.0 / 6.0)
    for depth in range(min(np.int64(size), TOP_DISCARDS)):
        out[TOP + depth * CITIES + np.int64(state["discard"][size - 1 - depth]) - 1] = 1.0
    counts = scratch(KINDS, np.int64)
    count_unseen(board, state, seat, counts)
    drawable = scratch(KINDS, np.int64)
    count_drawable(state, seat, counts, drawable)
    for city in range(1, KINDS):
        out[UNSEEN + city - 1] = counts[city] / 6.0
        out[POOL + city - 1] = drawable[city] / 6.0
    out[SIZES] = state["red_size"] / RED_CARDS
    out[SIZES + 1] = size / RED_CARDS


@jit
def observe_blue(board, state, out):
    out[SIZES + 2] = state["blue_size"] / BLUE_CARDS
    size = state["blue_size"]
    if size == 0:
        return
    for kind in range(BLUE_KINDS):
        left = board["blue"][kind] - state["blue_discard"][kind]
        if kind == DELAY and delay_is_drawn(state):
            left -= 1
        for seat in range(SEATS):
            if kind == DELAY:
                left -= state["delayed"][seat]
            elif kind == PARACHUTE:
                left -= state["parachute"][seat]
        out[BLUE_UNSEEN + kind] = left / size
