"""A rule-of-thumb player, from what its seat knows alone, and a position value."""

from __future__ import annotations

import math

from airenv.core.engine import RUNNING
from airenv.core.jit import jit
from airenv.games.aviation.layout import (
    CITIES,
    DELAY_FIRST,
    DELAYING,
    DISCARD_FIRST,
    DRAW_DISCARD,
    DRAW_PILE,
    DRAWING,
    KINDS,
    PASS_FIRST,
    PASSING,
)
from airenv.games.aviation.rules import can_be_delayed

WANTED_AHEAD = 5  # cities past the own pile that are worth a place in hand
LAST_CITIES = 11  # Denver and San Francisco are scarce: keep the first of each


@jit
def suggest(board, state):
    phase = state["phase"]
    if phase == DRAWING:
        return suggest_draw(state)
    if phase == DELAYING:
        return DELAY_FIRST + suggest_victim(board, state) - 1
    first = PASS_FIRST if phase == PASSING else DISCARD_FIRST
    return first + worst_card(board, state) - 1


@jit
def usefulness(state, seat, city):
    """How much a further card of a city is worth to a hand that holds none of it."""
    ahead = city - state["pile"][seat]
    if ahead <= 0:
        return 0.0
    if ahead <= WANTED_AHEAD:
        return 10.0 - ahead
    return 3.0 if city >= LAST_CITIES else 2.0 - 0.1 * ahead


@jit
def suggest_draw(state):
    """Take the top discard if it is wanted soon and not in hand yet."""
    seat = state["player"]
    if state["discard_size"] > 0:
        top = state["discard"][state["discard_size"] - 1]
        if state["hand"][seat, top] == 0 and usefulness(state, seat, top) >= 10.0 - WANTED_AHEAD:
            return DRAW_DISCARD
    return DRAW_PILE


@jit
def worst_card(board, state):
    """The least useful card: duplicates and laid cities first, not what the left neighbour waits for."""
    seat = state["player"]
    left = (seat + 1) % board["players"]
    worst = 0
    least = 1e9
    for city in range(1, KINDS):
        held = state["hand"][seat, city]
        if held == 0:
            continue
        worth = usefulness(state, seat, city) if held == 1 else 0.5
        if city == state["pile"][left] + 1:
            worth += 2.5
        if worth < least:
            least = worth
            worst = city
    return worst


@jit
def suggest_victim(board, state):
    """The furthest advanced pile, the nearest one of equals."""
    best = 0
    most = -1
    for left in range(1, board["players"]):
        seat = (state["player"] + left) % board["players"]
        if can_be_delayed(state, seat) and state["pile"][seat] > most:
            most = state["pile"][seat]
            best = left
    return best


@jit
def value(board, state, out):
    """Each seat's chance of winning, from what is laid and what is held."""
    players = board["players"]
    if state["over"] != RUNNING:
        for seat in range(players):
            out[seat] = 1.0 / players if state["winner"] < 0 else (1.0 if state["winner"] == seat else 0.0)
        return
    total = 0.0
    for seat in range(players):
        out[seat] = math.exp(strength(state, seat))
        total += out[seat]
    for seat in range(players):
        out[seat] /= total


@jit
def strength(state, seat):
    """The logarithm of a seat's chances, but for what is the same for all.

    A logistic regression on positions of 20,000 games of `greedy:epsilon=0.05` for each number of players,
    rounded: what is laid counts more the nearer the end is, and cards in hand by how soon they fit.
    """
    laid = state["pile"][seat] / CITIES
    found = 1.4 * laid + 2.1 * laid * laid - 0.14 * state["delayed"][seat] - 0.2 * state["parachute"][seat]
    for city in range(state["pile"][seat] + 1, KINDS):
        if state["hand"][seat, city] > 0:
            found += held_worth(city, city - state["pile"][seat])
    return found


@jit
def held_worth(city, ahead):
    """What a city in hand adds, so many places ahead of the pile."""
    worth = 0.2 if city == CITIES else (0.1 if city == LAST_CITIES else 0.0)
    return worth + 0.55 / ahead if ahead <= WANTED_AHEAD else worth
