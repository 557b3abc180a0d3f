"""Replays: seed, options and actions, and a hash of where they lead."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from airenv.byhand import Game
from airenv.core.boards import problems
from airenv.core.errors import AirenvError, BadReplay
from airenv.core.files import write_text
from airenv.core.random import SEED_MAX, valid_seed

FORMAT: Literal[1] = 1


class Replay(BaseModel):
    """A game as it was played, or played so far. `digest` is the hash of the state it ends in."""

    model_config = ConfigDict(extra="forbid", strict=True)

    format: Literal[1] = FORMAT
    game: str
    seed: Annotated[int, Field(ge=0, le=SEED_MAX)]
    options: dict[str, Any]  # of the game, board and reward included
    rules: int
    agents: list[str]
    actions: list[int] = Field(default_factory=list)
    digest: str = ""
    finished: bool = False

    def engine(self) -> Game:
        """The game this was played in."""
        wrong = {"name"} & set(self.options)
        if wrong or not all(isinstance(self.options.get(key, ""), str) for key in ("board", "reward")):
            raise BadReplay("the options of the replay are not those of a game")
        game = Game(self.game, **self.options)
        if len(self.agents) != game.players:
            raise BadReplay(f"a replay of {game.players} players names {len(self.agents)} agents")
        return game


def start_replay(game: Game, seed: int, agents: list[str]) -> Replay:
    options = {**game.options.model_dump(), "board": game.board_name, "reward": game.reward}
    return Replay(game=game.name, seed=valid_seed(seed), options=options, rules=game.facts.rules, agents=agents)


def finish_replay(replay: Replay, game: Game, state: np.ndarray) -> Replay:
    """Note where the actions led."""
    replay.digest = game.digest(state)
    replay.finished = game.is_over(state)
    return replay


def save_replay(replay: Replay, path: Path) -> None:
    write_text(path, replay.model_dump_json() + "\n")


def load_replay(path: Path) -> Replay:
    """Read a replay; a BadReplay says what is wrong with a file that is none."""
    try:
        return Replay.model_validate_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BadReplay(f"there is no file {path}") from None
    except ValidationError as error:
        raise BadReplay(f"{path} is not a replay: {'; '.join(problems(error)[:5])}") from None
    except (OSError, ValueError) as error:
        raise BadReplay(f"{path} cannot be read: {error}") from None


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
    if game.digest(state) != replay.digest or game.is_over(state) != replay.finished:
        raise BadReplay("the replay does not lead to the state it promises: the file or the rules have changed")
    return game, state
