"""What seats know of hidden cards by watching, and worlds drawn from it.

Everything kept here is sound: what is said to be known is so in the true game. It is not every deduction
one could make; which ones it is, the README says (AV-11).
"""

from __future__ import annotations

import numpy as np

from airenv.core.decks import bring_random, count_cards, fill_pack, shuffle
from airenv.core.engine import RUNNING
from airenv.core.jit import jit
from airenv.core.random import below, seed_generator
from airenv.core.scratch import scratch
from airenv.games.aviation.layout import (
    BLUE_KINDS,
    DELAY,
    DELAYING,
    HAND,
    KINDS,
    PARACHUTE,
    RED_CARDS,
    SEATS,
)

ANY = HAND + 1  # may_fit of a hand nothing is known of
EVERYBODY = SEATS  # the row of `pool` that holds what everybody knows

# -- watching the game -------------------------------------------------------------------------------


@jit
def know_nothing(board, state):
    state["forgotten"] = 0
    for holder in range(SEATS):
        for observer in range(SEATS):
            state["may_fit"][holder, observer] = ANY
            for city in range(KINDS):
                state["known"][holder, city, observer] = 0
    for observer in range(SEATS + 1):
        for city in range(KINDS):
            state["pool"][observer, city] = board["red"][city]


@jit
def forget(board, state):
    """In a rollout, nobody is asked what they know: a quarter of random play's time goes into keeping it up."""
    state["forgotten"] = 1


@jit
def saw_taken(state, seat, card):
    """A card was taken from the discards."""
    if state["forgotten"]:
        return
    for observer in range(SEATS):
        state["known"][seat, card, observer] += 1


@jit
def saw_drawn(state, seat, card):
    """A card was drawn from the pile: it may fit, and only its owner knows what the pile has less of."""
    if state["forgotten"]:
        return
    for observer in range(SEATS):
        state["may_fit"][seat, observer] = min(state["may_fit"][seat, observer] + 1, ANY)
    state["pool"][seat, card] -= 1


@jit
def saw_nothing_fits(state, seat):
    """Who has to lay every card that fits and stops, holds none."""
    if state["forgotten"]:
        return
    for observer in range(SEATS):
        state["may_fit"][seat, observer] = 0


@jit
def saw_played(state, seat, card):
    """A card left a hand in the open: it may have been the known one."""
    if state["forgotten"]:
        return
    fits = card == state["pile"][seat] + 1
    for observer in range(SEATS):  # no branches: what is known is anybody's guess
        known = np.int8(state["known"][seat, card, observer] > 0)
        state["known"][seat, card, observer] -= known
        state["may_fit"][seat, observer] -= np.int8(fits) & (1 - known) & np.int8(state["may_fit"][seat, observer] > 0)


@jit
def saw_passed(state, seat, card, receiver):
    """A card left a hand in secret: only its receiver knows that it was none of the others."""
    if state["forgotten"]:
        return
    fits = state["pile"][seat] + 1
    for observer in range(SEATS):
        if observer == receiver:
            if state["known"][seat, card, observer] > 0:
                state["known"][seat, card, observer] -= 1
            elif card == fits and state["may_fit"][seat, observer] > 0:
                state["may_fit"][seat, observer] -= 1
            continue
        if state["known"][seat, fits, observer] > 0:  # it may still be there, and is no longer known to be
            state["may_fit"][seat, observer] = min(state["may_fit"][seat, observer] + 1, ANY)
        for city in range(1, KINDS):
            if state["known"][seat, city, observer] > 0:
                state["known"][seat, city, observer] -= 1


@jit
def saw_received(state, seat, card, sender):
    """A card came into a hand in secret: its sender knows it, to all others it may fit."""
    if state["forgotten"]:
        return
    for observer in range(SEATS):
        if observer == sender:
            state["known"][seat, card, observer] += 1
        else:
            state["may_fit"][seat, observer] = min(state["may_fit"][seat, observer] + 1, ANY)


@jit
def saw_renewal(state):
    """The new red pile is the discards everybody saw, so every other unseen card is in a hand."""
    if state["forgotten"]:
        return
    for observer in range(SEATS + 1):
        for city in range(KINDS):
            state["pool"][observer, city] = 0
        count_cards(state["red"], state["red_size"], state["pool"][observer])


# -- what is left unknown ----------------------------------------------------------------------------


@jit
def count_unseen(board, state, seat, out):
    """Cards of each city a seat has no knowledge of; returns how many in all."""
    total = 0
    for city in range(1, KINDS):
        out[city] = board["red"][city] - state["hand"][seat, city]
        for other in range(board["players"]):
            if state["pile"][other] >= city:
                out[city] -= 1
            if other != seat:
                out[city] -= state["known"][other, city, seat]
    for i in range(state["discard_size"]):
        out[state["discard"][i]] -= 1
    for city in range(1, KINDS):
        total += out[city]
    return total


