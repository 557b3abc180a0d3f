"""Replays: seed, options and actions, and a hash of where they lead."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from airenv.byhand import Game
from airenv.core.errors import AirenvError, BadReplay

FORMAT = 1


@dataclass
class Replay:
    """A game as it was played, or played so far. `digest` is the hash of the state it ends in."""

    game: str
    seed: int
    options: dict[str, Any]
    rules: int
    agents: list[str]
    actions: list[int] = field(default_factory=list)
    digest: str = ""
    finished: bool = False
    format: int = FORMAT

    def engine(self) -> Game:
        """The game this was played in."""
        return Game(self.game, **self.options)


def start_replay(game: Game, seed: int, agents: list[str]) -> Replay:
    options = {**game.options.model_dump(), "board": game.board_name, "reward": game.reward}
    return Replay(game.name, seed, options, game.facts.rules, agents)


def finish_replay(replay: Replay, game: Game, state: np.ndarray) -> Replay:
    """Note where the actions led."""
    replay.digest = game.digest(state)
    replay.finished = game.is_over(state)
    return replay


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all: to a temporary name, synced, renamed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def save_replay(replay: Replay, path: Path) -> None:
    write_text(path, json.dumps(asdict(replay)) + "\n")


def load_replay(path: Path) -> Replay:
    """Read a replay; a BadReplay says what is wrong with a file that is none."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BadReplay(f"there is no file {path}") from None
    except (OSError, ValueError) as error:
        raise BadReplay(f"{path} cannot be read as a replay: {error}") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise BadReplay(f"{path} is not a replay of format {FORMAT}")
    try:
        replay = Replay(**data)
    except TypeError as error:
        raise BadReplay(f"{path} is not a replay: {error}") from None
    if not isinstance(replay.actions, list) or not all(type(a) is int for a in replay.actions):
        raise BadReplay(f"{path}: actions must be a list of integers")
    return replay


def positions(replay: Replay) -> Iterator[tuple[Game, np.ndarray]]:
    """The position before every action and after the last; the same array, moved on."""
    game = replay.engine()
    if replay.rules != game.facts.rules:
        raise BadReplay(f"a replay of rules version {replay.rules}; this is version {game.facts.rules}")
    state = game.new(replay.seed)
    yield game, state
    for number, action in enumerate(replay.actions):
        try:
            game.apply(state, action)
        except AirenvError as error:
            raise BadReplay(f"action {number} of the replay cannot be made: {error}") from None
        yield game, state


def final_state(replay: Replay) -> tuple[Game, np.ndarray]:
    """Play a replay to its end and verify that it ends where it says."""
    *_, (game, state) = positions(replay)
    if game.digest(state) != replay.digest:
        raise BadReplay("the replay does not lead to the state it promises: the file or the rules have changed")
    return game, state
