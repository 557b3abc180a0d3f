"""The rules of aviation. A turn: draw, build, refill and build again, discard, draw blue."""

from __future__ import annotations

import numpy as np

from airenv.core.decks import fill_pack, shuffle, take_top
from airenv.core.engine import ENDED, NOBODY, RUNNING, TRUNCATED
from airenv.core.jit import jit
from airenv.core.random import below, seed_generator
from airenv.games.aviation.knowledge import determinize as determinize
from airenv.games.aviation.knowledge import forget as forget
from airenv.games.aviation.knowledge import (
    know_nothing,
    saw_drawn,
    saw_nothing_fits,
    saw_passed,
    saw_played,
    saw_received,
    saw_renewal,
    saw_taken,
)
from airenv.games.aviation.laws import check as check
from airenv.games.aviation.layout import (
    ACTIONS,
    CITIES,
    DELAY,
    DELAY_FIRST,
    DELAYING,
    DISCARD_FIRST,
    DISCARDING,
    DRAW_DISCARD,
    DRAW_PILE,
    DRAWING,
    FAIR_WEATHER,
    HAND,
    HIGH_SPEED,
    KINDS,
    NO_CARD,
    PARACHUTE,
    PASS_FIRST,
    PASSING,
    SEATS,
    TRANSFER,
)

# -- set-up ----------------------------------------------------------------------------------------


@jit
def new_game(board, state, seed):
    """Shuffle both packs, deal five cards each, turn up the first discard; left of the dealer starts (AV-01)."""
    seed_generator(state["rng"], seed)
    clear(state)
    know_nothing(board, state)
    players = board["players"]
    state["red_size"] = fill_pack(state["red"], board["red"])
    shuffle(state["rng"], state["red"], state["red_size"])
    state["blue_size"] = fill_pack(state["blue"], board["blue"])
    shuffle(state["rng"], state["blue"], state["blue_size"])
    state["dealer"] = below(state["rng"], players)
    for _ in range(HAND):
        for seat in range(players):
            card = take_red(state)
            state["hand"][seat, card] += 1
            state["held"][seat] += 1
    push_discard(state, take_red(state))
    begin_turn(board, state, (state["dealer"] + 1) % players)


@jit
def clear(state):
    """Every field to its start, so that a record of any earlier game can be used again."""
    state["steps"] = 0
    state["turns"] = 0
    state["over"] = RUNNING
    state["winner"] = NOBODY
    state["discard_size"] = 0
    state["blue_top"] = NO_CARD
    state["blue_drawn"] = NO_CARD
    state["red"][:] = 0
    state["discard"][:] = 0
    state["blue"][:] = 0
    state["blue_discard"][:] = 0
    state["spare"][:] = 0
    for seat in range(SEATS):
        state["held"][seat] = 0
        state["pile"][seat] = 0
        state["delayed"][seat] = 0
        state["parachute"][seat] = 0
        state["passing"][seat] = 0
        for city in range(KINDS):
            state["hand"][seat, city] = 0


# -- legality --------------------------------------------------------------------------------------


@jit
def legal_mask(board, state, out):
    for action in range(ACTIONS):  # a constant: a few stores in a row, where out[:] would be a call
        out[action] = 0
    if state["over"] != RUNNING:
        return 0
    phase = state["phase"]
    if phase == DRAWING:
        out[DRAW_PILE] = 1
        if state["discard_size"] == 0:
            return 1
        out[DRAW_DISCARD] = 1
        return 2
    if phase == DISCARDING:
        return mask_hand(state, out, DISCARD_FIRST)
    if phase == PASSING:
        return mask_hand(state, out, PASS_FIRST)
    return mask_victims(board, state, out)


@jit
def mask_hand(state, out, first):
    """One action for each city in the acting player's hand."""
    hand = state["hand"][state["player"]]
    legal = 0
    for city in range(1, KINDS):
        held = np.int8(hand[city] > 0)  # no branch: which cities are held is anybody's guess
        out[first + city - 1] = held
        legal += held
    return legal


