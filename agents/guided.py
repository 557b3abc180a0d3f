"""The same search guided by a network, for many games at once: no rollouts, and leaves batched over the games.

Every row is a search of its own, with its own tree, world and random numbers. A row walks on until it has to ask
the network something: the policy at a node on its way (the prior, as the mover sees the world of this iteration),
or the value of a new leaf as each of the seats sees it. The questions of all rows are answered together, then all
walk on. A row does not depend on the others: alone it finds the same, to the bit.
"""

from __future__ import annotations

import numpy as np

from agents.forward import HEADS, linear, masked_softmax, through_trunk
from agents.tree import (
    NONE,
    ROOT,
    action_of,
    back_up,
    beginning,
    choose,
    draw_world,
    edge,
    find_node,
    go_down,
    judge,
    mover_of,
)
from airenv.core.engine import MOST_SEATS as SEATS
from airenv.core.engine import RUNNING, legal_mask, observe, secret_choice, step
from airenv.core.jit import jit
from airenv.core.kernels import RANK, WIN
from airenv.core.random import seed_generator
from airenv.core.scratch import scratch

# What comes next in a row; with ASK_PRIOR and ASK_VALUES it waits for an answer.
BEGIN, LOOK, ASK_PRIOR, CHOOSE, LEAF, ASK_VALUES = 0, 1, 2, 3, 4, 5

ROW = np.dtype(
    [
        ("stage", "i8"),
        ("left", "i8"),  # simulations to be made
        ("node", "i8"),  # the place of the walk of this iteration, as `tree.beginning` explains it
        ("turn_of", "i8"),
        ("began", "i8"),
        ("own", "i8"),
        ("first", "i8"),  # the place of its questions in the batch
        ("legal", "i8"),  # actions at the node where it waits for a prior
        ("length", "i8"),  # nodes passed in this iteration
        ("depth", "i8"),  # decisions made in this iteration
        ("rooted", "i8"),  # 1: the prior of the root is known, which is the same in every iteration
    ],
    align=True,
)


@jit
def search_rows(
    boards,
    numbers,
    shapes,
    roots,
    settings,
    rows,
    trees,
    nodes,
    worlds,
    paths,
    masks,
    shares,
    root_shares,
    noise,
    questions,
    observations,
    hidden,
    found,
    logits,
    values,
):
    """Make the simulations left in every row; roots[row] is any world of that row's searching seat."""
    while True:
        count = np.int64(0)  # of one type throughout: a plain 0 would have `advance` compiled twice
        for r in range(rows.shape[0]):
            count = advance(
                boards[0],
                roots[r],
                settings[r],
                rows[r],
                trees[r],
                nodes[r],
                worlds,
                r,
                paths[r],
                masks[r],
                shares[r],
                root_shares[r],
                noise[r],
                questions,
                observations,
                logits,
                values,
                count,
            )
        if count == 0:
            return
        answer(numbers, shapes, questions[:count], observations, hidden, found, logits, values)


@jit
def advance(
    board,
    root,
    settings,
    row,
    tree,
    nodes,
    worlds,
    r,
    path,
    mask,
    shares,
    root_shares,
    noise,
    questions,
    observations,
    logits,
    values,
    count,
):
    """Go on with a row until it asks or is done; `count` questions were asked by rows before. Returns the new count."""
    stage = row["stage"]
    utility = scratch(SEATS, np.float64)
    if stage == ASK_PRIOR:
        read_prior(row, mask, shares, root_shares, noise, logits[row["first"]])
        stage = CHOOSE
    elif stage == ASK_VALUES:
        read_values(settings, tree, values, row["first"], utility)
        stage = finish(row, tree, nodes, path, utility)
    while True:
        if stage == BEGIN:
            if row["left"] == 0:
                break
            worlds[r] = root
            stage = begin(board, worlds[r], settings, row, tree)
        if stage == LOOK:
            stage = look(board, worlds[r], settings, row, tree, nodes, path, mask, shares)
        if stage == ASK_PRIOR:
            break
        if stage == CHOOSE:
            at_root = row["node"] == ROOT and row["rooted"]
            stage = take(board, worlds[r], settings, row, tree, nodes, path, mask, root_shares if at_root else shares)
        if stage == LEAF and worlds[r]["over"] == RUNNING:
            stage = ASK_VALUES
            break
        if stage == LEAF:
            judge(board, worlds[r], settings, tree, utility)
            stage = finish(row, tree, nodes, path, utility)
    row["stage"] = stage
    return ask(board, worlds[r], row, settings["players"], questions, observations, count)


# -- one iteration ---------------------------------------------------------------------------------


@jit
def begin(board, world, settings, row, tree):
    draw_world(board, world, settings["seat"], tree)
    keep_place(row, beginning())
    row["length"] = 0
    row["depth"] = 0
    return LOOK


@jit
def look(board, world, settings, row, tree, nodes, path, mask, shares):
    """Find the node of the decision at hand, and whether its prior has to be asked for."""
    if world["over"] != RUNNING or row["length"] + 2 > path.shape[0]:
        return LEAF
    mover = np.int64(world["player"])
    keep_place(row, find_node(tree, nodes, place_of(row), mover, secret_choice(board, world)))
    node = row["node"]
    if node == NONE:
        return LEAF
    if node != ROOT and nodes[node]["key"] == NONE:  # beyond a secret choice: its visits and mean are asked for too
        note(row, path, node)
    row["legal"] = legal_mask(board, world, mask)
    if node == ROOT and row["rooted"]:
        return CHOOSE
    if row["legal"] == 1:
        shares[:] = 1.0
        return CHOOSE
    return ASK_PRIOR


