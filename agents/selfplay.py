"""Thousands of games as one environment: every seat is a learner's, but for those of past selves.

Games are stepped by one compiled call. Who plays a seat is drawn when its game starts: mostly the learner plays all
seats; in some games a past self from the pool has some of them, chosen by how even the two are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from gymnasium import spaces
from stable_baselines3.common.vec_env import VecEnv

from agents.forward import forward_rows, packed, sample_rows, workspace
from agents.weights import Weights
from airenv.byhand import Game
from airenv.core.engine import MOST_SEATS as SEATS
from airenv.core.errors import AirenvError, BadOption
from airenv.core.random import seed_generator
from airenv.vector import VectorGames, game_seed

LEARNER = -1  # who plays a seat: the learner, or a number in the pool
Network = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]  # logits and values of a batch of observations


class EmptyMask(AirenvError):
    """A row of action masks without a legal action: a distribution over it would sample illegal ones."""


def compiled(weights: Weights) -> Network:
    """A network run row by row in compiled code: the same numbers in every process, wherever the arrays lie."""
    numbers, shapes = packed(weights)
    work = workspace(shapes)

    def network(observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        logits = np.empty((len(observations), weights.num_actions), np.float32)
        values = np.empty(len(observations), np.float32)
        forward_rows(numbers, shapes, observations, work, logits, values)
        return logits, values

    return network


def check_masks(masks: np.ndarray) -> None:
    """Every row has a legal action; an EmptyMask names the first that has none."""
    empty = np.flatnonzero(~masks.any(axis=1))
    if len(empty):
        raise EmptyMask(f"row {empty[0]} of {len(masks)} masks has no legal action")


@dataclass
class Pool:
    """Past selves, and how the learner has done against each: a mean of late results in [0, 1]."""

    size: int
    members: list[Weights] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    memory: float = 0.98  # how much of a score stays when a result comes in

    def add(self, weights: Weights) -> np.ndarray:
        """A new member; a full pool loses the one that is most uneven with the learner.

        Returns the new numbers by the old ones; for the one that is lost, and at LEARNER, LEARNER.
        """
        before = len(self.members)
        places = np.append(np.arange(before), LEARNER)
        if before == self.size:
            worst = int(np.argmin(self.shares()))
            del self.members[worst], self.scores[worst]
            places[worst + 1 : before] -= 1
            places[worst] = LEARNER
        self.members.append(weights)
        self.scores.append(0.5)
        return places

    def shares(self) -> np.ndarray:
        """How often each is drawn: x (1 - x) of the learner's score, so that even ones are met most."""
        x = np.clip(np.array(self.scores), 0.02, 0.98)
        return x * (1 - x) / (x * (1 - x)).sum()

    def note(self, member: int, score: float) -> None:
        self.scores[member] = self.memory * self.scores[member] + (1 - self.memory) * score


