"""Generic compiled loops over the engine contract.

Public kernels take `(boards, states, i, ...)`, arrays and an index: handing an array over from Python
costs a sixth of handing over a record. None holds the GIL; a range `start .. stop` lets several
threads share a batch.
"""

from __future__ import annotations

import numpy as np

from airenv.core.engine import (
    DEFAULTS,
    MOST_SEATS,
    RUNNING,
    check,
    determinize,
    forget,
    legal_mask,
    new_game,
    observe,
    random_choice,
    scores,
    secret_choice,
    step,
    suggest,
    value,
)
from airenv.core.jit import jit
from airenv.core.random import below, derive_seed, seed_generator
from airenv.core.scratch import scratch

GAME_OVER, ILLEGAL, WAS_OVER = -1, -2, -3  # what apply_one answers instead of the next seat to act
NO_ACTION = -1
RANK, WIN, SCORE, MARGIN = 0, 1, 2, 3  # what a game is played for


# -- one game --------------------------------------------------------------------------------------


@jit
def reset_one(boards, states, i, seed):
    new_game(boards[0], states[i], seed)


@jit
def apply_one(boards, states, i, action, actions):
    """Carry out an action if it is one of the legal ones among so many; returns the next seat to act."""
    if states[i]["over"] != RUNNING:
        return WAS_OVER
    mask = np.empty(actions, np.int8)
    legal_mask(boards[0], states[i], mask)
    if action < 0 or action >= actions or mask[action] == 0:
        return ILLEGAL
    step(boards[0], states[i], action)
    return np.int64(states[i]["player"])


@jit
def legal_one(boards, states, i, actions):
    """Write the list of legal actions; returns how many there are."""
    mask = np.empty(actions.shape[0], np.int8)
    n = legal_mask(boards[0], states[i], mask)
    k = 0
    for action in range(mask.shape[0]):
        if mask[action]:
            actions[k] = action
            k += 1
    return n


@jit
def mask_one(boards, states, i, mask):
    return legal_mask(boards[0], states[i], mask)


@jit
def observe_one(boards, states, i, seat, out, mask):
    """What a seat sees, and its mask: all zero unless it is this seat's move."""
    observe(boards[0], states[i], seat, out)
    if states[i]["player"] == seat:
        legal_mask(boards[0], states[i], mask)
    else:
        mask[:] = 0


@jit
def determinize_one(boards, states, i, seat, seed):
    determinize(boards[0], states[i], seat, seed)


@jit
def scores_one(boards, states, i, out):
    scores(boards[0], states[i], out)


@jit
def check_one(boards, states, i):
    return check(boards[0], states[i])


@jit
def secret_one(boards, states, i):
    return secret_choice(boards[0], states[i])


@jit
def suggest_one(boards, states, i):
    return suggest(boards[0], states[i])


@jit
def value_one(boards, states, i, out):
    value(boards[0], states[i], out)


# -- what a game is worth --------------------------------------------------------------------------


@jit
def rewards_of(points, players, mode, out):
    """Turn final scores into rewards by the chosen mode."""
    for seat in range(players):
        better = 0
        equal = 0
        best_other = -np.inf
        for other in range(players):
            if points[other] > points[seat]:
                better += 1
            elif points[other] == points[seat]:
                equal += 1
            if other != seat and points[other] > best_other:
                best_other = points[other]
        if mode == RANK:
            # tied places share the mean of their utilities, so the sum stays zero
            place = better + (equal - 1) * 0.5
            out[seat] = 1.0 - 2.0 * place / max(players - 1, 1)
        elif mode == WIN:
            out[seat] = 1.0 / equal if better == 0 and equal < players else 0.0
        elif mode == SCORE:
            out[seat] = points[seat]
        else:
            out[seat] = points[seat] - best_other


@jit
def rewards_one(boards, states, i, mode, points, out):
    """The rewards of a finished game, zeros for a running one."""
    if states[i]["over"] == RUNNING:
        out[:] = 0.0
    else:
        scores(boards[0], states[i], points)
        rewards_of(points, out.shape[0], mode, out)


# -- random play -----------------------------------------------------------------------------------

BLOCK = 32
FORGETTING = 20  # one decision in so many makes a copy forget, where that is tried