@jit
def count_drawable(state, seat, unseen, out):
    """Of the unseen cards of each city, how many can be in the red pile."""
    for city in range(1, KINDS):
        out[city] = min(unseen[city], np.int64(state["pool"][seat, city]))


@jit
def unknown_cards(state, seat, other):
    """Cards in another's hand the seat has no knowledge of."""
    unknown = np.int64(state["held"][other])
    for city in range(1, KINDS):
        unknown -= state["known"][other, city, seat]
    return unknown


@jit
def delay_is_drawn(state):
    """A delay card is on its way from the blue pile to a building pile."""
    return state["over"] == RUNNING and state["phase"] == DELAYING


# -- possible worlds ---------------------------------------------------------------------------------


@jit
def determinize(board, state, seat, seed):
    """Deal all cards the seat has not seen anew, evenly among the deals that fit what it knows."""
    rng = state["rng"]
    seed_generator(rng, seed)
    unseen = scratch(KINDS, np.int64)
    count_unseen(board, state, seat, unseen)
    drawable = scratch(KINDS, np.int64)
    count_drawable(state, seat, unseen, drawable)
    pile = scratch(RED_CARDS, np.int8)
    size = fill_pack(pile, drawable)
    drawn = size - state["red_size"]  # so many of the cards that could be in the pile are in hands
    hidden = scratch(RED_CARDS, np.int8)
    while True:  # the true deal fits, so this ends
        for k in range(drawn):
            bring_random(rng, pile, k, size)
        total = gather_hidden(unseen, drawable, pile, drawn, hidden)
        if deal_fits(board, state, seat, hidden, total):
            break
    deal_hands(board, state, seat, hidden)
    for i in range(drawn, size):
        state["red"][i - drawn] = pile[i]
    shuffle(rng, state["red"], size - drawn)
    forget_others_secrets(board, state, seat)
    redraw_blue(board, state)
    redraw_choices(board, state, seat)


@jit
def gather_hidden(unseen, drawable, pile, drawn, hidden):
    """The cards in the other hands: those that cannot be in the pile, and those picked out of it."""
    total = 0
    for city in range(1, KINDS):
        for _ in range(unseen[city] - drawable[city]):
            hidden[total] = city
            total += 1
    for k in range(drawn):
        hidden[total] = pile[k]
        total += 1
    return total


@jit
def deal_fits(board, state, seat, hidden, total):
    """Shuffle the hidden cards, hand after hand; stop when one holds more that fit than it may."""
    first = 0
    for other in range(board["players"]):
        if other == seat:
            continue
        fits = state["pile"][other] + 1
        left = np.int64(state["may_fit"][other, seat])
        for k in range(first, first + unknown_cards(state, seat, other)):
            if bring_random(state["rng"], hidden, k, total) == fits:
                left -= 1
                if left < 0:
                    return False
        first += unknown_cards(state, seat, other)
    return True


@jit
def deal_hands(board, state, seat, hidden):
    """Hand out the shuffled cards, to those known to be there."""
    k = 0
    for other in range(board["players"]):
        if other == seat:
            continue
        unknown = unknown_cards(state, seat, other)
        for city in range(1, KINDS):
            state["hand"][other, city] = state["known"][other, city, seat]
        for _ in range(unknown):
            state["hand"][other, hidden[k]] += 1
            k += 1


@jit
def forget_others_secrets(board, state, seat):
    """What others know beyond what everybody does, the seat cannot know."""
    for observer in range(board["players"]):
        if observer == seat:
            continue
        for city in range(1, KINDS):
            state["pool"][observer, city] = state["pool"][EVERYBODY, city]
        for holder in range(board["players"]):
            if holder == seat:
                continue  # who knows what of the own hand follows from what was passed to and from the seat
            state["may_fit"][holder, observer] = state["may_fit"][holder, holder]
            for city in range(1, KINDS):
                state["known"][holder, city, observer] = state["known"][holder, city, holder]


@jit
def redraw_blue(board, state):
    """The blue pile is what is neither discarded nor on the table, in any order."""
    counts = scratch(BLUE_KINDS, np.int64)
    for kind in range(BLUE_KINDS):
        counts[kind] = board["blue"][kind] - state["blue_discard"][kind]
    for seat in range(board["players"]):
        counts[DELAY] -= state["delayed"][seat]
        counts[PARACHUTE] -= state["parachute"][seat]
    if delay_is_drawn(state):
        counts[DELAY] -= 1
    size = fill_pack(state["blue"], counts)
    shuffle(state["rng"], state["blue"], size)


@jit
def redraw_choices(board, state, seat):
    """Cards others have already chosen in a transfer could be any of their new hands."""
    for other in range(board["players"]):
        if other == seat or state["passing"][other] == 0:
            continue
        skip = below(state["rng"], np.int64(state["held"][other]))
        for city in range(1, KINDS):
            skip -= state["hand"][other, city]
            if skip < 0:
                state["passing"][other] = city
                break
