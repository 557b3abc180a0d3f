"""Expert iteration: games of self-play in which a guided search decides, and a network that learns what it found.

The network learns the search's visits as its policy and the reward each seat came to as its value; with the better
network, the search is a better one.
"""

from __future__ import annotations

import json
import time
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pydantic import Field

from agents.executors import Executor, Inline
from agents.expertgames import Decided, ExpertGames, Searches, SearchSettings, play_shard
from agents.shards import Shard, in_shard, part, shard_seed, shard_size
from agents.weights import Weights
from airenv.byhand import Game
from airenv.core.errors import BadOption
from airenv.core.files import write_bytes, write_text
from airenv.vector import VectorGames

UNKNOWN = -1  # the game of a position whose rewards are known
FORBIDDEN = -1e9  # the logit of an action that is not legal
HEAD_GAINS = (0.01, 1.0)  # of policy and value: at first, all legal moves are about alike
LARGEST_GRADIENT = 1.0


class ExpertSettings(SearchSettings):
    """How expert iteration plays and learns."""

    window: int = Field(default=150_000, ge=1, description="positions kept to learn from, games under way included")
    batch: int = Field(default=1024, ge=1, description="positions in a minibatch")
    reuse: float = Field(default=2.0, gt=0, description="how often a position is learned from, on average")
    learning_rate: float = Field(default=1e-3, gt=0, description="of Adam")
    decay: float = Field(default=1e-4, ge=0, description="of the weights, in every update, times the learning rate")
    value: float = Field(default=1.0, ge=0, description="weight of the value loss")