@jit
def take(board, world, settings, row, tree, nodes, path, mask, shares):
    """Go on to a child by what the policy and the visits so far say of it."""
    mover = np.int64(world["player"])
    secret = secret_choice(board, world)
    used = tree["used"]
    child = choose(tree, nodes, row["node"], mask, row["legal"], edge(0, mover, secret), NONE, shares, settings)
    if child == NONE:
        return LEAF
    note(row, path, child)
    step(board, world, action_of(nodes[child]["key"]))
    row["depth"] += 1
    tree["decisions"] += 1
    if tree["used"] > used:
        return LEAF
    keep_place(row, go_down(place_of(row), child, secret and mover == settings["seat"]))
    return LOOK


@jit
def place_of(row):
    return np.int64(row["node"]), np.int64(row["turn_of"]), np.int64(row["began"]), np.int64(row["own"])


@jit
def keep_place(row, place):
    row["node"], row["turn_of"], row["began"], row["own"] = place


@jit
def note(row, path, node):
    path[row["length"]] = node
    row["length"] += 1


@jit
def finish(row, tree, nodes, path, utility):
    back_up(nodes, path, row["length"], utility)
    tree["iterations"] += 1
    tree["deepest"] = max(tree["deepest"], row["depth"])
    row["left"] -= 1
    return BEGIN


# -- questions and answers -------------------------------------------------------------------------


@jit
def ask(board, world, row, players, questions, observations, count):
    """Put a row's questions, if it has any: one for a prior, as the mover sees the world, one a seat for values."""
    if row["stage"] == BEGIN:
        return count
    row["first"] = count
    first, last = 0, players
    if row["stage"] == ASK_PRIOR:
        first, last = np.int64(world["player"]), np.int64(world["player"]) + 1
    for seat in range(first, last):
        observe(board, world, seat, observations[count])
        questions[count] = row["stage"]
        count += 1
    return count


@jit
def read_prior(row, mask, shares, root_shares, noise, logits):
    """The policy over the legal actions; that of the root is kept, mixed with noise if there is any."""
    masked_softmax(logits, mask, shares)
    if row["node"] == ROOT:
        row["rooted"] = 1
        weight = noise[noise.shape[0] - 1]
        for action in range(mask.shape[0]):
            root_shares[action] = (1.0 - weight) * shares[action] + weight * noise[action]


@jit
def read_values(settings, tree, values, first, utility):
    """Each seat's value as it sees the leaf, within the range of the reward if that is known beforehand."""
    bounded = settings["reward"] == RANK or settings["reward"] == WIN
    for seat in range(settings["players"]):
        utility[seat] = values[first + seat]
        if bounded:
            utility[seat] = min(max(utility[seat], tree["low"]), tree["high"])
        else:
            tree["low"] = min(tree["low"], utility[seat])
            tree["high"] = max(tree["high"], utility[seat])


@jit
def answer(numbers, shapes, questions, observations, hidden, found, logits, values):
    """The network's answers: logits where a prior was asked for, else a value; `hidden` and `found` are scratch."""
    head = shapes[shapes.shape[0] - HEADS]  # the policy's
    for slot in range(questions.shape[0]):
        seen, policy = through_trunk(numbers, shapes, observations[slot], hidden, found)
        if questions[slot] == ASK_PRIOR:
            linear(numbers, policy, seen, logits[slot], found)
        else:
            linear(numbers, policy + (head[0] + 1) * head[1], seen, values[slot : slot + 1], found)


# -- before and after ------------------------------------------------------------------------------


@jit
def start_trees(trees, nodes, seeds, low, high):
    """Empty trees, each with the random numbers of its seed."""
    for r in range(trees.shape[0]):
        seed_generator(trees[r]["rng"], seeds[r])
        trees[r]["used"] = 1
        trees[r]["low"] = low
        trees[r]["high"] = high
        trees[r]["world_seed"] = NONE
        nodes[r, ROOT]["first"] = NONE
        nodes[r, ROOT]["next"] = NONE
        nodes[r, ROOT]["beyond"] = NONE
        nodes[r, ROOT]["key"] = NONE
        nodes[r, ROOT]["visits"] = 0
        nodes[r, ROOT]["available"] = 1
        nodes[r, ROOT]["value"][:] = 0.0


@jit
def read_roots(settings, nodes, visits, means):
    """How often each action of the searching seat was tried, and each seat's mean reward over all of it."""
    visits[:] = 0
    for r in range(visits.shape[0]):
        root = nodes[r, ROOT]
        for seat in range(means.shape[1]):
            means[r, seat] = root["value"][seat] / max(root["visits"], 1)
        child = np.int64(root["first"])
        while child != NONE:
            key = nodes[r, child]["key"]
            if mover_of(key) == settings[r]["seat"]:
                visits[r, action_of(key)] += nodes[r, child]["visits"]
            child = np.int64(nodes[r, child]["next"])


@jit
def count_legal(boards, states, masks, legal):
    for r in range(states.shape[0]):
        legal[r] = legal_mask(boards[0], states[r], masks[r])
