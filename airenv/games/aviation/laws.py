"""The laws that hold in every position; `check` names the first broken one by its number in layout.LAWS."""

from __future__ import annotations

import numpy as np

from airenv.core.decks import count_cards
from airenv.core.engine import RUNNING
from airenv.core.jit import jit
from airenv.core.scratch import scratch
from airenv.games.aviation.knowledge import delay_is_drawn
from airenv.games.aviation.layout import BLUE_KINDS, CITIES, DELAY, HAND, KINDS, PARACHUTE, SEATS


@jit
def check(board, state):
    """The number of the first broken law, 0 if none is."""
    if not red_conserved(board, state):
        return 1
    if not blue_conserved(board, state):
        return 2
    if state["red_size"] < 1:
        return 6
    for seat in range(board["players"]):
        law = check_hand(board, state, seat)
        if law != 0:
            return law
        if (state["pile"][seat] == CITIES) != (state["winner"] == seat):
            return 8
    if not pool_holds(state):
        return 7
    if state["forgotten"]:
        return 9
    return 0


@jit
def red_conserved(board, state):
    counts = scratch(KINDS, np.int64)
    count_cards(state["red"], state["red_size"], counts)
    count_cards(state["discard"], state["discard_size"], counts)
    for seat in range(board["players"]):
        for city in range(1, KINDS):
            counts[city] += state["hand"][seat, city]
            if state["pile"][seat] >= city:
                counts[city] += 1
    for city in range(KINDS):
        if counts[city] != board["red"][city]:
            return False
    return True


@jit
def blue_conserved(board, state):
    counts = scratch(BLUE_KINDS, np.int64)
    count_cards(state["blue"], state["blue_size"], counts)
    for seat in range(board["players"]):
        counts[DELAY] += state["delayed"][seat]
        counts[PARACHUTE] += state["parachute"][seat]
    if delay_is_drawn(state):
        counts[DELAY] += 1
    for kind in range(BLUE_KINDS):
        if counts[kind] + state["blue_discard"][kind] != board["blue"][kind]:
            return False
    return True


@jit
def check_hand(board, state, seat):
    held = 0
    for city in range(1, KINDS):
        held += state["hand"][seat, city]
        for observer in range(board["players"]):
            known = state["known"][seat, city, observer]
            if known > state["hand"][seat, city] or known < state["known"][seat, city, seat]:
                return 4
    if held != state["held"][seat] or held > HAND + 1:
        return 3
    if state["over"] == RUNNING and seat != state["on_turn"] and held != HAND:
        return 3
    if state["pile"][seat] < CITIES and not fitting_holds(board, state, seat):
        return 5
    return 0


@jit
def fitting_holds(board, state, seat):
    """No more cards fit than any observer thinks may do."""
    fits = state["pile"][seat] + 1
    for observer in range(board["players"]):
        if state["hand"][seat, fits] > state["known"][seat, fits, observer] + state["may_fit"][seat, observer]:
            return False
    return True


@jit
def pool_holds(state):
    """No more of a city is in the red pile than any observer, or everybody, thinks there can be."""
    counts = scratch(KINDS, np.int64)
    count_cards(state["red"], state["red_size"], counts)
    for observer in range(SEATS + 1):
        for city in range(1, KINDS):
            if counts[city] > state["pool"][observer, city]:
                return False
    return True
