"""`make demo`: a small bot learns a game by self-play and meets the others in a tournament; a report tells how it did.

What is done already is not done again: stopped at any moment, the same command goes on.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

from airenv.core.errors import AirenvError
from experiments import report, tournament, train
from experiments.configs import Config, as_yaml, load_config

FILE = Path(__file__).resolve().parents[1] / "configs" / "demo.yaml"


class DemoConfig(Config):
    """A bot that learns, and a tournament it takes part in."""

    kind: Literal["demo"] = "demo"
    train: train.TrainConfig
    tournament: tournament.TournamentConfig


def run(console: Console, config: DemoConfig) -> bool:
    """Learn, play, report; False if it was stopped."""
    if not train.begin_or_go_on(console, config.train):
        return False
    if not tournament.play(console, config.tournament):
        return False
    path = report.write_report(console, config.tournament.folder)
    console.print(f"the report, with plots and replays: {path}", soft_wrap=True)
    return True


def main(
    file: Annotated[Path, typer.Argument(help="What is learned, and who plays.")] = FILE,
    changes: Annotated[list[str] | None, typer.Argument(help="Overrides, as `train.decisions=200000`.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the resolved configuration and stop.")] = False,
) -> None:
    """Train a small bot, play it against the others and write a report with plots."""
    console = Console(highlight=False, markup=False)
    try:
        config = load_config(DemoConfig, file, changes or [])
        if dry_run:
            console.print(as_yaml(config), soft_wrap=True)
        elif not run(console, config):
            raise typer.Exit(130)
    except (AirenvError, OSError) as error:
        console.print(f"error: {error}", style="red", soft_wrap=True)
        sys.exit(2)


if __name__ == "__main__":
    typer.run(main)
