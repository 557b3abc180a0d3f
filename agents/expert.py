"""Expert iteration: games of self-play in which a guided search decides, and a network that learns what it found.

All games go on in step, so that the searches of a decision are one batch. The network learns the search's visits as
its policy and the reward each seat came to as its value; with the better network, the search is a better one.
"""

from __future__ import annotations

import json
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict, Field

from agents.az import EXPLORATION, Guidance, guided_search
from agents.weights import Weights
from airenv.byhand import Game
from airenv.core.errors import BadOption
from airenv.core.files import write_bytes, write_text
from airenv.vector import VectorGames, game_seed

UNKNOWN = -1  # the game of a position whose rewards are known
FORBIDDEN = -1e9  # the logit of an action that is not legal
HEAD_GAINS = (0.01, 1.0)  # of policy and value: at first, all legal moves are about alike
LARGEST_GRADIENT = 1.0
TINY = 1e-9


class ExpertSettings(BaseModel):
    """How expert iteration plays and learns."""

    model_config = ConfigDict(extra="forbid")

    games: int = Field(default=256, ge=1, description="games played side by side")
    steps: int = Field(default=32, ge=1, description="decisions in each of them between two updates")
    sims: int = Field(default=32, ge=2, description="simulations of the search at every decision")
    exploration: float = Field(default=EXPLORATION, gt=0, description="c of the search")
    noise: float = Field(default=0.25, ge=0, le=1, description="share of noise in the prior at the root")
    noise_sum: float = Field(default=10.0, gt=0, description="the noise's concentration, shared out to the legal moves")
    temperature: float = Field(default=1.0, gt=0, description="moves are drawn by visits to the power of 1 / this")
    drawn: int = Field(default=60, ge=0, description="decisions of a game that are drawn; then it is the most visited")
    kept: float = Field(default=1.0, gt=0, le=1, description="share of the decisions learned from; less in long games")
    onlookers: float = Field(default=0.25, ge=0, le=1, description="values of seats not to act, for each decision kept")
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
        self, games: list[Game], settings: ExpertSettings, trunk: list[int], seed: int, start: Weights | None = None
    ) -> None:
        torch.set_num_threads(1)  # two collapse when the machine is busy
        if settings.games < len(games):
            raise BadOption(f"{settings.games} games cannot be shared out among {len(games)} numbers of players")
        self.settings, self.decisions, self.finished = settings, 0, 0
        self.owed = 0.0  # updates
        self.chance, self.order = (np.random.default_rng([seed, stream]) for stream in (1, 2))
        weights = new_weights(games[0], trunk, np.random.default_rng([seed, 3]))
        if start is not None and [m.shape for m, _ in start.layers] != [m.shape for m, _ in weights.layers]:
            raise BadOption("the network to start from has another shape: set `trunk` as it is there")
        self.network = Network(weights if start is None else start, settings)
        self.window = Window(settings.window, games[0].observation_size, games[0].num_actions)
        edges = np.linspace(0, settings.games, len(games) + 1).astype(int).tolist()
        self.first = edges[:-1]  # the first slot of each table
        counts = [b - a for a, b in pairwise(edges)]
        self.tables = [
            _table(game, count, game_seed(seed, number, 0))
            for number, (game, count) in enumerate(zip(games, counts, strict=True))
        ]
        self.seen = [table.reset(table.seed) for table in self.tables]

    def weights(self) -> Weights:
        return self.network.weights()

    def advance(self) -> dict[str, float]:
        """One round; returns what there is to know of it."""
        start, decisions = time.perf_counter(), self.decisions
        weights = self.weights()
        lengths: list[int] = []
        for _ in range(self.settings.steps):
            for number in range(len(self.tables)):
                lengths += self._decide(number, weights)
        played = time.perf_counter()
        told = self._learn()
        spent = time.perf_counter() - start
        self.finished += len(lengths)
        told |= {"games": len(lengths), "positions": len(self.window.known()), "search_share": (played - start) / spent}
        if lengths:
            told["length"] = float(np.mean(lengths))
        return told | {"decisions_per_second": (self.decisions - decisions) / spent}

    # -- playing -----------------------------------------------------------------------------------

    def _decide(self, number: int, weights: Weights) -> list[int]:
        """A decision in every game of a table; returns the lengths of the games it ended."""
        table, (seen, info) = self.tables[number], self.seen[number]
        states, movers = table.states(), info["player"]
        found = self._search(table.game, weights, states, seen["action_mask"])
        decided = found.masks.sum(axis=1, keepdims=True) > 1
        shares = np.where(decided, found.visits / found.visits.sum(axis=1, keepdims=True), 0.0)
        slots = self.first[number] + np.arange(table.num_envs)
        kept = np.flatnonzero(self.chance.random(table.num_envs) < self.settings.kept)
        self.window.add(seen["observation"][kept], found.masks[kept], shares[kept], slots[kept], movers[kept])
        self._watch(number, movers)
        after, rewards, ended, cut, info = table.step(self._pick(found.visits, states["steps"]))
        self.seen[number] = after, info
        over = np.flatnonzero(ended | cut)
        self.owed += self.window.reward(slots[over], rewards[over]) * self.settings.reuse / self.settings.batch
        self.decisions += table.num_envs
        return (states["steps"][over] + 1).tolist()

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

    def _watch(self, number: int, movers: np.ndarray) -> None:
        """Keep what a seat that is not to act sees in some of the games, to learn its value."""
        table, actions = self.tables[number], self.window.masks.shape[1]
        count = int(self.settings.onlookers * self.settings.kept * table.num_envs)
        if count == 0 or table.game.players == 1:
            return
        slots = np.sort(self.chance.choice(table.num_envs, count, replace=False))
        seats = (movers[slots] + self.chance.integers(1, table.game.players, count)) % table.game.players
        nothing = np.zeros((count, actions), np.int8)
        self.window.add(table.observe(slots, seats), nothing, nothing, self.first[number] + slots, seats)

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
        for number, table in enumerate(self.tables):
            arrays |= {f"table{number}.{key}": array for key, array in table.snapshot().items()}
        facts: dict[str, Any] = {"decisions": self.decisions, "finished": self.finished, "owed": self.owed}
        facts["added"] = self.window.added
        facts |= {"chance": self.chance.bit_generator.state, "order": self.order.bit_generator.state}
        write_bytes(folder / "arrays.safetensors", save({k: np.ascontiguousarray(v) for k, v in arrays.items()}))
        write_text(folder / "facts.json", json.dumps(facts) + "\n")

    def load(self, folder: Path) -> None:
        from safetensors.numpy import load

        arrays = load((folder / "arrays.safetensors").read_bytes())
        facts = json.loads((folder / "facts.json").read_text())
        self.window.restore(part(arrays, "window."), facts["added"])
        self.network.restore(part(arrays, "network."))
        self.seen = [table.restore(part(arrays, f"table{number}.")) for number, table in enumerate(self.tables)]
        self.decisions, self.finished, self.owed = facts["decisions"], facts["finished"], facts["owed"]
        self.chance.bit_generator.state, self.order.bit_generator.state = facts["chance"], facts["order"]


def _table(game: Game, count: int, seed: int) -> VectorGames:
    options = {**game.options.model_dump(), "board": game.board_name, "reward": game.reward}
    return VectorGames(game.name, count, seed=seed, **options)


def part(arrays: dict[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    """The arrays whose names begin so, by the rest of their names."""
    return {key.removeprefix(prefix): array for key, array in arrays.items() if key.startswith(prefix)}
