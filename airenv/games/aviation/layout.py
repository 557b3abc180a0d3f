"""Constants, records, actions and observation slices of aviation."""

from __future__ import annotations

import numpy as np

SEATS = 4
CITIES = 12  # red cards are numbered 1 (Boston) .. 12 (San Francisco)
KINDS = CITIES + 1  # so that arrays are indexed by the number on the card; 0 is no card
HAND = 5  # cards held between turns; a turn is played with one more
RED_CARDS = 72
BLUE_CARDS = 27

# Blue cards
HIGH_SPEED, PARACHUTE, TRANSFER, DELAY, FAIR_WEATHER = range(5)
BLUE_KINDS = 5
BLUE_NAMES = ("high speed", "parachute", "transfer", "delay", "fair weather")
NO_CARD = -1

# Phases
DRAWING, DISCARDING, PASSING, DELAYING = range(4)
PHASES = 4
PHASE_NAMES = ("draw", "discard", "transfer", "delay")

# Actions, by range
DRAW_PILE = 0
DRAW_DISCARD = 1
DISCARD_FIRST = 2  # + city - 1
PASS_FIRST = DISCARD_FIRST + CITIES  # + city - 1
DELAY_FIRST = PASS_FIRST + CITIES  # + seats to the left - 1
ACTIONS = DELAY_FIRST + SEATS - 1
ACTION_KINDS = {
    "draw from the pile": range(DRAW_PILE, DRAW_PILE + 1),
    "draw a discard": range(DRAW_DISCARD, DRAW_DISCARD + 1),
    "discard": range(DISCARD_FIRST, PASS_FIRST),
    "pass": range(PASS_FIRST, DELAY_FIRST),
    "delay": range(DELAY_FIRST, ACTIONS),
}

BOARD = np.dtype(
    [
        ("players", "i4"),
        ("max_turns", "i4"),  # turns begun, lost and extra ones included, before the game is cut off
        ("red", "i1", KINDS),  # cards of each city in this game's red pack
        ("blue", "i1", BLUE_KINDS),  # cards of each kind in the blue pack
    ],
    align=True,
)

STATE = np.dtype(
    [
        ("rng", "u4", 4),
        ("steps", "i4"),  # decisions made
        ("turns", "i4"),  # turns begun
        ("player", "i1"),  # seat to act, -1 when the game is over
        ("over", "i1"),
        ("phase", "i1"),
        ("on_turn", "i1"),  # seat whose turn it is (others act in its transfers)
        ("dealer", "i1"),
        ("winner", "i1"),  # -1: none (yet)
        ("red_size", "i1"),  # cards in the red drawing pile; red[red_size - 1] is its top
        ("discard_size", "i1"),
        ("blue_size", "i1"),
        ("blue_top", "i1"),  # face-up top of the blue discards, -1: none
        ("blue_drawn", "i1"),  # the blue card drawn last, -1: none yet
        ("red", "i1", RED_CARDS),
        ("discard", "i1", RED_CARDS),
        ("blue", "i1", BLUE_CARDS),
        ("blue_discard", "i1", BLUE_KINDS),  # discarded blue cards of each kind
        ("held", "i1", SEATS),  # cards in each hand
        ("pile", "i1", SEATS),  # highest city on each building pile, 0: not started
        ("delayed", "i1", SEATS),  # a delay card lies on the pile
        ("parachute", "i1", SEATS),  # a parachute lies in front of the player
        ("passing", "i1", SEATS),  # card chosen in a transfer, 0: not yet
        ("hand", "i1", (SEATS, KINDS)),  # cards of each city held
        # What the seats know. In the first two, the entry of a holder about its own hand is what everybody
        # knows; no seat ever knows less.
        ("known", "i1", (SEATS, KINDS, SEATS)),  # [holder, city, observer]: at least so many are in the hand
        ("may_fit", "i1", (SEATS, SEATS)),  # [holder, observer]: at most so many of the others fit the pile
        # [observer, city]: at most so many are in the red pile; the last row is what everybody knows
        ("pool", "i1", (SEATS + 1, KINDS)),
        ("forgotten", "i1"),  # 1: a rollout, in which nobody is asked what they know; it is no longer kept up
        ("spare", "i1", 3),  # always zero; fills the record up to a multiple of four bytes
    ],
    align=True,
)

# Laws that `check` tests, by number.
LAWS = {
    1: "the red cards of each city are conserved",
    2: "the blue cards of each kind are conserved",
    3: "a hand has five cards between turns and at most six in one",
    4: "known cards are really in the hand",
    5: "a hand holds no more cards that fit than it is known it may",
    6: "the red drawing pile is never empty",
    7: "the red pile holds no more of a city than it is known it may",
    8: "the winner, and only a winner, has laid San Francisco",
    9: "what seats know is kept up, but in rollouts, which nobody looks at",
}

# Observation slices, own seat first, then clockwise.
TOP_DISCARDS = 6  # a refill can reach that deep
_sizes = (
    ("phase", PHASES),  # one-hot
    ("acting", 1),  # 1 if it is this seat's move
    ("players", 3),  # one-hot: 2, 3, 4
    ("on_turn", SEATS),  # one-hot
    ("hand", CITIES),  # own cards of each city / 3
    ("next", CITIES),  # one-hot: the city the own pile waits for
    ("pile", SEATS),  # highest city / 12
    ("delayed", SEATS),
    ("parachute", SEATS),
    ("held", SEATS),  # cards in hand / 6
    ("waits", (SEATS - 1) * CITIES),  # one-hot for each opponent: the city its pile waits for
    ("known", (SEATS - 1) * CITIES),  # cards this seat knows an opponent holds
    ("may_fit", SEATS - 1),  # at most so many unknown cards of that hand fit its pile / 6
    ("top", TOP_DISCARDS * CITIES),  # one-hot for each of the top discards, from the top down
    ("discards", CITIES),  # red discards of each city / 6
    ("unseen", CITIES),  # cards of each city this seat has no knowledge of / 6
    ("pool", CITIES),  # of those, at most so many can be in the red pile / 6
    ("blue_unseen", BLUE_KINDS),  # blue cards left in the drawing pile, share of each kind
    ("sizes", 3),  # red pile / 72, red discards / 72, blue pile / 27
    ("chosen", CITIES),  # one-hot: own card chosen in a transfer
    ("has_chosen", SEATS),
    ("turns", 1),  # share of max_turns gone
)
SLICES: dict[str, slice] = {}
_start = 0
for _name, _size in _sizes:
    SLICES[_name] = slice(_start, _start + _size)
    _start += _size
OBSERVATION = _start
