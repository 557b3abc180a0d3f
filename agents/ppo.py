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
from functools import partial
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

from agents.executors import Executor, Inline
from agents.returns import seat_returns
from agents.rollouts import NOBODY, Rollout, Round, collect_shard, play
from agents.selfplay import SelfPlayGames
from agents.shards import Shard, in_shard, part, shard_seed, shard_size
from agents.weights import Weights
from airenv.byhand import Game
from airenv.core.engine import MOST_SEATS as SEATS
from airenv.core.errors import BadOption
from airenv.core.files import write_bytes, write_text

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h
KEPT_BYTES = 2**30
FEWEST_STEPS = 2  # between two updates
NEVER = -1e8  # the logit of an action that cannot be chosen; finite, so that nothing times zero is no number

# Checking every distribution's arguments costs as much as the network.
torch.distributions.Distribution.set_default_validate_args(False)


class PpoSettings(BaseModel):
    """How PPO learns."""

    model_config = ConfigDict(extra="forbid")

    games: int = Field(default=1024, ge=1, description="games played side by side")
    shards: int = Field(default=1, ge=1, description="parts the games are split into, each played by one worker")
    steps: int = Field(default=64, ge=FEWEST_STEPS, description="decisions in each of them between two updates")
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
        self.watching = np.full(shape, NOBODY, np.int64)
        self.watched = np.zeros(shape, np.float32)
        self.onlookers: list[np.ndarray] = []  # what they saw, a block a step

    def rollout(self) -> Rollout:
        """This buffer's own arrays as a rollout to be filled."""
        return Rollout(
            *(self.observations, self.action_masks, self.actions[:, :, 0], self.values, self.log_probs, self.movers),
            *(self.learning, self.over, self.seat_rewards, self.watching, np.zeros((self.n_envs, SEATS), np.float32)),
            self.onlookers,
        )

    def finish(self, last_values: np.ndarray) -> None:
        """Compute what every decision was worth; last_values [game, seat] are of the positions reached."""
        self.full, self.pos = True, self.buffer_size
        seat_returns(
            *(self.values, self.seat_rewards, self.over, self.movers, last_values, self.gamma, self.gae_lambda),
            *(self.advantages, self.returns, self.watching, self.watched),
        )
        mine = self.advantages[self.learning]
        # over the learner's decisions only, and once for all minibatches: onlookers must stay at exactly zero
        self.advantages = (self.advantages - mine.mean()) / (mine.std() + 1e-8)

    def rows(self) -> MaskableRolloutBufferSamples:
        """The learner's decisions, then what onlookers saw, as tensors."""
        mine, seen = self.learning.reshape(-1), self.watching.reshape(-1) != NOBODY
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
        for rows in order.split(batch_size or len(order)):
            yield MaskableRolloutBufferSamples(*(column.index_select(0, rows) for column in self.table))

    order: np.random.Generator  # set by the trainer, and saved with it