class Window:
    """The latest positions, the oldest overwritten first. Rewards are filled in when a game has ended."""

    def __init__(self, size: int, observation: int, actions: int) -> None:
        self.observations = np.zeros((size, observation), np.float32)
        self.masks = np.zeros((size, actions), np.int8)
        self.shares = np.zeros((size, actions), np.float32)  # of the visits; all zero: there was nothing to decide
        self.rewards = np.zeros(size, np.float32)
        self.games = np.full(size, UNKNOWN, np.int32)  # under way, by slot; UNKNOWN when its rewards are filled in
        self.seats = np.zeros(size, np.int32)
        self.added = 0  # since the start

    def __len__(self) -> int:
        return min(self.added, len(self.rewards))

    def add(
        self, observations: np.ndarray, masks: np.ndarray, shares: np.ndarray, games: np.ndarray, seats: np.ndarray
    ) -> None:
        size = len(self.rewards)
        places = np.arange(self.added, self.added + len(games))[-size:] % size
        last = slice(len(games) - len(places), None)
        self.observations[places], self.masks[places] = observations[last], masks[last]
        self.shares[places] = shares[last]
        self.games[places], self.seats[places] = games[last], seats[last]
        self.added += len(games)

    def reward(self, games: np.ndarray, rewards: np.ndarray) -> int:
        """Some games have ended: rewards[k, seat] of the k-th of them. Returns how many positions that makes known."""
        if len(games) == 0:
            return 0
        ended = np.full(max(int(self.games.max()), int(games.max())) + 2, UNKNOWN)
        ended[games] = np.arange(len(games))
        rows = np.flatnonzero(ended[self.games] != UNKNOWN)  # UNKNOWN looks up the last, which never ended
        self.rewards[rows] = rewards[ended[self.games[rows]], self.seats[rows]]
        self.games[rows] = UNKNOWN
        return len(rows)

    def known(self) -> np.ndarray:
        """The positions that can be learned from."""
        return np.flatnonzero(self.games[: len(self)] == UNKNOWN)

    def at(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        return self.observations[rows], self.masks[rows], self.shares[rows], self.rewards[rows]

    def arrays(self) -> dict[str, np.ndarray]:
        names = ("observations", "masks", "shares", "rewards", "games", "seats")
        return {name: getattr(self, name)[: len(self)] for name in names}

    def restore(self, arrays: dict[str, np.ndarray], added: int) -> None:
        self.added = added
        self.games[:] = UNKNOWN
        for name, array in arrays.items():
            getattr(self, name)[: len(array)] = array


class Network:
    """The network as it learns: the arrays of Weights as tensors, with their optimizer."""

    def __init__(self, weights: Weights, settings: ExpertSettings) -> None:
        self.value_weight = settings.value
        self.tensors = [torch.tensor(array, requires_grad=True) for layer in weights.layers for array in layer]
        self.optimizer = torch.optim.AdamW(self.tensors, settings.learning_rate, weight_decay=settings.decay)

    def forward(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        hidden = observations
        for matrix, bias in zip(self.tensors[:-4:2], self.tensors[1:-4:2], strict=True):
            hidden = torch.relu(torch.addmm(bias, hidden, matrix))
        policy, policy_bias, value, value_bias = self.tensors[-4:]
        return torch.addmm(policy_bias, hidden, policy), torch.addmm(value_bias, hidden, value)[:, 0]

    def learn(
        self, observations: np.ndarray, masks: np.ndarray, shares: np.ndarray, rewards: np.ndarray
    ) -> tuple[float, float]:
        """One update; returns the divergence of the policy from the shares, and the error of the value."""
        logits, values = self.forward(torch.from_numpy(observations))
        logits = logits.masked_fill(torch.from_numpy(masks == 0), FORBIDDEN)
        wanted = torch.from_numpy(shares)
        decided = max(int(np.count_nonzero(shares.any(axis=1))), 1)
        # less the entropy of what is wanted, which no policy can get below
        policy_loss = (torch.xlogy(wanted, wanted) - wanted * torch.log_softmax(logits, 1)).sum() / decided
        value_loss = torch.nn.functional.mse_loss(values, torch.from_numpy(rewards))
        self.optimizer.zero_grad()
        (policy_loss + self.value_weight * value_loss).backward()
        torch.nn.utils.clip_grad_norm_(self.tensors, LARGEST_GRADIENT)
        self.optimizer.step()
        return policy_loss.item(), value_loss.item()

    def weights(self) -> Weights:
        arrays = [tensor.detach().numpy().copy() for tensor in self.tensors]
        layers = list(zip(arrays[::2], arrays[1::2], strict=True))
        return Weights(tuple(layers[:-2]), layers[-2], layers[-1])

    def arrays(self) -> dict[str, np.ndarray]:
        """The network and what the optimizer remembers."""
        found = {f"tensor{n}": tensor.detach().numpy() for n, tensor in enumerate(self.tensors)}
        for n, state in self.optimizer.state_dict()["state"].items():
            found |= {f"adam{n}.{key}": np.atleast_1d(value.numpy()) for key, value in state.items()}
        return found

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        state: dict[int, dict[str, torch.Tensor]] = {}
        with torch.no_grad():
            for n, tensor in enumerate(self.tensors):
                tensor.copy_(torch.from_numpy(arrays[f"tensor{n}"].copy()))
                kept = {k: torch.from_numpy(v.copy()) for k, v in part(arrays, f"adam{n}.").items()}
                if kept:
                    state[n] = kept | {"step": kept["step"][0]}
        self.optimizer.load_state_dict({**self.optimizer.state_dict(), "state": state})


def new_weights(game: Game, trunk: list[int], rng: np.random.Generator) -> Weights:
    """An untrained network: orthogonal matrices, biases of zero."""
    widths = [game.observation_size, *trunk]
    layers = [orthogonal(a, b, np.sqrt(2.0), rng) for a, b in pairwise(widths)]
    policy, value = (
        orthogonal(widths[-1], outputs, gain, rng)
        for outputs, gain in zip((game.num_actions, 1), HEAD_GAINS, strict=True)
    )
    return Weights(tuple(layers), policy, value)


def orthogonal(inputs: int, outputs: int, gain: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    tall = rng.normal(size=(max(inputs, outputs), min(inputs, outputs)))
    q, r = np.linalg.qr(tall)
    q *= np.sign(np.diag(r))  # without it, they would not be spread evenly
    matrix = q if inputs >= outputs else q.T
    return np.ascontiguousarray(gain * matrix, np.float32), np.zeros(outputs, np.float32)


class ExpertIteration:
    """Learning by expert iteration in rounds: some decisions of all games by search, then updates of the network."""

    def __init__(
        self,
        games: list[Game],
        settings: ExpertSettings,
        trunk: list[int],
        seed: int,
        start: Weights | None = None,
        executor: Executor | None = None,
    ) -> None:
        torch.set_num_threads(1)  # two collapse when the machine is busy
        self.settings, self.games, self.executor = settings, games, executor or Inline()
        self.decisions, self.finished = 0, 0
        self.owed = 0.0  # updates
        self.order = np.random.default_rng([seed, 2])
        weights = new_weights(games[0], trunk, np.random.default_rng([seed, 3]))
        if start is not None and [m.shape for m, _ in start.layers] != [m.shape for m, _ in weights.layers]:
            raise BadOption("the network to start from has another shape: set `trunk` as it is there")
        self.network = Network(weights if start is None else start, settings)
        self.window = Window(settings.window, games[0].observation_size, games[0].num_actions)
        self.shard_size = shard_size(settings.games, settings.shards)
        self.shards = [
            ExpertGames(games, self.shard_size, settings, shard_seed(seed, number)) for number in range(settings.shards)
        ]
        short = replace(self._searches(), settings=settings.model_copy(update={"steps": 1}))
        self.executor.warm(partial(play_shard, short, Shard(0, *self.shards[0].snapshot())))

    @property
    def tables(self) -> list[VectorGames]:
        return [table for shard in self.shards for table in shard.tables]

    def weights(self) -> Weights:
        return self.network.weights()

    def advance(self) -> dict[str, float]:
        """One round; returns what there is to know of it."""
        start, decisions = time.perf_counter(), self.decisions
        lengths = self._play()
        played = time.perf_counter()
        told = self._learn()
        spent = time.perf_counter() - start
        self.finished += len(lengths)
        told |= {"games": len(lengths), "positions": len(self.window.known()), "search_share": (played - start) / spent}
        if lengths:
            told["length"] = float(np.mean(lengths))
        return told | {"decisions_per_second": (self.decisions - decisions) / spent}

    # -- playing -----------------------------------------------------------------------------------

    def _searches(self) -> Searches:
        return Searches(self.games, self.shard_size, self.settings, self.weights())

    def _play(self) -> list[int]:
        """A round of all shards, by the executor; returns the lengths of the games that ended."""
        tasks = [Shard(number, *shard.snapshot()) for number, shard in enumerate(self.shards)]
        found = {task.number: played for task, played in self.executor.results(play_shard, tasks, self._searches())}
        lengths: list[int] = []
        for number, shard in enumerate(self.shards):  # in their order, whichever was done first
            shard.restore(found[number].arrays, found[number].facts)
            for decided in found[number].decided:
                self._keep(decided, number * self.shard_size)
                lengths += decided.lengths
        self.decisions += self.settings.steps * self.settings.games
        return lengths

    def _keep(self, decided: Decided, first: int) -> None:
        """Put positions into the window, and rewards to those of games that ended; `first` is the shard's slot 0."""
        positions = (decided.observations, decided.masks, decided.shares, first + decided.games, decided.seats)
        self.window.add(*positions)
        known = self.window.reward(first + decided.ended, decided.rewards)
        self.owed += known * self.settings.reuse / self.settings.batch

    # -- learning ----------------------------------------------------------------------------------

    def _learn(self) -> dict[str, float]:
        """Updates in proportion to the positions that became known, from all that are; none while these are few."""
        known = self.window.known()
        losses = []
        while self.owed >= 1.0 and len(known) >= self.settings.batch:
            rows = known[self.order.integers(len(known), size=self.settings.batch)]
            losses.append(self.network.learn(*self.window.at(rows)))
            self.owed -= 1.0
        if not losses:
            return {"updates": 0}
        policy, value = np.mean(losses, axis=0).tolist()
        return {"policy_loss": policy, "value_loss": value, "updates": len(losses)}

    # -- going on later ----------------------------------------------------------------------------

    def save(self, folder: Path) -> None:
        """All that is needed to go on to the bit: network, optimizer, games in flight, window, generators."""
        from safetensors.numpy import save

        arrays = {f"window.{key}": array for key, array in self.window.arrays().items()}
        arrays |= {f"network.{key}": array for key, array in self.network.arrays().items()}
        facts: dict[str, Any] = {"decisions": self.decisions, "finished": self.finished, "owed": self.owed}
        facts |= {"added": self.window.added, "order": self.order.bit_generator.state}
        for number, shard in enumerate(self.shards):
            kept, told = shard.snapshot()
            arrays |= {in_shard(number, key): array for key, array in kept.items()}
            facts |= {in_shard(number, key): fact for key, fact in told.items()}
        write_bytes(folder / "arrays.safetensors", save({k: np.ascontiguousarray(v) for k, v in arrays.items()}))
        write_text(folder / "facts.json", json.dumps(facts) + "\n")

    def load(self, folder: Path) -> None:
        from safetensors.numpy import load

        arrays = load((folder / "arrays.safetensors").read_bytes())
        facts = json.loads((folder / "facts.json").read_text())
        self.window.restore(part(arrays, "window."), facts["added"])
        self.network.restore(part(arrays, "network."))
        for number, shard in enumerate(self.shards):
            shard.restore(part(arrays, in_shard(number, "")), part(facts, in_shard(number, "")))
        self.decisions, self.finished, self.owed = facts["decisions"], facts["finished"], facts["owed"]
        self.order.bit_generator.state = facts["order"]