class SelfPlayGames(VecEnv):
    """An SB3 VecEnv of many games: an observation, a mask and a reward a game, of the seat to act.

    `seat_rewards`, `over` and `movers` tell what a step brought to every seat; PPO on a single stream of rewards would
    mix seats. `action_masks()` is one array.
    """

    render_mode = None

    def __init__(
        self, games: list[Game], num_envs: int, seed: int, pool_games: float = 0.25, pool_size: int = 12
    ) -> None:
        if num_envs < len(games):
            raise BadOption(f"{num_envs} games cannot be shared out among {len(games)} numbers of players")
        edges = np.linspace(0, num_envs, len(games) + 1).astype(int)
        self.slices = [slice(a, b) for a, b in pairwise(edges)]
        self.batches = [
            VectorGames(
                game.name,
                part.stop - part.start,
                seed=game_seed(seed, number, 0),
                reuse_buffers=True,
                **{**game.options.model_dump(), "board": game.board_name, "reward": game.reward},
            )
            for number, (game, part) in enumerate(zip(games, self.slices, strict=True))
        ]
        game = games[0]
        super().__init__(
            num_envs,
            spaces.Box(-np.inf, np.inf, (game.observation_size,), np.float32),
            spaces.Discrete(game.num_actions),
        )
        self.seats = np.concatenate([np.full(b.num_envs, b.game.players) for b in self.batches])
        self.observations = np.zeros((num_envs, game.observation_size), np.float32)
        self.masks = np.zeros((num_envs, game.num_actions), np.int8)
        self.movers = np.zeros(num_envs, np.int64)
        self.seat_rewards = np.zeros((num_envs, SEATS), np.float32)
        self.over = np.zeros(num_envs, bool)
        self.finished = 0  # games, since the start
        self.pool, self.pool_games = Pool(pool_size), pool_games
        self.rng = np.random.default_rng(game_seed(seed, len(games), 1))
        self.chance = np.random.default_rng([seed, 1])  # of the learner's choices, and of who looks on
        self.who = np.full((num_envs, SEATS), LEARNER, np.int64)
        self._actions = np.zeros(num_envs, np.int64)
        self._networks: dict[int, Network] = {}  # of the pool's members

    # -- SB3's interface ---------------------------------------------------------------------------

    def reset(self) -> np.ndarray:
        for batch, part in zip(self.batches, self.slices, strict=True):
            self._see(part, *batch.reset(batch.seed))
        self._line_up(np.arange(self.num_envs))
        return self.observations

    def step_async(self, actions: np.ndarray) -> None:
        self._actions = np.asarray(actions, np.int64).reshape(-1)

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """The reward is that of the seat that has just acted; infos are empty: one a game would cost more than it."""
        movers = self.movers.copy()
        for batch, part in zip(self.batches, self.slices, strict=True):
            seen, rewards, ended, cut, info = batch.step(self._actions[part])
            self.seat_rewards[part, : batch.game.players] = rewards
            self.over[part] = ended | cut
            self._see(part, seen, info)
        finished = np.flatnonzero(self.over)
        if len(finished):
            self._note_results(finished)
            self._line_up(finished)
            self.finished += len(finished)
        return self.observations, self.seat_rewards[np.arange(self.num_envs), movers], self.over, [{}] * self.num_envs

    def action_masks(self) -> np.ndarray:
        return self.masks

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> Any:
        return getattr(self, method_name)(*args, **kwargs)

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [getattr(self, attr_name)] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        setattr(self, attr_name, value)

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        return [False] * self.num_envs

    def has_attr(self, attr_name: str) -> bool:
        return hasattr(self, attr_name)

    def close(self) -> None:
        for batch in self.batches:
            batch.close()

    # -- who plays ---------------------------------------------------------------------------------

    @property
    def learning(self) -> np.ndarray:
        """In which games the learner is to act."""
        return self.who[np.arange(self.num_envs), self.movers] == LEARNER

    def replace_actions_of_pool(self, actions: np.ndarray) -> None:
        """Put the choices of past selves where one of them is to act."""
        acting = self.who[np.arange(self.num_envs), self.movers]
        for member in np.unique(acting[acting != LEARNER]):
            rows = np.flatnonzero(acting == member)
            actions[rows] = self._choices(int(member), rows)

    def _choices(self, member: int, rows: np.ndarray) -> np.ndarray:
        if member not in self._networks:
            self._networks[member] = compiled(self.pool.members[member])
        masks = self.masks[rows]
        logits, _ = self._networks[member](self.observations[rows])
        words, chosen = np.zeros(4, np.uint32), np.empty(len(rows), np.int64)
        seed_generator(words, int(self.rng.integers(2**63)))
        sample_rows(words, logits, masks, np.empty(masks.shape[1]), chosen)
        return chosen

    def add_to_pool(self, weights: Weights) -> None:
        """Keep a past self. Games under way go on against those they began with, as far as they are still there."""
        self.renumber(self.pool.add(weights))

    def renumber(self, places: np.ndarray) -> None:
        """Members of the pool have got new numbers, `places` by the old ones."""
        self.who = places[self.who]
        self._networks.clear()

    def _line_up(self, slots: np.ndarray) -> None:
        """Draw who plays the new games in some slots."""
        self.who[slots] = LEARNER
        if not self.pool.members:
            return
        met = slots[self.rng.random(len(slots)) < self.pool_games]
        members = self.rng.choice(len(self.pool.members), len(met), p=self.pool.shares())
        # the learner has at least one seat, and so has the past self
        order = self.rng.random((len(met), SEATS))
        order[np.arange(SEATS) >= self.seats[met][:, None]] = np.inf
        rank = order.argsort(1).argsort(1)
        theirs = 1 + (self.rng.random(len(met)) * (self.seats[met] - 1)).astype(int)
        self.who[met] = np.where(rank < theirs[:, None], members[:, None], LEARNER)

    def _note_results(self, slots: np.ndarray) -> None:
        """How the learner did in the games against past selves that have just ended, as a share of the pairs won."""
        for slot in slots[(self.who[slots] != LEARNER).any(1)]:
            seats = np.arange(self.seats[slot])
            own = self.who[slot, seats] == LEARNER
            if own.any() and not own.all():
                rewards = self.seat_rewards[slot, seats]
                mine, theirs = rewards[own][:, None], rewards[~own][None, :]
                score = ((mine > theirs) + 0.5 * (mine == theirs)).mean()
                self.pool.note(int(self.who[slot, seats][~own][0]), float(score))

    def _see(self, part: slice, seen: dict[str, np.ndarray], info: dict[str, Any]) -> None:
        self.observations[part], self.masks[part] = seen["observation"], seen["action_mask"]
        self.movers[part] = info["player"]

    def observe(self, slots: np.ndarray, seats: np.ndarray) -> np.ndarray:
        """What a seat of each of some games sees now; `slots` are in order."""
        found = np.empty((len(slots), self.observations.shape[1]), np.float32)
        for batch, part in zip(self.batches, self.slices, strict=True):
            rows = np.flatnonzero((slots >= part.start) & (slots < part.stop))
            found[rows] = batch.observe(slots[rows] - part.start, seats[rows])
        return found

    # -- going on later ----------------------------------------------------------------------------

    def snapshot(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Games in flight and who plays them as arrays, the generators as JSON. The pool is kept by whoever has it."""
        arrays = {f"batch{n}.{k}": v for n, batch in enumerate(self.batches) for k, v in batch.snapshot().items()}
        facts = {"rng": self.rng.bit_generator.state, "chance": self.chance.bit_generator.state}
        return {**arrays, "who": self.who.copy()}, {**facts, "finished": self.finished}

    def restore(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        """Go on from a snapshot, with the pool as it was."""
        for number, (batch, part) in enumerate(zip(self.batches, self.slices, strict=True)):
            mine = {key: arrays[f"batch{number}.{key}"] for key in ("states", "episodes", "seed")}
            self._see(part, *batch.restore(mine))
        self.who[:] = arrays["who"]
        self.finished = int(facts["finished"])
        self.rng.bit_generator.state, self.chance.bit_generator.state = facts["rng"], facts["chance"]
        self._networks.clear()
