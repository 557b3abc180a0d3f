"""`airenv evaluate`: one agent against fields of others, at any tables, as a YAML file says; killed, it goes on."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator
from rich.console import Console
from rich.table import Table

from airenv.core.files import write_text
from experiments.configs import as_yaml, load_config
from experiments.designs import seatings
from experiments.matches import Score, as_table, number_of_deals, score
from experiments.playing import GamesConfig, play_through, say_goodbye
from experiments.units import Row, Unit, open_table


class EvaluateConfig(GamesConfig):
    """How an agent does against fixed opponents."""

    kind: Literal["evaluate"] = "evaluate"
    agent: str
    against: list[str] = Field(min_length=1, description="agent lines; each is a field of its own")
    games: int = Field(default=400, ge=2, description="of each match: whole deals, every seat in turn")

    @model_validator(mode="after")
    def _has_others(self) -> EvaluateConfig:
        if self.agent in self.against:
            raise ValueError(f"{self.agent} cannot be measured against itself: it would come out fair")
        return self

    may_change: ClassVar = GamesConfig.may_change | {"games"}

    @property
    def lines(self) -> list[str]:
        return [self.agent, *self.against]


def plan(config: EvaluateConfig) -> list[Unit]:
    """Every match, deal after deal."""
    found = []
    for table in config.seats():
        game = open_table(*table)
        for deal in range(number_of_deals(game, config.games)):
            for field in config.against:
                for seated in seatings((config.agent, *[field] * (game.players - 1)), "rotations"):
                    found.append(Unit(*table, seated, config.seed + deal, config.limits))
    return found


def scores(config: EvaluateConfig, rows: Iterable[Row]) -> list[Score]:
    """The share of the wins in every match, so far as it was played."""
    shares: dict[tuple[int, str], dict[str, list[float]]] = {}
    for row in rows:
        field = next(line for line in row.agents if line != config.agent)
        best = min(row.ranks)
        place = row.ranks[row.agents.index(config.agent)]
        won = 1.0 / row.ranks.count(best) if place == best else 0.0
        table = json.dumps([row.game, row.options], sort_keys=True)
        shares.setdefault((row.players, field), {}).setdefault(f"{table}:{row.deal}", []).append(won)
    matches = sorted(shares, key=lambda match: (match[0], config.against.index(match[1])))
    return [
        score(config.agent, field, players, np.array([np.mean(deal) for deal in shares[players, field].values()]))
        for players, field in matches
    ]


def standings(config: EvaluateConfig, rows: Sequence[Row]) -> Table:
    return as_table(f"{config.name}: share of the wins", scores(config, rows))


def start(console: Console, file: Path, changes: Sequence[str] = (), dry_run: bool = False) -> bool:
    """Play the matches, or go on with them; False if they were stopped before their end."""
    config = load_config(EvaluateConfig, file, list(changes))
    if dry_run:
        console.print(as_yaml(config), soft_wrap=True)
        return True
    done, rows = play_through(console, config, plan(config), partial(standings, config))
    console.print(standings(config, rows))
    told = [{key: value for key, value in vars(s).items() if key != "shares"} for s in scores(config, rows)]
    write_text(config.folder / "scores.json", json.dumps(told, indent=2) + "\n")
    say_goodbye(console, config, done)
    return done


if __name__ == "__main__":
    from experiments.cli import main

    main(["evaluate", *sys.argv[1:]])
