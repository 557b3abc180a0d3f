"""The agent `ppo:PATH`: a trained network that answers at once, without any search."""

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
    widest,
)
from agents.parameters import Parameter, read_parameters
from agents.weights import Weights
from airenv.byhand import Game
from airenv.core.errors import BadOption
from airenv.core.random import seed_generator
from airenv.seat import Seat

PICKS = ("best", "sampled")


@lru_cache(maxsize=32)
def _loaded(path: str, stamp: float) -> Checkpoint:
    return load_checkpoint(path)


def loaded(path: str) -> Checkpoint:
    """A checkpoint, read again only when its file has changed."""
    tensors, _ = paths_of(Path(path))
    return _loaded(path, tensors.stat().st_mtime if tensors.exists() else 0.0)


class PolicyAgent:
    """A trained network: its likeliest action, or one drawn by its shares."""

    kind = "ppo"
    takes_path = True
    parameters: ClassVar[dict[str, Parameter]] = {
        "pick": Parameter("its likeliest move, or one drawn by its shares", "best", names=PICKS)
    }

    def __init__(self, path: str = "", weights: Weights | None = None, name: str = "", **given: object) -> None:
        self.pick: str = read_parameters(self.kind, self.parameters, given)["pick"]
        if weights is None and not path:
            raise BadOption("ppo needs a checkpoint, as in ppo:runs/NAME/best or ppo:agents/zoo/GAME")
        self._checkpoint = None if weights is not None else loaded(path)
        self._weights = weights if weights is not None else self._checkpoint.weights  # type: ignore[union-attr]
        self.name = name or f"ppo:{path}" + (",pick=sampled" if self.pick == "sampled" else "")
        self._numbers, self._shapes = packed(self._weights)

    def weights_for(self, game: Game) -> Weights:
        """The network; an error if it is one for another game."""
        return self._weights if self._checkpoint is None else self._checkpoint.fit(game)

    def act(self, seat: Seat, rng: np.random.Generator) -> int:
        self.weights_for(seat.game)
        logits = np.empty(seat.game.num_actions, np.float32)
        hidden = np.empty((2, widest(self._shapes)), np.float32)
        forward_one(self._numbers, self._shapes, seat.observation, hidden, logits)
        if self.pick == "best":
            return int(likeliest(logits, seat.action_mask))
        shares, words = np.empty(len(logits)), np.zeros(4, np.uint32)
        seed_generator(words, int(rng.integers(2**63)))
        masked_softmax(logits, seat.action_mask, shares)
        return int(sample(words, shares, seat.action_mask))

    def act_batch(self, observations: np.ndarray, masks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """An action for every row of a batch: what tournaments of networks use."""
        actions = np.empty(len(masks), np.int64)
        if not masks.any(axis=1).all():
            raise BadOption("a row of the masks has no legal action")
        logits, values = np.empty(masks.shape, np.float32), np.empty(len(masks), np.float32)
        hidden = np.empty((2, widest(self._shapes)), np.float32)
        forward_rows(self._numbers, self._shapes, observations, hidden, logits, values)
        if self.pick == "best":
            likeliest_rows(logits, masks, actions)
        else:
            words = np.zeros(4, np.uint32)
            seed_generator(words, int(rng.integers(2**63)))
            sample_rows(words, logits, masks, np.empty(masks.shape[1]), actions)
        return actions
