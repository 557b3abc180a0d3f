"""A policy and value network as plain arrays: what a checkpoint holds and every way to run it reads.

A trunk of linear layers with ReLU, and two linear heads on it: a logit for each action, and the reward the
observing seat can expect. Weights are stored input by output, so that a row of inputs times a matrix is a layer.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

import numpy as np

from airenv.byhand import Game
from airenv.core.errors import AirenvError


class BadCheckpoint(AirenvError):
    """A file that is no checkpoint, is damaged, or belongs to another game or layout."""


@dataclass(frozen=True)
class Weights:
    """The layers of the trunk, then the policy head, then the value head; each (matrix [in, out], bias [out])."""

    trunk: tuple[tuple[np.ndarray, np.ndarray], ...]
    policy: tuple[np.ndarray, np.ndarray]
    value: tuple[np.ndarray, np.ndarray]

    @property
    def layers(self) -> list[tuple[np.ndarray, np.ndarray]]:
        return [*self.trunk, self.policy, self.value]

    @property
    def observation_size(self) -> int:
        return self.layers[0][0].shape[0]

    @property
    def num_actions(self) -> int:
        return self.policy[0].shape[1]

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays by name, as a checkpoint stores them."""
        names = [*(f"trunk.{number}" for number in range(len(self.trunk))), "policy", "value"]
        return {
            f"{name}.{part}": array
            for name, layer in zip(names, self.layers, strict=True)
            for part, array in zip(("matrix", "bias"), layer, strict=True)
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Weights:
        """The network the named arrays are; a BadCheckpoint says what does not fit."""
        depth = len([name for name in arrays if name.startswith("trunk.")]) // 2
        names = [*(f"trunk.{number}" for number in range(depth)), "policy", "value"]
        if set(arrays) != {f"{name}.{part}" for name in names for part in ("matrix", "bias")}:
            raise BadCheckpoint(f"a network has a trunk, a policy and a value, not {', '.join(sorted(arrays))}")
        layers = [
            tuple(np.ascontiguousarray(arrays[f"{name}.{part}"], np.float32) for part in ("matrix", "bias"))
            for name in names
        ]
        width = layers[0][0].shape[0]
        for name, (matrix, bias) in zip(names, layers, strict=True):
            wide = layers[depth - 1][0].shape[1] if name in ("policy", "value") and depth else width
            if matrix.ndim != 2 or matrix.shape[0] != wide or bias.shape != matrix.shape[1:]:
                raise BadCheckpoint(f"layer {name} has shapes {matrix.shape} and {bias.shape}: they do not fit")
            if not (np.isfinite(matrix).all() and np.isfinite(bias).all()):
                raise BadCheckpoint(f"layer {name} holds numbers that are not finite")
            width = matrix.shape[1]
        if layers[-1][0].shape[1] != 1:
            raise BadCheckpoint("a value head has one output")
        return cls(tuple(layers[:-2]), layers[-2], layers[-1])  # type: ignore[arg-type]

    def forward(self, observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Logits and values of a batch of observations, by matrix products."""
        hidden = observations
        for matrix, bias in self.trunk:
            hidden = hidden @ matrix
            hidden += bias
            np.maximum(hidden, 0.0, out=hidden)
        return hidden @ self.policy[0] + self.policy[1], (hidden @ self.value[0] + self.value[1])[:, 0]


def layout_hash(game: Game) -> str:
    """Differs when an observation or an action of two games does not mean the same."""
    slices = {name: [part.start, part.stop] for name, part in getattr(game._layout, "SLICES", {}).items()}
    what = [game.name, game.facts.rules, game.observation_size, game.num_actions, slices]
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()[:16]
