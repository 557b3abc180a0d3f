"""The compiled search: open-loop, single-observer information-set Monte-Carlo tree search.

Every iteration draws a fresh world from what the searching seat knows, walks down the tree by UCB among the
actions that are legal in that world, adds one node, plays on to the end (or values the position there) and
adds each seat's utility to all nodes of the walk: a seat maximises its own (max^n).

The tree branches on what the searching seat gets to see. A node is an action of a mover; no states are stored.
A secret choice leads on to the same node `beyond` whatever was chosen, so that players who choose at the same
time are bandits side by side and nobody answers a choice that cannot be seen; when all have chosen, the walk goes
on below the choice of the searching seat, which knows its own.
"""

from __future__ import annotations

import math

import numpy as np

from agents.forward import likeliest
from airenv.core.engine import MOST_SEATS as SEATS
from airenv.core.engine import RUNNING, determinize, legal_mask, scores, secret_choice, step, suggest, value
from airenv.core.jit import jit
from airenv.core.kernels import WIN, random_action, rewards_of, rollout
from airenv.core.random import next_word
from airenv.core.scratch import scratch

EDGES = 2 * SEATS  # kinds of edges an action can have
ROOT = 0
NONE = -1
PATH = 1024  # a walk ends at this depth, if nothing else ends it
WORDS = 2**32
RANDOM, GREEDY, CUTOFF = 0, 1, 2  # how a walk is played on beyond the tree
TINY = 1e-9

NODE = np.dtype(
    [
        ("first", "i4"),  # its newest child, NONE: no child yet
        ("next", "i4"),  # the child of the same parent that was added before it
        ("beyond", "i4"),  # the node after a secret choice made at this one, NONE: not needed so far
        ("key", "i4"),  # the edge that leads here: action, mover, whether in secret; see `edge`
        ("visits", "i4"),
        ("available", "i4"),  # how often the action was legal when its parent was passed
        ("value", "f8", SEATS),  # each seat's utility, summed over the visits
    ],
    align=True,
)  # 64 bytes: one cache line

TREE = np.dtype(
    [
        ("rng", "u4", 4),  # draws worlds and choices; the worlds have generators of their own
        ("used", "i8"),  # nodes
        ("iterations", "i8"),
        ("decisions", "i8"),  # made in all worlds, in the tree and beyond it
        ("deepest", "i8"),  # the longest walk within the tree
        ("low", "f8"),  # the range of the utilities, by which they are brought to [0, 1]
        ("high", "f8"),
        ("world_seed", "i8"),  # of the one world of this tree, NONE: a fresh world an iteration
    ],
    align=True,
)

SETTINGS = np.dtype(
    [
        ("seat", "i8"),  # who searches
        ("players", "i8"),
        ("reward", "i8"),  # what the game is played for, a mode of airenv.core.kernels
        ("rollout", "i8"),
        ("cutoff", "i8"),  # decisions beyond the tree before the position is valued
        ("random_words", "i8"),  # epsilon * 2**32: below it, a random word means a random action
        ("depth", "i8"),  # decisions within the tree at the most
        ("evenly", "i8"),  # 1: every action of a node in turn, instead of UCB
        ("exploration", "f8"),  # c of UCB
        ("prior", "f8"),  # share of the rule of thumb's move in PUCT, 0: no prior, and UCB; 1 with a network's prior
    ],
    align=True,
)


@jit
def grow(boards, roots, settings, tree, nodes, world, path, mask, iterations):
    """So many more iterations; roots[0] is any world of the searching seat, the other arrays are the tree's own."""
    for _ in range(iterations):
        world[0] = roots[0]
        draw_world(boards[0], world[0], settings[0]["seat"], tree[0])
        length = walk(boards[0], world[0], settings[0], tree[0], nodes, path, mask)
        tree[0]["decisions"] += length + play_on(boards[0], world[0], settings[0], tree[0]["rng"], mask)
        utility = scratch(SEATS, np.float64)
        judge(boards[0], world[0], settings[0], tree[0], utility)
        back_up(nodes, path, length, utility)
        tree[0]["iterations"] += 1
        tree[0]["deepest"] = max(tree[0]["deepest"], length)


@jit
def draw_world(board, world, seat, tree):
    seed = tree["world_seed"]
    if seed == NONE:
        seed = (next_word(tree["rng"]) << 31) ^ next_word(tree["rng"])
    determinize(board, world, seat, seed)


# -- within the tree -------------------------------------------------------------------------------