@jit
def random_action(rng, mask, legal):
    """One of the `legal` actions set in a mask, uniformly: whole blocks are skipped by their sums, then one by one."""
    skip = below(rng, legal)
    first = 0
    while first + BLOCK < mask.shape[0]:
        inside = 0
        for action in range(first, first + BLOCK):
            inside += mask[action]
        if skip < inside:
            break
        skip -= inside
        first += BLOCK
    action = first - 1
    while skip >= 0:
        action += 1
        skip -= mask[action]
    return action


@jit
def choose_by_mask(board, state, rng, mask):
    """What `random_choice` is for a game that has none of its own."""
    return random_action(rng, mask, legal_mask(board, state, mask))


DEFAULTS["random_choice"] = choose_by_mask


@jit
def playout(board, state, mask, rng):
    """Play at random to the end, with every mask; returns the decisions made."""
    decisions = 0
    while state["over"] == RUNNING:
        legal = legal_mask(board, state, mask)
        step(board, state, random_action(rng, mask, legal))
        decisions += 1
    return decisions


@jit
def rollout(board, state, mask, rng):
    """The same game, by the game's own way to choose and without a look at who knows what."""
    forget(board, state)
    decisions = 0
    while state["over"] == RUNNING:
        step(board, state, random_choice(board, state, rng, mask))
        decisions += 1
    return decisions


@jit
def random_playouts(boards, states, i, games, seed, mask, rng):
    """Set up and play `games` random games in the record states[i]; returns the decisions made."""
    decisions = 0
    for game in range(games):
        new_game(boards[0], states[i], derive_seed(seed, 0, game, rng))
        seed_generator(rng, derive_seed(seed, 1, game, rng))
        decisions += playout(boards[0], states[i], mask, rng)
    return decisions


@jit
def first_other_choice(boards, states, i, games, seed, mask, rng):
    """Random games in which both ways to choose are asked; the number of the first step at which they differ, or -1."""
    twin = np.zeros(4, np.uint32)
    for game in range(games):
        new_game(boards[0], states[i], derive_seed(seed, 0, game, rng))
        seed_generator(rng, derive_seed(seed, 1, game, rng))
        while states[i]["over"] == RUNNING:
            twin[:] = rng
            action = random_choice(boards[0], states[i], twin, mask)
            other = choose_by_mask(boards[0], states[i], rng, mask)
            if action != other or twin[3] != rng[3]:
                return states[i]["steps"]
            step(boards[0], states[i], other)
    return -1


@jit
def first_change_by_forgetting(boards, states, i, games, seed, mask, rng):
    """Random games beside copies that forget on the way; the first step after which they are apart, or -1."""
    twins, others = states[i : i + 1].copy(), mask.copy()
    for game in range(games):
        new_game(boards[0], states[i], derive_seed(seed, 0, game, rng))
        twins[0] = states[i]
        seed_generator(rng, derive_seed(seed, 1, game, rng))
        while states[i]["over"] == RUNNING:
            if below(rng, FORGETTING) == 0:
                forget(boards[0], twins[0])
            action = random_action(rng, mask, legal_mask(boards[0], states[i], mask))
            step(boards[0], states[i], action)
            step(boards[0], twins[0], action)
            legal_mask(boards[0], states[i], mask)
            legal_mask(boards[0], twins[0], others)
            if not same_turn(states[i], twins[0]) or not np.array_equal(mask, others):
                return states[i]["steps"]
        if not same_scores(boards[0], states[i], twins[0]):
            return states[i]["steps"]
    return -1


@jit
def same_turn(state, other):
    return state["player"] == other["player"] and state["over"] == other["over"] and state["steps"] == other["steps"]


@jit
def same_scores(board, state, other):
    points, others = scratch(MOST_SEATS, np.float64), scratch(MOST_SEATS, np.float64)
    scores(board, state, points)
    scores(board, other, others)
    return np.array_equal(points, others)


