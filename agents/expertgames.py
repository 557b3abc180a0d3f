"""Games of self-play in which a guided search decides: what expert iteration learns from.

All games of a table go on in step, so that the searches of a decision are one batch. A shard's games, like those of
PPO, are a piece of work: what they bring follows from their state and the network alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from agents.az import EXPLORATION, Guidance, guided_search
from agents.shards import Shard
from agents.weights import Weights
from airenv.byhand import Game
from airenv.core.errors import BadOption
from airenv.vector import VectorGames, game_seed

TINY = 1e-9


class SearchSettings(BaseModel):
    """How expert iteration plays."""

    model_config = ConfigDict(extra="forbid")

    games: int = Field(default=256, ge=1, description="games played side by side")
    shards: int = Field(default=1, ge=1, description="parts the games are split into, each played by one worker")
    steps: int = Field(default=32, ge=1, description="decisions in each of them between two updates")
    sims: int = Field(default=32, ge=2, description="simulations of the search at every decision")
    exploration: float = Field(default=EXPLORATION, gt=0, description="c of the search")
    noise: float = Field(default=0.25, ge=0, le=1, description="share of noise in the prior at the root")
    noise_sum: float = Field(default=10.0, gt=0, description="the noise's concentration, shared out to the legal moves")
    temperature: float = Field(default=1.0, gt=0, description="moves are drawn by visits to the power of 1 / this")
    drawn: int = Field(default=60, ge=0, description="decisions of a game that are drawn; then it is the most visited")
    kept: float = Field(default=1.0, gt=0, le=1, description="share of the decisions learned from; less in long games")
    onlookers: float = Field(default=0.25, ge=0, le=1, description="values of seats not to act, for each decision kept")


@dataclass(frozen=True)
class Decided:
    """A decision in every game of a table: the positions to learn from, and the games that it ended."""

    observations: np.ndarray
    masks: np.ndarray
    shares: np.ndarray  # of the visits; all zero: there was nothing to decide
    games: np.ndarray  # of each position, by slot
    seats: np.ndarray
    ended: np.ndarray  # slots
    rewards: np.ndarray  # [ended, seat]
    lengths: list[int]  # of the games ended


class ExpertGames:
    """The games of a shard, a table for every number of players."""

    def __init__(self, games: list[Game], count: int, settings: SearchSettings, seed: int) -> None:
        if count < len(games):
            raise BadOption(f"{count} games cannot be shared out among {len(games)} numbers of players")
        self.settings = settings
        self.chance = np.random.default_rng([seed, 1])
        edges = np.linspace(0, count, len(games) + 1).astype(int).tolist()
        self.first = edges[:-1]  # the first slot of each table
        counts = [b - a for a, b in pairwise(edges)]
        self.tables = [
            _table(game, count, game_seed(seed, number, 0))
            for number, (game, count) in enumerate(zip(games, counts, strict=True))
        ]
        self.seen = [table.reset(table.seed) for table in self.tables]

    def play(self, weights: Weights) -> list[Decided]:
        """A round's decisions in all games."""
        return [self._decide(number, weights) for _ in range(self.settings.steps) for number in range(len(self.tables))]

    def _decide(self, number: int, weights: Weights) -> Decided:
        table, (seen, info) = self.tables[number], self.seen[number]
        states, movers = table.states(), info["player"]
        found = self._search(table.game, weights, states, seen["action_mask"])
        decided = found.masks.sum(axis=1, keepdims=True) > 1
        shares = np.where(decided, found.visits / found.visits.sum(axis=1, keepdims=True), 0.0).astype(np.float32)
        kept = np.flatnonzero(self.chance.random(table.num_envs) < self.settings.kept)
        slots, seats = self._onlookers(table, movers)
        nothing = np.zeros((len(slots), table.game.num_actions), np.int8)
        watched = table.observe(slots, seats)
        after, rewards, ended, cut, info = table.step(self._pick(found.visits, states["steps"]))
        self.seen[number] = after, info
        over = np.flatnonzero(ended | cut)
        return Decided(
            observations=np.concatenate([seen["observation"][kept], watched]),
            masks=np.concatenate([found.masks[kept], nothing]),
            shares=np.concatenate([shares[kept], nothing.astype(np.float32)]),
            games=self.first[number] + np.concatenate([kept, slots]),
            seats=np.concatenate([movers[kept], seats]),
            ended=self.first[number] + over,
            rewards=rewards[over],
            lengths=(states["steps"][over] + 1).tolist(),
        )

    def _search(self, game: Game, weights: Weights, states: np.ndarray, masks: np.ndarray) -> Guidance:
        how = self.settings
        seeds = self.chance.integers(2**62, size=len(states))
        noise = self._noise(masks) if how.noise > 0 else None
        return guided_search(game, weights, states, seeds, how.sims, how.exploration, noise, how.noise)

    def _noise(self, masks: np.ndarray) -> np.ndarray:
        """A Dirichlet's shares for the legal actions of every game, flatter where there are fewer of them."""
        concentration = self.settings.noise_sum / masks.sum(axis=1, keepdims=True)
        parts = np.where(masks, self.chance.standard_gamma(np.broadcast_to(concentration, masks.shape)) + TINY, 0.0)
        return parts / parts.sum(axis=1, keepdims=True)

    def _pick(self, visits: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """Drawn by visits at the beginning of a game, then the most visited."""
        most = visits.argmax(axis=1)
        shares = (visits / visits.max(axis=1, keepdims=True)) ** (1.0 / self.settings.temperature)
        edges = shares.cumsum(axis=1)
        points = self.chance.random(len(visits)) * edges[:, -1]
        drawn = (edges <= points[:, None]).sum(axis=1)  # an action without visits has no room between two edges
        return np.where(steps < self.settings.drawn, drawn, most)

    def _onlookers(self, table: VectorGames, movers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Some of a table's games, and in each a seat that is not to act: what it sees is kept to learn its value."""
        count = int(self.settings.onlookers * self.settings.kept * table.num_envs)
        if count == 0 or table.game.players == 1:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        slots = np.sort(self.chance.choice(table.num_envs, count, replace=False))
        return slots, (movers[slots] + self.chance.integers(1, table.game.players, count)) % table.game.players

    # -- going on later ----------------------------------------------------------------------------

    def snapshot(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Games in flight as arrays, the generator as JSON."""
        arrays = {f"table{n}.{key}": a for n, table in enumerate(self.tables) for key, a in table.snapshot().items()}
        return arrays, {"chance": self.chance.bit_generator.state}

    def restore(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        self.seen = [
            table.restore({key: arrays[f"table{number}.{key}"] for key in ("states", "episodes", "seed")})
            for number, table in enumerate(self.tables)
        ]
        self.chance.bit_generator.state = facts["chance"]


def _table(game: Game, count: int, seed: int) -> VectorGames:
    options = {**game.options.model_dump(), "board": game.board_name, "reward": game.reward}
    return VectorGames(game.name, count, seed=seed, **options)


# -- shards as pieces of work ------------------------------------------------------------------------


@dataclass(frozen=True)
class Searches:
    """What the shards of a round share: sent to every worker once."""

    tables: list[Game]
    games: int  # of a shard
    settings: SearchSettings
    weights: Weights


@dataclass(frozen=True)
class Played:
    """What a shard's games brought, and how they stand now."""

    decided: list[Decided]
    arrays: dict[str, np.ndarray]
    facts: dict[str, Any]


def play_shard(shared: Searches, shard: Shard) -> Played:
    """A piece of work for an executor: a shard's part of a round."""
    games = ExpertGames(shared.tables, shared.games, shared.settings, 0)
    games.restore(shard.arrays, shard.facts)
    return Played(games.play(shared.weights), *games.snapshot())