@jit
def walk(board, world, settings, tree, nodes, path, mask):
    """Go down to a node that was not there before, and note the nodes passed; returns how many they are."""
    place, length = beginning(), 0
    while world["over"] == RUNNING and length < settings["depth"]:
        mover = np.int64(world["player"])
        secret = secret_choice(board, world)
        if secret or place[1] != NONE:  # asked here, as the call alone would be felt
            place = find_node(tree, nodes, place, mover, secret)
        node = place[0]
        if node == NONE:
            break
        used = tree["used"]
        advice = np.int64(suggest(board, world)) if settings["prior"] > 0.0 else np.int64(NONE)
        legal = legal_mask(board, world, mask)
        child = choose(tree, nodes, node, mask, legal, edge(0, mover, secret), advice, None, settings)
        if child == NONE:
            break
        path[length] = child
        length += 1
        step(board, world, action_of(nodes[child]["key"]))
        if tree["used"] > used:
            break
        place = go_down(place, child, secret and mover == settings["seat"])
    return length


@jit
def beginning():
    """The place of a walk at the root: its node, and how it stands with secret choices.

    These are who makes them now (NONE: nobody), the node at which they began to, and where the walk goes on when all
    have chosen (NONE: the searching seat does not choose). Four numbers handed on, which stay in registers.
    """
    return np.int64(ROOT), np.int64(NONE), np.int64(ROOT), np.int64(NONE)


@jit
def find_node(tree, nodes, place, mover, secret):
    """The place at the node of the decision at hand; that node is NONE if the pool is used up."""
    node, turn_of, began, own = place
    if secret and mover != turn_of:
        if turn_of != NONE:
            node = node_beyond(tree, nodes, began)
        return node, mover, node, own
    if not secret and turn_of != NONE:
        node = own if own != NONE else node_beyond(tree, nodes, began)
        return node, np.int64(NONE), began, np.int64(NONE)
    return place


@jit
def go_down(place, child, own_secret):
    """The place at a child; from the searching seat's own secret choice, the walk also goes on when all have chosen."""
    return child, place[1], place[2], child if own_secret else place[3]


@jit
def edge(action, mover, secret):
    """The key of an edge. Worlds differ in whose turn it is: an action of another mover is another edge."""
    return action * EDGES + mover * 2 + secret


@jit
def action_of(key):
    return key // EDGES


@jit
def mover_of(key):
    return key % EDGES // 2


@jit
def choose(tree, nodes, node, mask, legal, zero, advice, shares, settings):
    """The child to go on to, an old or a new one; NONE if there is no room for the new one it should be.

    `zero` is the key of action 0 for the mover. What is preferred is said by `advice`, the action of the rule of
    thumb (NONE: not asked), or by `shares`, a prior for every action (None: not asked). Tried actions are taken
    out of the mask.
    """
    best, most, tried = np.int64(NONE), -np.inf, 0
    mover = mover_of(zero)
    child = np.int64(nodes[node]["first"])
    while child != NONE:
        action = action_of(nodes[child]["key"])
        if nodes[child]["key"] % EDGES == zero and mask[action]:
            mask[action] = 0
            tried += 1
            nodes[child]["available"] += 1
            bonus = eagerness(tree["rng"], zero, settings) * likely(action, advice, shares, legal, settings)
            promise = promise_of(tree, nodes[child], mover, bonus, settings)
            if promise > most:
                best, most = child, promise
        child = np.int64(nodes[child]["next"])
    if tried == legal or tree["used"] == nodes.shape[0]:
        return best
    action = untried(tree["rng"], mask, legal - tried, advice, shares)
    if tried == 0 or settings["prior"] == 0.0:  # without a prior, all are tried once before any is tried again
        return add_child(tree, nodes, node, zero + edge(action, 0, 0))
    bonus = eagerness(tree["rng"], zero, settings) * likely(action, advice, shares, legal, settings)
    if most >= untried_promise(tree, nodes[node], mover, bonus):
        return best
    return add_child(tree, nodes, node, zero + edge(action, 0, 0))


@jit
def untried(rng, mask, left, advice, shares):
    """The action to try next, of those left in the mask: the one preferred, without a preference any."""
    if shares is not None:
        return likeliest(shares, mask)
    if advice == NONE or mask[advice] == 0:
        return np.int64(random_action(rng, mask, left))
    return advice


