"""`airenv evaluate`: one agent against fields of others, at any tables, as a YAML file says; killed, it goes on."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator
from rich.console import Console, Group, RenderableType

from airenv.core.files import write_text
from experiments.configs import as_yaml, load_config
from experiments.designs import seatings
from experiments.matches import Score, as_table, number_of_deals, score
from experiments.playing import GamesConfig, play_through, say_goodbye
from experiments.ratings import won_by_seat
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
        if len(set(self.against)) < len(self.against):
            raise ValueError("against: an agent is named twice")
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


def scores(config: EvaluateConfig, rows: Iterable[Row]) -> dict[str, list[Score]]:
    """The share of the wins in every match, so far as it was played, for every game and its options."""
    shares: dict[str, dict[tuple[int, str], dict[int, list[float]]]] = {}
    for row in rows:
        field = next(line for line in row.agents if line != config.agent)
        won = won_by_seat(row.ranks)[row.agents.index(config.agent)]
        others = [f"{key}={value}" for key, value in sorted(row.options.items()) if key != "players"]
        matches = shares.setdefault(", ".join([row.game, *others]), {})
        matches.setdefault((row.players, field), {}).setdefault(row.deal, []).append(won)
    found = {}
    for title, matches in shares.items():
        order = sorted(matches, key=lambda match: (match[0], config.against.index(match[1])))
        deals = {match: np.array([np.mean(deal) for deal in matches[match].values()]) for match in order}
        found[title] = [score(config.agent, field, players, deals[players, field]) for players, field in order]
    return found


def standings(config: EvaluateConfig, rows: Sequence[Row]) -> RenderableType:
    found = scores(config, rows)
    return Group(*(as_table(f"{title}: share of the wins", of_table) for title, of_table in found.items()))


def as_json(found: dict[str, list[Score]]) -> list[dict[str, Any]]:
    """Every match as a row, without the shares of its single deals."""
    rows = [{"table": title, **vars(score)} for title, of_table in found.items() for score in of_table]
    return [{key: value for key, value in row.items() if key != "shares"} for row in rows]


def start(console: Console, file: Path, changes: Sequence[str] = (), dry_run: bool = False) -> bool:
    """Play the matches, or go on with them; False if they were stopped before their end."""
    config = load_config(EvaluateConfig, file, list(changes))
    config.check()
    if dry_run:
        console.print(as_yaml(config), soft_wrap=True)
        return True
    done, rows = play_through(console, config, plan(config), partial(standings, config))
    console.print(standings(config, rows))
    write_text(config.folder / "scores.json", json.dumps(as_json(scores(config, rows)), indent=2) + "\n")
    say_goodbye(console, config, done)
    return done


if __name__ == "__main__":
    from experiments.cli import main

    main(["evaluate", *sys.argv[1:]])