@jit
def random_choice(board, state, rng, mask):
    """What a random choice from the mask is, without the mask: random play spends a third of its time on it."""
    phase = state["phase"]
    if phase == DRAWING:
        return below(rng, 2 if state["discard_size"] > 0 else 1)  # DRAW_PILE or DRAW_DISCARD
    if phase == DISCARDING:
        return random_card(state, rng, DISCARD_FIRST)
    if phase == PASSING:
        return random_card(state, rng, PASS_FIRST)
    skip = below(rng, mask_victims(board, state, mask))
    left = 0
    while skip >= 0:
        left += 1
        skip -= can_be_delayed(state, to_the_left(board, state["player"], left))
    return DELAY_FIRST + left - 1


@jit
def random_card(state, rng, first):
    """The action of a random city in the acting player's hand."""
    hand = state["hand"][state["player"]]
    held = 0
    for city in range(1, KINDS):
        held += hand[city] > 0
    skip = below(rng, held)
    city = 0
    while skip >= 0:
        city += 1
        skip -= hand[city] > 0
    return first + city - 1


@jit
def mask_victims(board, state, out):
    """Opponents whose pile is started and not delayed yet (AV-05)."""
    legal = 0
    for left in range(1, board["players"]):
        if can_be_delayed(state, to_the_left(board, state["player"], left)):
            out[DELAY_FIRST + left - 1] = 1
            legal += 1
    return legal


@jit
def can_be_delayed(state, seat):
    return state["pile"][seat] > 0 and state["delayed"][seat] == 0


# -- the turn --------------------------------------------------------------------------------------


@jit
def step(board, state, action):
    state["steps"] += 1
    phase = state["phase"]
    if phase == DRAWING:
        draw(board, state, action)
    elif phase == DISCARDING:
        discard(board, state, action - DISCARD_FIRST + 1)
    elif phase == PASSING:
        choose_to_pass(board, state, action - PASS_FIRST + 1)
    else:
        lay_delay(board, state, action - DELAY_FIRST + 1)


@jit
def begin_turn(board, state, seat):
    """Give the turn to a seat, past those who lose theirs to a parachute (AV-08); it draws first (AV-02, AV-12)."""
    while True:
        if state["turns"] >= board["max_turns"]:
            state["over"] = TRUNCATED
            state["player"] = NOBODY
            return
        state["turns"] += 1
        state["on_turn"] = seat
        if state["parachute"][seat] == 0:
            break
        state["parachute"][seat] = 0
        discard_blue(state, PARACHUTE)
        seat = to_the_left(board, seat, 1)
    state["player"] = seat
    state["phase"] = DRAWING


@jit
def to_the_left(board, seat, places):
    """The seat so many places to the left of another. A remainder would be a division, and turns are many."""
    other = np.int64(seat) + places
    return other if other < board["players"] else other - board["players"]


@jit
def end_turn(board, state):
    begin_turn(board, state, to_the_left(board, state["on_turn"], 1))


@jit
def draw(board, state, action):
    """Take the top of the pile or of the discards; with six in hand, build."""
    seat = state["player"]
    if action == DRAW_DISCARD:
        card = take_discard(state)
        saw_taken(state, seat, card)
    else:
        card = take_red(state)
        saw_drawn(state, seat, card)
        if state["red_size"] == 0:
            renew_red(state)
    state["hand"][seat, card] += 1
    state["held"][seat] += 1
    if state["held"][seat] > HAND:
        build(board, state, seat)


@jit
def build(board, state, seat):
    """Lay every card that fits (AV-03: no decision), then refill; if none does, discard."""
    if state["delayed"][seat]:
        state["phase"] = DISCARDING
        return
    laid = 0
    while state["hand"][seat, state["pile"][seat] + 1] > 0:
        state["pile"][seat] += 1
        remove_from_hand(state, seat, state["pile"][seat])
        laid += 1
        if state["pile"][seat] == CITIES:
            state["over"] = ENDED
            state["winner"] = seat
            state["player"] = NOBODY
            return
    saw_nothing_fits(state, seat)
    state["phase"] = DRAWING if laid > 0 else DISCARDING


@jit
def discard(board, state, card):
    remove_from_hand(state, state["player"], card)
    push_discard(state, card)
    draw_blue(board, state)


@jit
def remove_from_hand(state, seat, card):
    """Take a card out of a hand in the open."""
    state["hand"][seat, card] -= 1
    state["held"][seat] -= 1
    saw_played(state, seat, card)


# -- the blue pack ---------------------------------------------------------------------------------


