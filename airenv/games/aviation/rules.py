"""The rules of aviation. A turn: draw, build, refill and build again, discard, draw blue."""

from __future__ import annotations

import numpy as np

from airenv.core.engine import ENDED, NOBODY, RUNNING, TRUNCATED
from airenv.core.jit import jit
from airenv.core.random import below, fill_pack, seed_generator, shuffle
from airenv.games.aviation.layout import (
    BLUE_KINDS,
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
    RED_CARDS,
    SEATS,
    TRANSFER,
)

# -- set-up ----------------------------------------------------------------------------------------


@jit
def new_game(board, state, seed):
    """Shuffle both packs, deal five cards each, turn up the first discard; left of the dealer starts."""
    seed_generator(state["rng"], seed)
    clear(state)
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
        state["lacks"][seat] = 0
        for city in range(KINDS):
            state["hand"][seat, city] = 0
            for observer in range(SEATS):
                state["known"][seat, city, observer] = 0


# -- legality --------------------------------------------------------------------------------------


@jit
def legal_mask(board, state, out):
    out[:] = 0
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
def mask_victims(board, state, out):
    """Opponents whose pile is started and not delayed yet (AV-05)."""
    legal = 0
    for left in range(1, board["players"]):
        if can_be_delayed(state, (state["player"] + left) % board["players"]):
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
    """Give the turn to a seat, past those who lose theirs to a parachute."""
    players = board["players"]
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
        seat = (seat + 1) % players
    state["player"] = seat
    state["phase"] = DRAWING


@jit
def end_turn(board, state):
    begin_turn(board, state, (state["on_turn"] + 1) % board["players"])


@jit
def draw(board, state, action):
    """Take the top of the pile or of the discards; with six in hand, build."""
    seat = state["player"]
    if action == DRAW_DISCARD:
        card = take_discard(state)
        for observer in range(SEATS):
            state["known"][seat, card, observer] += 1
    else:
        card = take_red(state)
        state["lacks"][seat] = 0
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
        state["lacks"][seat] = 0
        laid += 1
        if state["pile"][seat] == CITIES:
            state["over"] = ENDED
            state["winner"] = seat
            state["player"] = NOBODY
            return
    if laid > 0:
        state["phase"] = DRAWING
    else:
        state["lacks"][seat] = 1
        state["phase"] = DISCARDING


@jit
def discard(board, state, card):
    remove_from_hand(state, state["player"], card)
    push_discard(state, card)
    draw_blue(board, state)


@jit
def remove_from_hand(state, seat, card):
    """Take a card out of a hand in the open: whoever knew of one such card there, no longer does."""
    state["hand"][seat, card] -= 1
    state["held"][seat] -= 1
    for observer in range(SEATS):
        if state["known"][seat, card, observer] > 0:
            state["known"][seat, card, observer] -= 1


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
    state["blue_size"] -= 1
    card = state["blue"][state["blue_size"]]
    state["blue"][state["blue_size"]] = 0
    return card


@jit
def discard_blue(state, card):
    state["blue_discard"][card] += 1
    state["blue_top"] = card


@jit
def draw_delay(board, state):
    """A delay must be laid if it can be; otherwise it is discarded."""
    for left in range(1, board["players"]):
        if can_be_delayed(state, (state["on_turn"] + left) % board["players"]):
            state["phase"] = DELAYING
            return
    discard_blue(state, DELAY)
    end_turn(board, state)


@jit
def delay_is_drawn(state):
    """A delay card is on its way from the blue pile to a building pile."""
    return state["over"] == RUNNING and state["phase"] == DELAYING


@jit
def lay_delay(board, state, left):
    state["delayed"][(state["player"] + left) % board["players"]] = 1
    end_turn(board, state)


@jit
def fair_weather(board, state, seat):
    """Lifts the drawer's own delay; if a card fits now, the turn goes on from five cards."""
    if state["delayed"][seat]:
        state["delayed"][seat] = 0
        discard_blue(state, DELAY)
        discard_blue(state, FAIR_WEATHER)
        if state["hand"][seat, state["pile"][seat] + 1] > 0:
            build(board, state, seat)
            return
        state["lacks"][seat] = 1
    else:
        discard_blue(state, FAIR_WEATHER)
    end_turn(board, state)


# -- transfer mail ---------------------------------------------------------------------------------


@jit
def choose_to_pass(board, state, card):
    """One player's secret choice; after the last one all cards move at once."""
    state["passing"][state["player"]] = card
    state["player"] = (state["player"] + 1) % board["players"]
    if state["player"] == state["on_turn"]:
        transfer(board, state)
        end_turn(board, state)


@jit
def transfer(board, state):
    players = board["players"]
    for seat in range(players):
        card = state["passing"][seat]
        state["hand"][seat, card] -= 1
        state["lacks"][seat] = 0
        forget_passed(state, seat, card, (seat + 1) % players)
    for seat in range(players):
        card = state["passing"][seat]
        left = (seat + 1) % players
        state["hand"][left, card] += 1
        state["known"][left, card, seat] += 1
        state["passing"][seat] = 0


