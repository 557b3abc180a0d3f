"""`airenv tune`: which search settings are best in a game, by matches, kept as data in the game's folder.

One thing after another is varied, the rest as found so far: rollout, its random moves, the prior, exploration, the
number of trees. Every candidate plays the same deals against a field of the game's rule of thumb, one seat after
the other, with as many simulations as it can make in the same time.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

import airenv
from agents.mcts import TUNED, MctsAgent
from airenv.byhand import Game
from airenv.core.errors import BadOption
from airenv.core.files import write_text
from airenv.seat import Seat
from experiments.matches import Score, advance, interval, number_of_deals, play_match

FIELD = "greedy"
START: dict[str, Any] = {"rollout": "random", "prior": 0.5, "c": 0.3, "trees": 1}
STAGES: dict[str, list[dict[str, Any]]] = {
    "rollout": [
        {"rollout": "random"},
        {"rollout": "greedy", "epsilon": 0.1},
        *({"rollout": "cutoff", "epsilon": 0.1, "depth": depth} for depth in (0, 8, 20, 40)),
    ],
    "epsilon": [{"epsilon": epsilon} for epsilon in (0.0, 0.1, 0.3)],
    "prior": [{"prior": prior} for prior in (0.0, 0.25, 0.5, 0.75)],
    "c": [{"c": c} for c in (0.1, 0.2, 0.3, 0.5, 0.8)],
    "trees": [{"trees": trees} for trees in (1, 2, 4, 8)],
}
POSITIONS = 6  # on which speeds are measured


@dataclass(frozen=True)
class Trial:
    """A candidate and how it did."""

    stage: str
    settings: dict[str, Any]
    score: Score


def line_of(settings: dict[str, Any], sims: int) -> str:
    return f"mcts:sims={sims}," + ",".join(f"{key}={value}" for key, value in settings.items())


def sims_in(game: Game, settings: dict[str, Any], ms: float) -> int:
    """How many simulations a candidate makes in so many milliseconds: the median over positions of random games."""
    agent, made = MctsAgent(**settings), []
    for number in range(POSITIONS):
        seat = Seat(game, game.random_position(number, 30 + 10 * number))
        search = agent.search(seat, np.random.default_rng(number))
        search.run(ms=10.0)
        made.append(search.run(ms=30.0).iterations / search.finding().seconds)
    return max(1, round(float(np.median(made)) * ms / 1000.0))


def choose(stage: str, trials: list[Trial]) -> Trial:
    """The best of a stage; of trees, the most that are not clearly worse, as they let more threads work."""
    best = max(trials, key=lambda trial: trial.score.share)
    if stage != "trees":
        return best
    return [t for t in trials if interval(np.array(best.score.shares) - np.array(t.score.shares))[0] <= 0.0][-1]


def tune(game: Game, games: int, ms: float, seed: int, progress: Progress) -> tuple[dict[str, Any], list[Trial]]:
    """The settings found for a game with so many players, and all that was tried."""
    found, tried = dict(START), []
    for stage, variations in STAGES.items():
        if stage == "epsilon" and (found["rollout"] == "random" or found.get("depth") == 0):
            continue  # no move of a rollout is made by the rule of thumb
        trials = []
        for variation in variations:
            settings = found | variation
            line = line_of(settings, sims_in(game, settings, ms))
            bar = progress.add_task(f"{game.players} players, {line}", total=number_of_deals(game, games))
            score = play_match(game, line, FIELD, games, seed, tell=partial(advance, progress, bar))
            progress.remove_task(bar)
            trials.append(Trial(stage, settings, score))
            told = f"{stage:8s} {score.share:.3f} [{score.low:.3f}, {score.high:.3f}]  {line}"
            progress.console.print(told, soft_wrap=True)
        found = dict(choose(stage, trials).settings)
        tried += trials
    return found, tried


def as_toml(command: str, found: dict[int, dict[str, Any]], tried: Iterable[Trial]) -> str:
    lines = [
        f"# Written by `{command}`.",
        "# The settings measured to be best for `mcts`, by number of players, and below them every match: the share of",
        f"# the wins of one agent in a field of `{FIELD}`, with a 95% interval over deals; all seats, equal time.",
    ]
    for players, settings in found.items():
        lines += ["", f"[players.{players}]", *(f"{key} = {_toml(value)}" for key, value in settings.items())]
    for trial in tried:
        s = trial.score
        row = {"stage": trial.stage, "players": s.players, "agent": s.agent, "games": s.games}
        row |= {"share": round(s.share, 4), "low": round(s.low, 4), "high": round(s.high, 4)}
        lines += ["", "[[measured]]", *(f"{key} = {_toml(value)}" for key, value in row.items())]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def run(console: Console, name: str, games: int, ms: float, seed: int, out: Path | None) -> None:
    """Tune a game at every number of players and write what was found."""
    facts = airenv.facts(name)
    path = out or airenv.game(name).folder / TUNED
    if path.exists() and not path.is_file():
        raise BadOption(f"{path} is no file")
    command = shlex.join(["airenv", "tune", name, "--games", str(games), "--ms", f"{ms:g}", "--seed", str(seed)])
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    found, tried = {}, []
    with Progress(*columns, console=console, transient=True) as progress:
        for players in facts.players:
            found[players], trials = tune(airenv.game(name, players=players), games, ms, seed, progress)
            tried += trials
            console.print(f"{players} players: {found[players]}")
    write_text(path, as_toml(command, found, tried))
    console.print(f"wrote {path}", soft_wrap=True)