@jit
def eagerness(rng, zero, settings):
    """How much exploring counts. Bandits side by side would fall into step, so that of secret choices is random."""
    if zero % 2 == 0:
        return settings["exploration"]
    return settings["exploration"] * 2.0 * next_word(rng) / WORDS


@jit
def likely(action, advice, shares, legal, settings):
    """The prior share of an action: the rule of thumb's gets `prior`, and the rest is for all alike; 1 in UCB."""
    if shares is not None:
        return np.float64(shares[action])
    if advice == NONE:
        return 1.0
    rest = (1.0 - settings["prior"]) / legal
    return rest + settings["prior"] if action == advice else rest


@jit
def scaled(tree, value):
    """A utility, brought to [0, 1] by the range of utilities met."""
    span = tree["high"] - tree["low"]
    return (value - tree["low"]) / span if span > 0.0 else 0.5


@jit
def promise_of(tree, child, mover, bonus, settings):
    """How much a child promises its mover: UCB, with a prior PUCT, over the visits when it was available."""
    if settings["evenly"]:
        return -np.float64(child["visits"])
    mean = scaled(tree, child["value"][mover] / child["visits"])
    if settings["prior"] > 0.0:
        return mean + bonus * math.sqrt(child["available"]) / (1.0 + child["visits"])
    return mean + bonus * math.sqrt(math.log(child["available"]) / child["visits"])


@jit
def untried_promise(tree, node, mover, bonus):
    """With a prior, an action not tried yet is taken to be as good as its parent."""
    mean = scaled(tree, node["value"][mover] / node["visits"]) if node["visits"] > 0 else 0.5
    return mean + bonus * math.sqrt(1.0 + node["visits"])


@jit
def add_node(tree, nodes, key):
    node = tree["used"]
    tree["used"] += 1
    nodes[node]["first"] = NONE
    nodes[node]["next"] = NONE
    nodes[node]["beyond"] = NONE
    nodes[node]["key"] = key
    nodes[node]["visits"] = 0
    nodes[node]["available"] = 1
    nodes[node]["value"][:] = 0.0
    return node


@jit
def add_child(tree, nodes, node, key):
    child = add_node(tree, nodes, key)
    nodes[child]["next"] = nodes[node]["first"]
    nodes[node]["first"] = child
    return child


@jit
def node_beyond(tree, nodes, node):
    """The node at which the walk goes on after a secret choice, whatever it was; NONE if there is no room."""
    if nodes[node]["beyond"] == NONE and tree["used"] < nodes.shape[0]:
        nodes[node]["beyond"] = add_node(tree, nodes, NONE)
    return np.int64(nodes[node]["beyond"])


@jit
def back_up(nodes, path, length, utility):
    for depth in range(-1, length):
        node = path[depth] if depth >= 0 else ROOT
        nodes[node]["visits"] += 1
        for seat in range(SEATS):
            nodes[node]["value"][seat] += utility[seat]


# -- beyond the tree -------------------------------------------------------------------------------


@jit
def play_on(board, world, settings, rng, mask):
    """Play to the end or to the cut-off; returns the decisions made."""
    if settings["rollout"] == RANDOM:
        return rollout(board, world, mask, rng)
    decisions = 0
    while world["over"] == RUNNING and decisions < settings["cutoff"]:
        if next_word(rng) < settings["random_words"]:
            legal = legal_mask(board, world, mask)
            action = np.int64(random_action(rng, mask, legal))
        else:
            action = np.int64(suggest(board, world))
        step(board, world, action)
        decisions += 1
    return decisions


@jit
def judge(board, world, settings, tree, utility):
    """What the world came to is worth to each seat; widens the range of utilities where it has no fixed one."""
    players = settings["players"]
    points = scratch(SEATS, np.float64)
    if world["over"] == RUNNING:
        value(board, world, points)
        utility_of_chances(points, players, settings["reward"], utility)
    else:
        scores(board, world, points)
        rewards_of(points, players, settings["reward"], utility)
    for seat in range(players):
        tree["low"] = min(tree["low"], utility[seat])
        tree["high"] = max(tree["high"], utility[seat])


@jit
def utility_of_chances(chances, players, reward, utility):
    """From chances of winning to the reward to be expected; for ranks, by the chances to be before each other."""
    for seat in range(players):
        if reward == WIN:
            utility[seat] = chances[seat]
            continue
        ahead = 0.0
        for other in range(players):
            if other != seat:
                ahead += (chances[seat] - chances[other]) / (chances[seat] + chances[other] + TINY)
        utility[seat] = ahead / max(players - 1, 1)
