"""Self-play PPO: sb3-contrib's MaskablePPO over thousands of games, every seat of which is experience.

SB3 computes advantages along one environment's steps. In a game with several seats, the step after a seat's decision
is somebody else's, so the buffer here follows each seat's own decisions instead. It also holds observations of seats
that only looked on: they train the value alone (their only legal action has no entropy and no gradient), so that a
search may ask for the value of any seat at any time.
"""

from __future__ import annotations

import ctypes
import json
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict, Field
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer, MaskableRolloutBufferSamples
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn

from agents.forward import log_shares, sample_rows
from agents.returns import seat_returns
from agents.selfplay import SelfPlayGames, check_masks
from agents.weights import Weights
from airenv.byhand import Game
from airenv.core.engine import MOST_SEATS as SEATS
from airenv.core.errors import BadOption
from airenv.core.files import write_bytes, write_text
from airenv.core.random import seed_generator

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h
KEPT_BYTES = 2**30
NEVER = -1e8  # the logit of an action that cannot be chosen; finite, so that nothing times zero is no number

# Checking every distribution's arguments costs as much as the network.
torch.distributions.Distribution.set_default_validate_args(False)


class PpoSettings(BaseModel):
    """How PPO learns."""

    model_config = ConfigDict(extra="forbid")

    games: int = Field(default=1024, ge=1, description="games played side by side")
    steps: int = Field(default=64, ge=2, description="decisions in each of them between two updates")
    batch: int = Field(default=4096, ge=1, description="decisions in a minibatch")
    epochs: int = Field(default=4, ge=1, description="passes over what was collected")
    learning_rate: float = Field(default=3e-4, gt=0, description="at the start; it falls to 0")
    gamma: float = Field(default=1.0, gt=0, le=1)
    trace: float = Field(default=0.95, ge=0, le=1, description="lambda of the advantage estimates")
    clip: float = Field(default=0.2, gt=0)
    entropy: float = Field(default=0.03, ge=0, description="weight of the entropy at the start")
    last_entropy: float = Field(default=0.005, ge=0, description="and at the end")
    value: float = Field(default=0.5, ge=0, description="weight of the value loss")
    onlookers: float = Field(
        default=0.25, ge=0, le=1, description="observations of seats not to act, for each decision"
    )
    pool_games: float = Field(default=0.25, ge=0, le=1, description="share of games with a past self at the table")
    pool_size: int = Field(default=12, ge=1)
    pool_every: int = Field(default=10, ge=1, description="rounds between two members of the pool")


class Trunk(BaseFeaturesExtractor):
    """The layers policy and value share."""

    def __init__(self, observation_space: Any, widths: list[int]) -> None:
        super().__init__(observation_space, widths[-1])
        sizes = [observation_space.shape[0], *widths]
        self.layers = nn.Sequential()
        for inputs, outputs in pairwise(sizes):
            self.layers.extend([nn.Linear(inputs, outputs), nn.ReLU()])

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        return self.layers(observations)