class SelfPlayPPO(MaskablePPO):
    """MaskablePPO that collects from every seat of SelfPlayGames."""

    rollout_buffer: SeatBuffer
    onlooker_share: float
    times: dict[str, float]

    def collect(self, games: SelfPlayGames) -> None:
        """Fill the buffer: one decision in every game, so many times."""
        self.policy.set_training_mode(False)
        self.rollout_buffer.reset()
        rollout = self.rollout_buffer.rollout()
        play(games, self._network, self.onlooker_share, rollout)
        self._collected(rollout, rollout.seconds)

    def take(self, shards: list[Rollout], at_once: int) -> None:
        """Fill the buffer with what shards brought, so many of them collected at once."""
        self.rollout_buffer.reset()
        rollout = self.rollout_buffer.rollout()
        rollout.put(shards)
        self._collected(rollout, rollout.seconds / at_once)

    def _collected(self, rollout: Rollout, seconds: float) -> None:
        self.rollout_buffer.finish(rollout.last_values)
        self.times["environment"] += seconds
        self.num_timesteps += self.n_steps * self.n_envs

    def _network(self, observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        with torch.no_grad():
            hidden = self.policy.extract_features(torch.from_numpy(observations))
            return self.policy.action_net(hidden).numpy(), self.policy.value_net(hidden).numpy()[:, 0]

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
        executor: Executor | None = None,
    ) -> None:
        keep_memory()
        self.settings, self.total, self.rounds = settings, total, 0
        self.tables, self.executor = games, executor or Inline()
        each = shard_size(settings.games, settings.shards)
        self.shards = [
            SelfPlayGames(games, each, shard_seed(seed, number), settings.pool_games, settings.pool_size)
            for number in range(settings.shards)
        ]
        self.pool = self.games.pool
        for shard in self.shards:
            shard.pool = self.pool
        self.model = self._make_model(trunk, seed)
        if start is not None:
            self.set_weights(start)
        for shard in self.shards:
            shard.reset()
        if settings.shards > 1:
            short, task = self._round(FEWEST_STEPS), Shard(0, *self.games.snapshot())
            self.executor.warm(partial(collect_shard, short, task))

    def _make_model(self, trunk: list[int], seed: int) -> SelfPlayPPO:
        options: dict[str, Any] = {
            "rollout_buffer_class": SeatBuffer,
            "normalize_advantage": False,
            "_init_setup_model": False,
        }
        model: SelfPlayPPO = make_model(self.games, self.settings, trunk, seed % 2**32, **options)
        model.n_envs = self.settings.games  # the buffer holds those of all shards
        model._setup_model()
        model.set_logger(Logger(None, []))
        model.rollout_buffer.order = np.random.default_rng([seed, 2])
        model.onlooker_share = self.settings.onlookers
        model.times = {"environment": 0.0, "collecting": 0.0, "learning": 0.0}
        return model

    @property
    def games(self) -> SelfPlayGames:
        """The first shard: all games of a run that does not split them."""
        return self.shards[0]

    @property
    def decisions(self) -> int:
        return self.model.num_timesteps

    def advance(self) -> dict[str, float]:
        """One round; returns what there is to know of it."""
        model, before = self.model, dict(self.model.times)
        if self.rounds % self.settings.pool_every == 0:
            self.add_to_pool(model.weights())
        start, finished = time.perf_counter(), self._finished()
        if len(self.shards) == 1:
            model.collect(self.games)
        else:
            self._collect_shards()
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
            "games": self._finished() - finished,
            "pool_score": float(np.mean(self.pool.scores)),
            "decisions_per_second": model.n_steps * model.n_envs / (learned - start),
            "environment_share": seconds["environment"] / (learned - start),
        }

    def add_to_pool(self, weights: Weights) -> None:
        """Keep a past self, which games of all shards may meet."""
        places = self.pool.add(weights)
        for shard in self.shards:
            shard.renumber(places)

    def _finished(self) -> int:
        return sum(shard.finished for shard in self.shards)

    def _round(self, steps: int) -> Round:
        how = self.settings
        return Round(self.tables, self.games.num_envs, steps, how.onlookers, how.pool_games, self.pool, self.weights())

    def _collect_shards(self) -> None:
        """Have all shards collected by the executor; whichever is done first, they are put together in their order."""
        tasks = [Shard(number, *shard.snapshot()) for number, shard in enumerate(self.shards)]
        done = self.executor.results(collect_shard, tasks, self._round(self.settings.steps))
        found = {task.number: collected for task, collected in done}
        for number, shard in enumerate(self.shards):
            shard.restore(found[number].arrays, found[number].facts)
            for result in found[number].results:
                self.pool.note(*result)
        rollouts = [found[number].rollout for number in range(len(found))]
        self.model.take(rollouts, min(self.executor.workers, len(found)))

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

        arrays: dict[str, np.ndarray] = {}
        facts: dict[str, Any] = {"scores": self.pool.scores, "pool": len(self.pool.members)}
        for number, shard in enumerate(self.shards):
            kept, told = shard.snapshot()
            arrays |= {in_shard(number, key): array for key, array in kept.items()}
            facts |= {in_shard(number, key): fact for key, fact in told.items()}
        for number, member in enumerate(self.pool.members):
            arrays |= {f"pool{number}.{key}": array for key, array in member.arrays().items()}
        arrays |= {f"network.{key}": array for key, array in self.weights().arrays().items()}
        optimizer = self.model.policy.optimizer.state_dict()["state"]
        for number, state in optimizer.items():
            arrays |= {f"adam{number}.{key}": np.atleast_1d(value.numpy()) for key, value in state.items()}
        facts |= {"rounds": self.rounds, "decisions": self.decisions, "optimizer": sorted(optimizer)}
        facts |= {"updates": self.model._n_updates, "order": self.model.rollout_buffer.order.bit_generator.state}
        write_bytes(folder / "arrays.safetensors", save({k: np.ascontiguousarray(v) for k, v in arrays.items()}))
        write_text(folder / "facts.json", json.dumps(facts) + "\n")

    def load(self, folder: Path) -> None:
        from safetensors.numpy import load

        arrays = load((folder / "arrays.safetensors").read_bytes())
        facts = json.loads((folder / "facts.json").read_text())
        self.pool.members = [Weights.from_arrays(part(arrays, f"pool{number}.")) for number in range(facts["pool"])]
        self.pool.scores = facts["scores"]
        for number, shard in enumerate(self.shards):
            shard.restore(part(arrays, in_shard(number, "")), part(facts, in_shard(number, "")))
        self.set_weights(Weights.from_arrays(part(arrays, "network.")))
        optimizer = self.model.policy.optimizer
        state = {
            n: {k: torch.from_numpy(v.copy()) for k, v in part(arrays, f"adam{n}.").items()} for n in facts["optimizer"]
        }
        for parts in state.values():
            parts["step"] = parts["step"][0]
        optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
        self.rounds, self.model.num_timesteps, self.model._n_updates = (
            facts["rounds"],
            facts["decisions"],
            facts["updates"],
        )
        self.model.rollout_buffer.order.bit_generator.state = facts["order"]
