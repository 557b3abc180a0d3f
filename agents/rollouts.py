"""What self-play brings to learn from, collected in this process or, shard by shard, wherever there is a worker.

A shard is a part of a run's games with generators of its own. What its games bring follows from their state and the
round's networks alone, so it is the same on any executor.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from agents.forward import log_shares, sample_rows
from agents.selfplay import Network, Pool, SelfPlayGames, check_masks, compiled
from agents.shards import Shard
from agents.weights import Weights
from airenv.byhand import Game
from airenv.core.engine import MOST_SEATS as SEATS
from airenv.core.random import seed_generator

NOBODY = -1  # looks on


@dataclass
class Rollout:
    """Some decisions of every game; arrays are by [step, game], and some have more dimensions."""

    observations: np.ndarray
    masks: np.ndarray
    actions: np.ndarray
    values: np.ndarray
    log_probs: np.ndarray
    movers: np.ndarray
    learning: np.ndarray  # whether the decision is the learner's, not a past self's
    over: np.ndarray
    seat_rewards: np.ndarray
    watching: np.ndarray  # the seat that looked on
    last_values: np.ndarray  # [game, seat], of the positions reached
    onlookers: list[np.ndarray] = field(default_factory=list)  # what they saw, a block a step
    seconds: float = 0.0  # spent in the games

    @classmethod
    def empty(cls, steps: int, games: SelfPlayGames) -> Rollout:
        shape = (steps, games.num_envs)
        return cls(
            observations=np.empty((*shape, games.observations.shape[1]), np.float32),
            masks=np.empty((*shape, games.masks.shape[1]), np.int8),
            actions=np.empty(shape, np.int64),
            values=np.empty(shape, np.float32),
            log_probs=np.empty(shape, np.float32),
            movers=np.empty(shape, np.int64),
            learning=np.empty(shape, bool),
            over=np.empty(shape, bool),
            seat_rewards=np.empty((*shape, SEATS), np.float32),
            watching=np.full(shape, NOBODY, np.int64),
            last_values=np.zeros((games.num_envs, SEATS), np.float32),
        )

    def put(self, shards: list[Rollout]) -> None:
        """Fill this with what shards brought, side by side in their order."""
        edges = np.cumsum([0, *(len(shard.last_values) for shard in shards)]).tolist()
        for shard, first, end in zip(shards, edges[:-1], edges[1:], strict=True):
            for name, array in vars(shard).items():
                if name == "last_values":
                    self.last_values[first:end] = array
                elif isinstance(array, np.ndarray):
                    getattr(self, name)[:, first:end] = array
        self.onlookers += [np.concatenate(blocks) for blocks in zip(*(s.onlookers for s in shards), strict=True)]
        self.seconds += sum(shard.seconds for shard in shards)


def play(games: SelfPlayGames, network: Network, onlookers: float, into: Rollout) -> None:
    """Fill a rollout: one decision in every game, so many times, and the values of where that leads."""
    words = np.zeros(4, np.uint32)
    seed_generator(words, int(games.chance.integers(2**63)))
    for step in range(len(into.movers)):
        values, actions, logs = _choose(network, games.observations, games.masks, words)
        into.movers[step], into.learning[step] = games.movers, games.learning
        games.replace_actions_of_pool(actions)
        _watch(games, onlookers, step, into)
        into.observations[step], into.masks[step] = games.observations, games.masks
        into.actions[step], into.values[step], into.log_probs[step] = actions, values, logs
        start = time.perf_counter()
        games.step(actions)
        into.seconds += time.perf_counter() - start
        into.seat_rewards[step], into.over[step] = games.seat_rewards, games.over
    _value_all_seats(games, network, into.last_values)


def _choose(network: Network, observations: np.ndarray, masks: np.ndarray, words: np.ndarray) -> tuple[np.ndarray, ...]:
    """Values, actions and their log-probabilities for the players to act."""
    check_masks(masks)
    logits, values = network(observations)
    actions, logs = np.empty(len(masks), np.int64), np.empty(len(masks), np.float32)
    sample_rows(words, logits, masks, np.empty(masks.shape[1]), actions)
    log_shares(logits, masks, actions, logs)
    return values, actions, logs


def _watch(games: SelfPlayGames, share: float, step: int, into: Rollout) -> None:
    """Let a seat that is not to act look on in some of the games."""
    number = int(share * games.num_envs)
    if number == 0:
        return
    slots = np.sort(games.chance.choice(games.num_envs, number, replace=False))
    left = 1 + (games.chance.random(number) * (games.seats[slots] - 1)).astype(np.int64)
    seats = (games.movers[slots] + left) % games.seats[slots]
    into.watching[step, slots] = seats
    into.onlookers.append(games.observe(slots, seats))


def _value_all_seats(games: SelfPlayGames, network: Network, found: np.ndarray) -> None:
    """The value of the positions reached, to every seat by its own observation."""
    for seat in range(int(games.seats.max())):
        slots = np.flatnonzero(games.seats > seat)
        found[slots, seat] = network(games.observe(slots, np.full(len(slots), seat)))[1]


# -- shards as pieces of work ------------------------------------------------------------------------


@dataclass(frozen=True)
class Round:
    """What the shards of a round share: sent to every worker once."""

    tables: list[Game]
    games: int  # of a shard
    steps: int
    onlookers: float
    pool_games: float
    pool: Pool
    learner: Weights


@dataclass(frozen=True)
class Collected:
    """What a shard brought, how its games stand now, and how those against past selves ended."""

    rollout: Rollout
    arrays: dict[str, np.ndarray]
    facts: dict[str, Any]
    results: list[tuple[int, float]]


@dataclass
class NotingPool(Pool):
    """A pool that remembers the results it was told, in their order."""

    results: list[tuple[int, float]] = field(default_factory=list)

    def note(self, member: int, score: float) -> None:
        super().note(member, score)
        self.results.append((member, score))


def collect_shard(shared: Round, shard: Shard) -> Collected:
    """A piece of work for an executor: a shard's part of a round."""
    games = SelfPlayGames(shared.tables, shared.games, 0, shared.pool_games)
    games.pool = pool = NotingPool(shared.pool.size, shared.pool.members, list(shared.pool.scores))
    games.restore(shard.arrays, shard.facts)
    into = Rollout.empty(shared.steps, games)
    play(games, compiled(shared.learner), shared.onlookers, into)
    return Collected(into, *games.snapshot(), pool.results)