class LeanPolicy(MaskableActorCriticPolicy):
    """SB3's policy; what an update asks of it is computed in one go instead of by way of three distributions."""

    def evaluate_actions(
        self, obs: torch.Tensor, actions: torch.Tensor, action_masks: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Values, log-probabilities of the actions, and the entropies of the masked choices."""
        hidden = self.extract_features(obs)
        logits = self.action_net(hidden)
        if action_masks is not None:
            logits = logits.masked_fill(action_masks == 0, NEVER)
        logs = torch.log_softmax(logits, dim=-1)
        entropies = -(logs.exp() * logs).sum(dim=-1)
        return self.value_net(hidden), logs.gather(1, actions[:, None])[:, 0], entropies


class SeatBuffer(MaskableRolloutBuffer):
    """What was played between two updates, with advantages along each seat's own decisions."""

    def reset(self) -> None:
        super().reset()
        shape = (self.buffer_size, self.n_envs)
        self.movers = np.zeros(shape, np.int64)
        self.learning = np.zeros(shape, bool)  # whether the decision is the learner's, not a past self's
        self.over = np.zeros(shape, bool)
        self.seat_rewards = np.zeros((*shape, SEATS), np.float32)
        self.watching = np.full(shape, -1, np.int64)
        self.watched = np.zeros(shape, np.float32)
        self.onlookers: list[np.ndarray] = []  # what they saw, a block a step

    def finish(self, last_values: np.ndarray) -> None:
        """Compute what every decision was worth; last_values [game, seat] are of the positions reached."""
        seat_returns(
            *(self.values, self.seat_rewards, self.over, self.movers, last_values, self.gamma, self.gae_lambda),
            *(self.advantages, self.returns, self.watching, self.watched),
        )
        mine = self.advantages[self.learning]
        # over the learner's decisions only, and once for all minibatches: onlookers must stay at exactly zero
        self.advantages = (self.advantages - mine.mean()) / (mine.std() + 1e-8)

    def rows(self) -> MaskableRolloutBufferSamples:
        """The learner's decisions, then what onlookers saw, as tensors."""
        mine, seen = self.learning.reshape(-1), self.watching.reshape(-1) >= 0
        onlookers = np.concatenate(self.onlookers) if self.onlookers else np.empty((0, *self.obs_shape), np.float32)
        one_action = np.zeros((len(onlookers), self.mask_dims), np.float32)
        one_action[:, 0] = 1.0
        nothing, returns = np.zeros(len(onlookers), np.float32), self.watched.reshape(-1)[seen]

        def flat(array: np.ndarray, more: np.ndarray) -> torch.Tensor:
            return torch.from_numpy(np.concatenate([array.reshape(len(mine), *array.shape[2:])[mine], more]))

        return MaskableRolloutBufferSamples(
            flat(self.observations, onlookers),
            flat(self.actions, nothing[:, None]),
            flat(self.values, returns),
            flat(self.log_probs, nothing),
            flat(self.advantages, nothing),
            flat(self.returns, returns),
            flat(self.action_masks, one_action),
        )

    def get(self, batch_size: int | None = None) -> Iterator[MaskableRolloutBufferSamples]:
        """Minibatches in an order drawn from this buffer's own generator."""
        if not self.generator_ready:
            self.table, self.generator_ready = self.rows(), True
        order = torch.from_numpy(self.order.permutation(len(self.table.returns)))
        for part in order.split(batch_size or len(order)):
            yield MaskableRolloutBufferSamples(*(column.index_select(0, part) for column in self.table))

    order: np.random.Generator  # set by the trainer, and saved with it


class SelfPlayPPO(MaskablePPO):
    """MaskablePPO that collects from every seat of SelfPlayGames."""

    rollout_buffer: SeatBuffer
    chance: np.random.Generator
    onlooker_share: float
    times: dict[str, float]

    def collect(self, games: SelfPlayGames) -> None:
        """Fill the buffer: one decision in every game, so many times."""
        buffer = self.rollout_buffer
        buffer.reset()
        self.policy.set_training_mode(False)
        words = np.zeros(4, np.uint32)
        seed_generator(words, int(self.chance.integers(2**63)))
        for step in range(self.n_steps):
            values, actions, logs = self._choose(games.observations, games.masks, words)
            buffer.movers[step], buffer.learning[step] = games.movers, games.learning
            games.replace_actions_of_pool(actions)
            self._watch(games, step)
            buffer.observations[step], buffer.action_masks[step] = games.observations, games.masks
            buffer.actions[step, :, 0], buffer.values[step], buffer.log_probs[step] = actions, values, logs
            start = time.perf_counter()
            games.step(actions)
            self.times["environment"] += time.perf_counter() - start
            buffer.seat_rewards[step], buffer.over[step] = games.seat_rewards, games.over
        buffer.full, buffer.pos = True, self.n_steps
        buffer.finish(self._values_of_all_seats(games))
        self.num_timesteps += self.n_steps * self.n_envs

    def _choose(self, observations: np.ndarray, masks: np.ndarray, words: np.ndarray) -> tuple[np.ndarray, ...]:
        """Values, actions and their log-probabilities for the players to act."""
        check_masks(masks)
        logits, values = self._network(observations)
        actions, logs = np.empty(len(masks), np.int64), np.empty(len(masks), np.float32)
        sample_rows(words, logits, masks, np.empty(masks.shape[1]), actions)
        log_shares(logits, masks, actions, logs)
        return values, actions, logs

    def _network(self, observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        with torch.no_grad():
            hidden = self.policy.extract_features(torch.from_numpy(observations))
            return self.policy.action_net(hidden).numpy(), self.policy.value_net(hidden).numpy()[:, 0]

    def _watch(self, games: SelfPlayGames, step: int) -> None:
        """Let a seat that is not to act look on in some of the games."""
        number = int(self.onlooker_share * games.num_envs)
        if number == 0:
            return
        slots = np.sort(self.chance.choice(games.num_envs, number, replace=False))
        left = 1 + (self.chance.random(number) * (games.seats[slots] - 1)).astype(np.int64)
        seats = (games.movers[slots] + left) % games.seats[slots]
        self.rollout_buffer.watching[step, slots] = seats
        self.rollout_buffer.onlookers.append(games.observe(slots, seats))

    def _values_of_all_seats(self, games: SelfPlayGames) -> np.ndarray:
        """The value of the positions reached, to every seat by its own observation."""
        found = np.zeros((games.num_envs, SEATS), np.float32)
        for seat in range(int(games.seats.max())):
            slots = np.flatnonzero(games.seats > seat)
            found[slots, seat] = self._network(games.observe(slots, np.full(len(slots), seat)))[1]
        return found

    def weights(self) -> Weights:
        """The network as plain arrays."""
        trunk = [layer for layer in self.policy.features_extractor.layers if isinstance(layer, nn.Linear)]
        layers = [*trunk, self.policy.action_net, self.policy.value_net]
        parts = [(layer.weight.detach().numpy().T.copy(), layer.bias.detach().numpy().copy()) for layer in layers]
        return Weights(tuple(parts[:-2]), parts[-2], parts[-1])


def keep_memory() -> None:
    """Have the allocator keep what it was given back: an update asks for the same megabytes again and again, and
    taking them from the system anew, page by page, costs a third of its time. Only glibc can be told."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        for setting in (M_MMAP_THRESHOLD, M_TRIM_THRESHOLD):
            mallopt(setting, KEPT_BYTES)


def make_model(
    env: Any, settings: PpoSettings, trunk: list[int], seed: int, kind: type[MaskablePPO] = SelfPlayPPO, **more: Any
) -> Any:
    """The model with its network: orthogonal weights, a shared trunk, Adam."""
    torch.set_num_threads(1)  # two collapse when the machine is busy, and the other core has games to play
    options: dict[str, Any] = {
        "learning_rate": lambda left: settings.learning_rate * left,
        "n_steps": settings.steps,
        "batch_size": settings.batch,
        "n_epochs": settings.epochs,
        "gamma": settings.gamma,
        "gae_lambda": settings.trace,
        "clip_range": settings.clip,
        "ent_coef": settings.entropy,
        "vf_coef": settings.value,
        "seed": seed,
        "device": "cpu",
        "policy_kwargs": {
            "features_extractor_class": Trunk,
            "features_extractor_kwargs": {"widths": trunk},
            "net_arch": {"pi": [], "vf": []},
            "ortho_init": True,
        },
    }
    policy = LeanPolicy if kind is SelfPlayPPO else MaskableActorCriticPolicy
    return kind(policy, env, **{**options, **more})


class PpoTrainer:
    """Learning by self-play in rounds: collect from all games, update, now and then keep a past self."""

    def __init__(
        self,
        games: list[Game],
        settings: PpoSettings,
        trunk: list[int],
        seed: int,
        total: int,
        start: Weights | None = None,
    ) -> None:
        keep_memory()
        self.settings, self.total, self.rounds = settings, total, 0
        self.games = SelfPlayGames(games, settings.games, seed, settings.pool_games, settings.pool_size)
        self.model: SelfPlayPPO = make_model(
            self.games, settings, trunk, seed % 2**32, rollout_buffer_class=SeatBuffer, normalize_advantage=False
        )
        self.model.set_logger(Logger(None, []))
        self.model.chance = np.random.default_rng([seed, 1])
        self.model.rollout_buffer.order = np.random.default_rng([seed, 2])
        self.model.onlooker_share = settings.onlookers
        self.model.times = {"environment": 0.0, "collecting": 0.0, "learning": 0.0}
        if start is not None:
            self.set_weights(start)
        self.games.reset()

    @property
    def decisions(self) -> int:
        return self.model.num_timesteps

    def advance(self) -> dict[str, float]:
        """One round; returns what there is to know of it."""
        model, before = self.model, dict(self.model.times)
        if self.rounds % self.settings.pool_every == 0:
            self.games.add_to_pool(model.weights())
        start, finished = time.perf_counter(), self.games.finished
        model.collect(self.games)
        model._update_current_progress_remaining(min(self.decisions, self.total), self.total)
        left = model._current_progress_remaining
        model.ent_coef = self.settings.last_entropy + (self.settings.entropy - self.settings.last_entropy) * left
        collected = time.perf_counter()
        model.train()
        learned = time.perf_counter()
        model.times["collecting"] += collected - start
        model.times["learning"] += learned - collected
        self.rounds += 1
        told = {key.removeprefix("train/"): float(value) for key, value in model.logger.name_to_value.items()}
        model.logger.name_to_value.clear()
        seconds = {key: model.times[key] - before[key] for key in model.times}
        return told | {
            "games": self.games.finished - finished,
            "pool_score": float(np.mean(self.games.pool.scores)),
            "decisions_per_second": self.model.n_steps * self.games.num_envs / (learned - start),
            "environment_share": seconds["environment"] / (learned - start),
        }

    def weights(self) -> Weights:
        return self.model.weights()

    def set_weights(self, weights: Weights) -> None:
        """Start from a network of the same shape."""
        own = [p for layer in self.weights().layers for p in layer]
        given = [p for layer in weights.layers for p in layer]
        if [a.shape for a in own] != [b.shape for b in given]:
            raise BadOption("the network to start from has another shape: set `trunk` as it is there")
        trunk = [layer for layer in self.model.policy.features_extractor.layers if isinstance(layer, nn.Linear)]
        layers = [*trunk, self.model.policy.action_net, self.model.policy.value_net]
        with torch.no_grad():
            for layer, (matrix, bias) in zip(layers, weights.layers, strict=True):
                layer.weight.copy_(torch.from_numpy(matrix.T.copy()))
                layer.bias.copy_(torch.from_numpy(bias))

    # -- going on later ----------------------------------------------------------------------------

    def save(self, folder: Path) -> None:
        """All that is needed to go on to the bit: network, optimizer, games in flight, pool, generators."""
        from safetensors.numpy import save

        arrays, facts = self.games.snapshot()
        for number, member in enumerate(self.games.pool.members):
            arrays |= {f"pool{number}.{key}": array for key, array in member.arrays().items()}
        arrays |= {f"network.{key}": array for key, array in self.weights().arrays().items()}
        optimizer = self.model.policy.optimizer.state_dict()["state"]
        for number, state in optimizer.items():
            arrays |= {f"adam{number}.{key}": np.atleast_1d(value.numpy()) for key, value in state.items()}
        facts |= {"rounds": self.rounds, "decisions": self.decisions, "optimizer": sorted(optimizer)}
        facts |= {"updates": self.model._n_updates, "pool": len(self.games.pool.members)}
        facts |= {
            "chance": self.model.chance.bit_generator.state,
            "order": self.model.rollout_buffer.order.bit_generator.state,
        }
        write_bytes(folder / "arrays.safetensors", save({k: np.ascontiguousarray(v) for k, v in arrays.items()}))
        write_text(folder / "facts.json", json.dumps(facts) + "\n")

    def load(self, folder: Path) -> None:
        from safetensors.numpy import load

        arrays = load((folder / "arrays.safetensors").read_bytes())
        facts = json.loads((folder / "facts.json").read_text())
        members = [Weights.from_arrays(_part(arrays, f"pool{number}.")) for number in range(facts["pool"])]
        self.games.restore(arrays, facts, members)
        self.set_weights(Weights.from_arrays(_part(arrays, "network.")))
        optimizer = self.model.policy.optimizer
        state = {
            n: {k: torch.from_numpy(v.copy()) for k, v in _part(arrays, f"adam{n}.").items()}
            for n in facts["optimizer"]
        }
        for parts in state.values():
            parts["step"] = parts["step"][0]
        optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
        self.rounds, self.model.num_timesteps, self.model._n_updates = (
            facts["rounds"],
            facts["decisions"],
            facts["updates"],
        )
        self.model.chance.bit_generator.state = facts["chance"]
        self.model.rollout_buffer.order.bit_generator.state = facts["order"]


def _part(arrays: dict[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {key.removeprefix(prefix): array for key, array in arrays.items() if key.startswith(prefix)}