@jit
def forget_passed(state, seat, card, receiver):
    """Which card left is a secret: to all but its receiver it may have been any known one."""
    for city in range(1, KINDS):
        for observer in range(SEATS):
            if state["known"][seat, city, observer] > 0 and (observer != receiver or city == card):
                state["known"][seat, city, observer] -= 1


# -- the red pack ----------------------------------------------------------------------------------


# Places above a pile's top are kept at zero: two games that differ in nothing but what is hidden must
# not be told apart by cards long gone.


@jit
def take_red_top(state):
    state["red_size"] -= 1
    card = state["red"][state["red_size"]]
    state["red"][state["red_size"]] = 0
    return card


@jit
def take_red(state):
    """The top card of the red pile; when it was the last, the discards become the new pile."""
    card = take_red_top(state)
    if state["red_size"] == 0:
        renew_red(state)
    return card


@jit
def renew_red(state):
    """Shuffle the discards into a new pile; its top card starts the new discards (AV-09)."""
    size = state["discard_size"]
    for i in range(size):
        state["red"][i] = state["discard"][i]
        state["discard"][i] = 0
    state["red_size"] = size
    state["discard_size"] = 0
    shuffle(state["rng"], state["red"], size)
    push_discard(state, take_red_top(state))


@jit
def push_discard(state, card):
    state["discard"][state["discard_size"]] = card
    state["discard_size"] += 1


@jit
def take_discard(state):
    state["discard_size"] -= 1
    card = state["discard"][state["discard_size"]]
    state["discard"][state["discard_size"]] = 0
    return card


# -- what a seat cannot know -----------------------------------------------------------------------


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
def determinize(board, state, seat, seed):
    """Deal all cards the seat has not seen anew, uniformly among the deals it must hold possible."""
    rng = state["rng"]
    seed_generator(rng, seed)
    counts = np.zeros(KINDS, np.int64)
    count_unseen(board, state, seat, counts)
    unseen = np.empty(RED_CARDS, np.int8)
    size = fill_pack(unseen, counts)
    while not deal_fits(board, state, seat, unseen, size):
        pass  # a deal against what everybody knows; the true one is possible, so this ends
    deal(board, state, seat, unseen, size)
    redraw_blue(board, state)
    redraw_choices(board, state, seat)


@jit
def deal_fits(board, state, seat, unseen, size):
    """Shuffle the cards for the other hands to the front; stop at the first one that cannot be there."""
    k = 0
    for other in range(board["players"]):
        if other == seat:
            continue
        banned = state["pile"][other] + 1 if state["lacks"][other] else 0
        for _ in range(unknown_cards(state, seat, other)):
            j = k + below(state["rng"], size - k)
            card = unseen[j]
            unseen[j] = unseen[k]
            unseen[k] = card
            if card == banned:
                return False
            k += 1
    return True


@jit
def unknown_cards(state, seat, other):
    """Cards in another's hand the seat has no knowledge of."""
    unknown = np.int64(state["held"][other])
    for city in range(1, KINDS):
        unknown -= state["known"][other, city, seat]
    return unknown


@jit
def deal(board, state, seat, unseen, size):
    """Hand out the shuffled cards; the rest, shuffled too, is the red pile."""
    k = 0
    for other in range(board["players"]):
        if other == seat:
            continue
        unknown = unknown_cards(state, seat, other)
        for city in range(1, KINDS):
            state["hand"][other, city] = state["known"][other, city, seat]
        for _ in range(unknown):
            state["hand"][other, unseen[k]] += 1
            k += 1
    for i in range(k, size):
        state["red"][i - k] = unseen[i]
    shuffle(state["rng"], state["red"], size - k)
    forget_others_secrets(board, state, seat)


@jit
def forget_others_secrets(board, state, seat):
    """What others know of each other beyond what everybody does, the seat cannot know."""
    for holder in range(board["players"]):
        if holder == seat:
            continue  # who knows what of the own hand follows from what was passed to and from the seat
        for observer in range(board["players"]):
            if observer != seat:
                for city in range(1, KINDS):
                    state["known"][holder, city, observer] = state["known"][holder, city, holder]


@jit
def redraw_blue(board, state):
    """The blue pile is what is neither discarded nor on the table, in any order."""
    counts = np.zeros(BLUE_KINDS, np.int64)
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


# -- the end ---------------------------------------------------------------------------------------


@jit
def scores(board, state, out):
    """One winner; the others are not ranked among themselves."""
    for seat in range(board["players"]):
        out[seat] = 1.0 if state["winner"] == seat else 0.0


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
            return 7
    return 0


@jit
def red_conserved(board, state):
    counts = np.zeros(KINDS, np.int64)
    for i in range(state["red_size"]):
        counts[state["red"][i]] += 1
    for i in range(state["discard_size"]):
        counts[state["discard"][i]] += 1
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
    counts = np.zeros(BLUE_KINDS, np.int64)
    for i in range(state["blue_size"]):
        counts[state["blue"][i]] += 1
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
    fits = state["pile"][seat] + 1
    if state["lacks"][seat] and state["hand"][seat, fits] > state["known"][seat, fits, seat]:
        return 5
    return 0
