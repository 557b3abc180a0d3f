"""The agent `ppo:PATH`: a trained network that answers at once, without any search; `ppo` is the one that ships."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import ClassVar

import numpy as np

from agents.checkpoints import Checkpoint, load_checkpoint, paths_of
from agents.forward import (
    forward_one,
    forward_rows,
    likeliest,
    likeliest_rows,
    masked_softmax,
    packed,
    sample,
    sample_rows,
    workspace,
)
from agents.parameters import Parameter, read_parameters
from agents.weights import BadCheckpoint, Weights
from airenv.byhand import Game
from airenv.core.errors import BadOption
from airenv.core.random import seed_generator
from airenv.seat import Seat

PICKS = ("best", "sampled")
ZOO = Path(__file__).parent / "zoo"


@lru_cache(maxsize=32)
def _loaded(path: str, stamp: float) -> Checkpoint:
    return load_checkpoint(path)


def loaded(path: str) -> Checkpoint:
    """A checkpoint, read again only when its file has changed."""
    tensors, _ = paths_of(Path(path))
    return _loaded(path, tensors.stat().st_mtime if tensors.exists() else 0.0)


class Network:
    """The network an agent's line means: given, read from a path, or the one that ships for the game played."""

    def __init__(self, path: str = "", weights: Weights | None = None) -> None:
        self.path, self._given = path, weights
        self._checkpoint = loaded(path) if path else None
        self._packed: dict[str, tuple[np.ndarray, np.ndarray]] = {}

    def checkpoint_for(self, name: str) -> Checkpoint | None:
        """Where the network of a game comes from, unless it was given as it is."""
        return None if self._given is not None else self._checkpoint or shipped(name)

    def weights_for(self, game: Game) -> Weights:
        """The network for a game; a BadCheckpoint if it is one for another."""
        checkpoint = self.checkpoint_for(game.name)
        return checkpoint.fit(game) if checkpoint else self._given  # type: ignore[return-value]

    def packed_for(self, game: Game) -> tuple[np.ndarray, np.ndarray]:
        """The same, as compiled code takes it."""
        if game.name not in self._packed:
            self._packed[game.name] = packed(self.weights_for(game))
        return self._packed[game.name]


def shipped(name: str) -> Checkpoint:
    """The checkpoint that ships for a game."""
    path = ZOO / name
    if not paths_of(path)[0].exists():
        known = ", ".join(sorted(file.stem for file in ZOO.glob("*.safetensors"))) or "none"
        raise BadCheckpoint(f"no network ships for {name} (there are: {known}): name a checkpoint, as in ppo:runs/NAME")
    return loaded(str(path))


class PolicyAgent:
    """A trained network: its likeliest action, or one drawn by its shares."""

    kind = "ppo"
    takes_path = True
    parameters: ClassVar[dict[str, Parameter]] = {
        "pick": Parameter("its likeliest move, or one drawn by its shares", "best", names=PICKS)
    }

    def __init__(self, path: str = "", weights: Weights | None = None, name: str = "", **given: object) -> None:
        self.pick: str = read_parameters(self.kind, self.parameters, given)["pick"]
        self._network = Network(path, weights)
        parts = [part for part in (path, "pick=sampled" if self.pick == "sampled" else "") if part]
        self.name = name or ":".join([self.kind, ",".join(parts)] if parts else [self.kind])

    def act(self, seat: Seat, rng: np.random.Generator) -> int:
        numbers, shapes = self._network.packed_for(seat.game)
        logits = np.empty(seat.game.num_actions, np.float32)
        forward_one(numbers, shapes, seat.observation, workspace(shapes), logits)
        if self.pick == "best":
            return int(likeliest(logits, seat.action_mask))
        shares, words = np.empty(len(logits)), np.zeros(4, np.uint32)
        seed_generator(words, int(rng.integers(2**63)))
        masked_softmax(logits, seat.action_mask, shares)
        return int(sample(words, shares, seat.action_mask))

    def act_batch(
        self, game: Game, observations: np.ndarray, masks: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """An action for every row of a batch: what tournaments of networks use."""
        numbers, shapes = self._network.packed_for(game)
        actions = np.empty(len(masks), np.int64)
        if not masks.any(axis=1).all():
            raise BadOption("a row of the masks has no legal action")
        logits, values = np.empty(masks.shape, np.float32), np.empty(len(masks), np.float32)
        forward_rows(numbers, shapes, observations, workspace(shapes), logits, values)
        if self.pick == "best":
            likeliest_rows(logits, masks, actions)
        else:
            words = np.zeros(4, np.uint32)
            seed_generator(words, int(rng.integers(2**63)))
            sample_rows(words, logits, masks, np.empty(masks.shape[1]), actions)
        return actions
