"""One search: trees, threads and a budget, and what came of it.

A search grows a fixed number of trees, each with its own random numbers, and adds up what they found. Threads
only share the work out, so the same seed and the same number of simulations find the same move with any number
of them. Work is done in pieces of a few milliseconds, between which the clock and `stop` are looked at.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from agents import tree as trees
from agents.tree import NODE, NONE, PATH, ROOT, SETTINGS, TREE, action_of, edge, mover_of
from airenv.byhand import REWARDS
from airenv.core.engine import MOST_SEATS as SEATS
from airenv.core.errors import BadOption
from airenv.core.random import seed_generator
from airenv.seat import Seat

ROLLOUTS = {"random": trees.RANDOM, "greedy": trees.GREEDY, "cutoff": trees.CUTOFF}
# Rewards that follow from a chance of winning, with their range; others have whatever range is met.
RANGES = {"rank": (-1.0, 1.0), "win": (0.0, 1.0)}
PIECE = 0.003  # seconds of work between two looks at the clock
FIRST_PIECE, LARGEST_PIECE = 8, 1 << 16  # iterations
NO_LIMIT = 2**31 - 1


@dataclass(frozen=True)
class Settings:
    """How to search. `trees` and the rest decide what is found; threads and time only how fast and how much."""

    exploration: float = 0.7
    prior: float = 0.0  # how much the rule of thumb's move is preferred within the tree
    rollout: str = "random"
    epsilon: float = 0.1  # of the moves of a greedy or cut-off rollout, so many are random
    depth: int = 20  # decisions before a cut-off rollout is valued
    trees: int = 1
    nodes: int = 1_000_000  # of all trees together
    no_tree: bool = False  # flat: the moves at hand in turn, and nothing below them
    one_world: bool = False  # a tree for each world, instead of a world for each iteration


@dataclass(frozen=True)
class Move:
    """What the search found of a legal action."""

    action: int
    visits: int
    available: int
    values: tuple[float, ...]  # the mean reward of each seat


@dataclass(frozen=True)
class Finding:
    """What a search has found so far: the moves, the best first."""

    moves: tuple[Move, ...]
    iterations: int
    decisions: int
    nodes: int
    deepest: int
    seconds: float

    @property
    def best(self) -> int:
        return self.moves[0].action


@dataclass(frozen=True)
class Reply:
    """A move of a line that the search thought of."""

    mover: int
    action: int
    visits: int


class _Tree:
    """The arrays one tree is grown in."""

    def __init__(self, seat: Seat, settings: Settings, pool: int, rng: np.random.Generator) -> None:
        self.nodes = np.empty(max(pool, seat.game.num_actions + 1), NODE)
        self.header = np.zeros(1, TREE)
        self.world = np.zeros(1, seat.game.dtype)
        self.path = np.zeros(PATH, np.int64)
        self.mask = np.zeros(seat.game.num_actions, np.int8)
        seed_generator(self.header["rng"][0], int(rng.integers(2**63)))
        self.header["world_seed"] = int(rng.integers(2**62)) if settings.one_world else NONE
        self.header["low"], self.header["high"] = RANGES.get(seat.game.reward, (np.inf, -np.inf))
        self.header["used"] = 1
        self.nodes[ROOT] = (NONE, NONE, NONE, NONE, 0, 1, 0.0)

    def children(self, node: int) -> Iterator[int]:
        child = int(self.nodes["first"][node])
        while child != NONE:
            yield child
            child = int(self.nodes["next"][child])


class Search:
    """A search for the seat to act. `run` does the work, `stop` ends it from another thread, `finding` tells."""

    def __init__(self, seat: Seat, settings: Settings, rng: np.random.Generator) -> None:
        if seat.game.players > SEATS:
            raise BadOption(f"a search is for at most {SEATS} players, not {seat.game.players}")
        self.game, self.seat, self.settings = seat.game, seat.index, settings
        self.legal = seat.legal_actions
        self._root = seat.sample_world(rng)
        self._record = _record(seat, settings)
        pool = settings.nodes // settings.trees
        self._trees = [_Tree(seat, settings, pool, rng) for _ in range(settings.trees)]
        self._stop = threading.Event()
        self._seconds = 0.0

    @property
    def iterations(self) -> int:
        return sum(int(tree.header["iterations"][0]) for tree in self._trees)

    def stop(self) -> None:
        """End the search soon; what it has found so far stands."""
        self._stop.set()

    def run(self, sims: int | None = None, ms: float | None = None, threads: int = 1) -> Finding:
        """Search until so many simulations are made, so much time has passed, or `stop` is called."""
        if sims is None and ms is None:
            raise BadOption("a search needs a limit: sims or ms")
        self._grow(self._trees[0], 0)  # compiled now if it never was: the clock does not count that
        start = time.perf_counter()
        deadline = np.inf if ms is None else start + ms / 1000.0
        quotas = [_share(sims, tree, len(self._trees)) for tree in range(len(self._trees))]
        work = list(zip(self._trees, quotas, strict=True))
        threads = min(threads, len(work))
        if threads == 1:
            self._work(work, deadline)
        else:
            with ThreadPoolExecutor(threads) as pool:
                for done in [pool.submit(self._work, work[first::threads], deadline) for first in range(threads)]:
                    done.result()
        self._seconds += time.perf_counter() - start
        return self.finding()

    def _work(self, work: list[tuple[_Tree, int]], deadline: float) -> None:
        """Grow some of the trees in turn, piece by piece; each gets at least one."""
        piece = FIRST_PIECE
        left = dict(enumerate(quota for _, quota in work))
        while left:
            for number in list(left):
                start = time.perf_counter()
                count = min(piece, left[number])
                self._grow(work[number][0], count)
                left[number] -= count
                now = time.perf_counter()
                if left[number] == 0:
                    del left[number]
                if now >= deadline or self._stop.is_set():
                    return
                rate = count / max(now - start, 1e-6)
                piece = int(min(max(rate * min(PIECE, deadline - now), 1), LARGEST_PIECE))

    def _grow(self, tree: _Tree, iterations: int) -> None:
        trees.grow(
            *(self.game.board, self._root, self._record, tree.header, tree.nodes),
            *(tree.world, tree.path, tree.mask, iterations),
        )

    # -- what was found ----------------------------------------------------------------------------

    def finding(self) -> Finding:
        headers = [tree.header[0] for tree in self._trees]
        moves = [self._move(action) for action in self.legal]
        return Finding(
            moves=tuple(sorted(moves, key=self._preference)),
            iterations=self.iterations,
            decisions=sum(int(header["decisions"]) for header in headers),
            nodes=sum(int(header["used"]) for header in headers),
            deepest=max(int(header["deepest"]) for header in headers),
            seconds=self._seconds,
        )

    def _preference(self, move: Move) -> tuple[float, ...]:
        """Most visited first (without a tree, where all are visited alike: the best), then better, then lower."""
        worth = -move.values[self.seat] if move.visits else np.inf
        return (worth, move.action) if self.settings.no_tree else (-move.visits, worth, move.action)

    def _move(self, action: int) -> Move:
        roots = [(tree, ROOT) for tree in self._trees]
        places = [place for secret in (0, 1) for place in self._step_down(roots, edge(action, self.seat, secret))]
        return _sum_up(action, places, self.game.players)

    def _step_down(self, places: Sequence[tuple[_Tree, int]], key: int) -> list[tuple[_Tree, int]]:
        """The nodes an edge leads to, in the trees that have it."""
        return [(tree, c) for tree, node in places for c in tree.children(node) if tree.nodes["key"][c] == key]

    def variation(self, action: int, longest: int = 8) -> list[Reply]:
        """The line most often searched that begins with an action."""
        places = [(tree, ROOT) for tree in self._trees]
        key = next((k for k in self._keys(places) if action_of(k) == action), NONE)
        own: list[tuple[_Tree, int]] = []
        line: list[Reply] = []
        if key == NONE:
            return line
        while True:
            below = self._step_down(places, key)
            line.append(Reply(int(mover_of(key)), int(action_of(key)), _visits(below)))
            if key % 2 == 0:  # an open choice
                places = below
            else:  # others choose without seeing it; when all have, the line goes on below the own choice
                own = below if mover_of(key) == self.seat else own
                beyond = [(tree, int(tree.nodes["beyond"][node])) for tree, node in places]
                places = [(tree, node) for tree, node in beyond if node != NONE]
            keys = self._keys(places) or self._keys(own)
            if not keys or len(line) == longest:
                return line
            places = places if self._keys(places) else own
            key = max(keys, key=lambda k: (keys[k], -k))

    def _keys(self, places: Sequence[tuple[_Tree, int]]) -> Counter[int]:
        """The edges that go on from some nodes, with their visits."""
        found: Counter[int] = Counter()
        for tree, node in places:
            for child in tree.children(node):
                found[int(tree.nodes["key"][child])] += int(tree.nodes["visits"][child])
        return found


def _record(seat: Seat, settings: Settings) -> np.ndarray:
    """The settings as the compiled search reads them."""
    if settings.rollout == "cutoff" and seat.game.reward not in RANGES:
        raise BadOption(
            f"rollout=cutoff values positions by chances to win: it goes with reward {' or '.join(RANGES)}, "
            f"not {seat.game.reward}; choose rollout=random or greedy"
        )
    record = np.zeros(1, SETTINGS)
    record["seat"], record["players"] = seat.index, seat.game.players
    record["reward"] = REWARDS[seat.game.reward]
    record["rollout"] = ROLLOUTS[settings.rollout]
    record["cutoff"] = settings.depth if settings.rollout == "cutoff" else NO_LIMIT
    record["random_words"] = int(settings.epsilon * trees.WORDS)
    record["depth"] = 1 if settings.no_tree else PATH
    record["evenly"] = settings.no_tree
    record["exploration"] = settings.exploration
    record["prior"] = 0.0 if settings.no_tree else settings.prior
    return record


def _share(sims: int | None, tree: int, all_trees: int) -> int:
    """How many of the simulations one of the trees makes."""
    return NO_LIMIT if sims is None else sims // all_trees + (tree < sims % all_trees)


def _visits(places: Sequence[tuple[_Tree, int]]) -> int:
    return sum(int(tree.nodes["visits"][node]) for tree, node in places)


def _sum_up(action: int, places: Sequence[tuple[_Tree, int]], players: int) -> Move:
    rows = [tree.nodes[node] for tree, node in places]
    visits = _visits(places)
    totals = np.sum([row["value"][:players] for row in rows], axis=0) if rows else np.zeros(players)
    values = tuple((totals / max(visits, 1)).tolist())
    return Move(action, visits, sum(int(row["available"]) for row in rows), values)