@jit
def checked_playouts(boards, states, i, games, seed, mask, rng):
    """Random games with the laws checked after every step; returns (game, step, broken law) or zeros."""
    for game in range(games):
        new_game(boards[0], states[i], derive_seed(seed, 0, game, rng))
        seed_generator(rng, derive_seed(seed, 1, game, rng))
        while True:
            legal = legal_mask(boards[0], states[i], mask)
            total = 0
            for action in range(mask.shape[0]):
                total += mask[action]
            law = check(boards[0], states[i])
            running = states[i]["over"] == RUNNING
            if law == 0 and (legal != total or running != (legal > 0) or running != (states[i]["player"] >= 0)):
                law = -1
            if law != 0:
                return game, states[i]["steps"], law
            if not running:
                break
            step(boards[0], states[i], random_action(rng, mask, legal))
    return 0, 0, 0


@jit
def random_position(boards, states, i, seed, plies, mask, rng):
    """A game played at random for so many decisions, or to just before its last one."""
    new_game(boards[0], states[i], derive_seed(seed, 0, 0, rng))
    seed_generator(rng, derive_seed(seed, 1, 0, rng))
    for _ in range(plies):
        legal = legal_mask(boards[0], states[i], mask)
        if legal == 0:
            break
        step(boards[0], states[i], random_action(rng, mask, legal))


# -- batches ---------------------------------------------------------------------------------------


@jit
def describe_game(board, state, slot, observations, masks, players):
    """Write what the player to act in a slot sees."""
    player = state["player"]
    players[slot] = player
    observe(board, state, player, observations[slot])
    legal_mask(board, state, masks[slot])


@jit
def reset_batch(boards, states, seed, episodes, observations, masks, players, start, stop):
    """Start the next game in every slot: game number episodes[slot] of that slot's stream."""
    rng = scratch(4, np.uint32)
    for slot in range(start, stop):
        new_game(boards[0], states[slot], derive_seed(seed, slot, episodes[slot], rng))
        describe_game(boards[0], states[slot], slot, observations, masks, players)


@jit
def describe_batch(boards, states, observations, masks, players, start, stop):
    """What the player to act sees in every slot, as after a reset or a step."""
    for slot in range(start, stop):
        describe_game(boards[0], states[slot], slot, observations, masks, players)


@jit
def first_illegal(boards, states, actions, masks, start, stop):
    """The first slot whose action is not legal, or -1; `masks` are the current ones."""
    for slot in range(start, stop):
        action = actions[slot]
        if action < 0 or action >= masks.shape[1] or masks[slot, action] == 0:
            return slot
    return -1


@jit
def step_batch(
    boards,
    states,
    actions,
    seed,
    episodes,
    mode,
    observations,
    masks,
    players,
    rewards,
    over,
    final,
    start,
    stop,
):
    """One decision in every slot; a finished game leaves its record in `final` and the next one starts."""
    rng = scratch(4, np.uint32)
    points = np.empty(rewards.shape[1], np.float64)
    for slot in range(start, stop):
        step(boards[0], states[slot], actions[slot])
        over[slot] = states[slot]["over"]
        if over[slot] != RUNNING:
            scores(boards[0], states[slot], points)
            rewards_of(points, rewards.shape[1], mode, rewards[slot])
            final[slot] = states[slot]
            episodes[slot] += 1
            new_game(boards[0], states[slot], derive_seed(seed, slot, episodes[slot], rng))
        else:
            rewards[slot, :] = 0.0
        describe_game(boards[0], states[slot], slot, observations, masks, players)


@jit
def observe_seats(boards, states, slots, observations):
    """Every seat's observation of the games in `slots`: observations[k, seat]."""
    for k in range(slots.shape[0]):
        for seat in range(observations.shape[1]):
            observe(boards[0], states[slots[k]], seat, observations[k, seat])


@jit
def observe_chosen(boards, states, slots, seats, observations):
    """What one chosen seat of each of some games sees: observations[k] is that of seats[k] in slots[k]."""
    for k in range(slots.shape[0]):
        observe(boards[0], states[slots[k]], seats[k], observations[k])


@jit
def random_actions(masks, rng, actions):
    """A uniformly random legal action for every row of a batch of masks."""
    for slot in range(masks.shape[0]):
        legal = 0
        for action in range(masks.shape[1]):
            legal += masks[slot, action]
        actions[slot] = random_action(rng, masks[slot], legal)


@jit
def suggest_batch(boards, states, actions):
    for slot in range(states.shape[0]):
        actions[slot] = suggest(boards[0], states[slot])