@jit
def draw_blue(board, state):
    """The last play of a turn: the top blue card, and what it says."""
    if state["blue_size"] == 0:
        state["blue_size"] = fill_pack(state["blue"], state["blue_discard"])
        state["blue_discard"][:] = 0
        state["blue_top"] = NO_CARD
        shuffle(state["rng"], state["blue"], state["blue_size"])
    card = take_blue(state)
    state["blue_drawn"] = card
    seat = state["on_turn"]
    if card == HIGH_SPEED:
        discard_blue(state, HIGH_SPEED)
        begin_turn(board, state, seat)
    elif card == PARACHUTE:
        state["parachute"][seat] = 1
        end_turn(board, state)
    elif card == TRANSFER:
        discard_blue(state, TRANSFER)
        state["phase"] = PASSING
    elif card == DELAY:
        draw_delay(board, state)
    else:
        fair_weather(board, state, seat)


@jit
def take_blue(state):
    card = take_top(state["blue"], state["blue_size"])
    state["blue_size"] -= 1
    return card


@jit
def discard_blue(state, card):
    state["blue_discard"][card] += 1
    state["blue_top"] = card


@jit
def draw_delay(board, state):
    """A delay must be laid if it can be; otherwise it is discarded."""
    for left in range(1, board["players"]):
        if can_be_delayed(state, to_the_left(board, state["on_turn"], left)):
            state["phase"] = DELAYING
            return
    discard_blue(state, DELAY)
    end_turn(board, state)


@jit
def lay_delay(board, state, left):
    state["delayed"][to_the_left(board, state["player"], left)] = 1
    end_turn(board, state)


@jit
def fair_weather(board, state, seat):
    """Lifts the drawer's own delay (AV-07); if a card fits now, the turn goes on from five cards (AV-04)."""
    if state["delayed"][seat]:
        state["delayed"][seat] = 0
        discard_blue(state, DELAY)
        discard_blue(state, FAIR_WEATHER)
        if state["hand"][seat, state["pile"][seat] + 1] > 0:
            build(board, state, seat)
            return
        saw_nothing_fits(state, seat)
    else:
        discard_blue(state, FAIR_WEATHER)
    end_turn(board, state)


# -- transfer mail ---------------------------------------------------------------------------------


@jit
def secret_choice(board, state):
    return state["over"] == RUNNING and state["phase"] == PASSING


@jit
def choose_to_pass(board, state, card):
    """One player's secret choice; after the last one all cards move at once (AV-06)."""
    state["passing"][state["player"]] = card
    state["player"] = to_the_left(board, state["player"], 1)
    if state["player"] == state["on_turn"]:
        transfer(board, state)
        end_turn(board, state)


@jit
def transfer(board, state):
    players = board["players"]
    for seat in range(players):
        card = state["passing"][seat]
        state["hand"][seat, card] -= 1
        saw_passed(state, seat, card, (seat + 1) % players)
    for seat in range(players):
        card = state["passing"][seat]
        left = (seat + 1) % players
        state["hand"][left, card] += 1
        saw_received(state, left, card, seat)
        state["passing"][seat] = 0


# -- the red pack ----------------------------------------------------------------------------------


@jit
def take_red(state):
    card = take_top(state["red"], state["red_size"])
    state["red_size"] -= 1
    return card


@jit
def renew_red(state):
    """When the last card was drawn, the discards become the new pile; its top starts the new ones (AV-09)."""
    size = state["discard_size"]
    for i in range(size):
        state["red"][i] = state["discard"][i]
        state["discard"][i] = 0
    state["red_size"] = size
    state["discard_size"] = 0
    shuffle(state["rng"], state["red"], size)
    push_discard(state, take_red(state))
    saw_renewal(state)


@jit
def push_discard(state, card):
    state["discard"][state["discard_size"]] = card
    state["discard_size"] += 1


@jit
def take_discard(state):
    card = take_top(state["discard"], state["discard_size"])
    state["discard_size"] -= 1
    return card


# -- the end ---------------------------------------------------------------------------------------


@jit
def scores(board, state, out):
    """One winner; the others are not ranked among themselves (AV-10)."""
    for seat in range(board["players"]):
        out[seat] = 1.0 if state["winner"] == seat else 0.0
