"""Checkpoints: `NAME.safetensors` with the network, `NAME.json` with what it is, bound together by a hash."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from agents.weights import BadCheckpoint, Weights, layout_hash
from airenv.byhand import Game
from airenv.core.boards import problems
from airenv.core.files import write_bytes, write_text

FORMAT = 1


class Manifest(BaseModel):
    """What a checkpoint is: enough to refuse it where it does not fit, and to know where it comes from."""

    model_config = ConfigDict(extra="forbid")

    format: int = FORMAT
    game: str
    rules: int
    layout: str  # hash of the layout of observations and actions
    board: str
    reward: str
    players: list[int]
    trunk: list[int]  # the widths of its layers
    sha256: str  # of the file with the weights
    training: dict[str, Any] = {}  # facts of how it was made


@dataclass(frozen=True)
class Checkpoint:
    """A network and what it is."""

    weights: Weights
    manifest: Manifest

    def fit(self, game: Game) -> Weights:
        """The network, if it is one for this game; a BadCheckpoint says why not."""
        if self.manifest.game != game.name:
            raise BadCheckpoint(f"a checkpoint of {self.manifest.game} cannot play {game.name}")
        if self.manifest.rules != game.facts.rules:
            versions = f"rules version {self.manifest.rules} of {game.name}; this is version {game.facts.rules}"
            raise BadCheckpoint(f"a checkpoint of {versions}")
        if self.manifest.layout != layout_hash(game):
            raise BadCheckpoint(
                f"a checkpoint of another layout of {game.name}'s observations or actions: train it anew"
            )
        if (self.weights.observation_size, self.weights.num_actions) != (game.observation_size, game.num_actions):
            raise BadCheckpoint(
                f"a network of {self.weights.observation_size} inputs and {self.weights.num_actions} actions; "
                f"{game.name} has {game.observation_size} and {game.num_actions}"
            )
        return self.weights


def paths_of(path: Path) -> tuple[Path, Path]:
    """The two files of a checkpoint, however it was named: with or without an ending, or by its run's folder."""
    if path.is_dir():
        path = path / "best"
    stem = path.with_suffix("") if path.suffix in (".safetensors", ".json") else path
    return stem.with_name(f"{stem.name}.safetensors"), stem.with_name(f"{stem.name}.json")


def save_checkpoint(path: Path, weights: Weights, games: list[Game], training: dict[str, Any]) -> None:
    """Write both files, each whole or not at all, the one that names the other last."""
    from safetensors.numpy import save

    data = save(weights.arrays())
    game = games[0]
    manifest = Manifest(
        game=game.name,
        rules=game.facts.rules,
        layout=layout_hash(game),
        board=Path(game.board_name).name,
        reward=game.reward,
        players=[g.players for g in games],
        trunk=[matrix.shape[1] for matrix, _ in weights.trunk],
        sha256=hashlib.sha256(data).hexdigest(),
        training=training,
    )
    tensors, facts = paths_of(path)
    write_bytes(tensors, data)
    write_text(facts, manifest.model_dump_json(indent=2) + "\n")


def load_checkpoint(path: str | Path) -> Checkpoint:
    """Read a checkpoint; a BadCheckpoint says what is wrong with one that is none."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    tensors, facts = paths_of(Path(path))
    try:
        manifest = Manifest.model_validate_json(facts.read_text(encoding="utf-8"))
        data = tensors.read_bytes()
    except FileNotFoundError as error:
        raise BadCheckpoint(f"there is no checkpoint {path}: {error.filename} is missing") from None
    except ValidationError as error:
        raise BadCheckpoint(f"{facts} is no manifest: {'; '.join(problems(error)[:5])}") from None
    except (OSError, ValueError) as error:
        raise BadCheckpoint(f"{path} cannot be read: {error}") from None
    if manifest.format != FORMAT:
        raise BadCheckpoint(f"{facts} has format {manifest.format}; this is format {FORMAT}")
    if hashlib.sha256(data).hexdigest() != manifest.sha256:
        raise BadCheckpoint(f"{tensors} is not the file its manifest speaks of: it was cut short or changed")
    try:
        arrays: dict[str, np.ndarray] = load(data)
    except (SafetensorError, ValueError, json.JSONDecodeError) as error:
        raise BadCheckpoint(f"{tensors} holds no tensors: {error}") from None
    weights = Weights.from_arrays(arrays)
    if [matrix.shape[1] for matrix, _ in weights.trunk] != manifest.trunk:
        raise BadCheckpoint(f"{tensors} has another architecture than its manifest says")
    return Checkpoint(weights, manifest)
