"""How strong the agents are in every game: `python -m experiments.strength` writes the table in agents/README.md."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import airenv
from airenv.core.errors import BadOption
from airenv.core.files import write_text
from experiments.matches import Score, report

PAIRS = (
    ("greedy", "random"),
    ("mcts:sims=1000", "greedy"),
    ("mcts:sims=4000", "mcts:sims=250"),
)
PAGE = Path(__file__).resolve().parents[1] / "agents" / "README.md"
BEGIN, END = "<!-- strength: begin -->", "<!-- strength: end -->"
HEAD = ("game", "players", "agent", "against", "games", "wins", "95% interval", "fair share", "")


def rows(name: str, scores: Sequence[Score]) -> list[str]:
    found = []
    for s in scores:
        cells = [name, str(s.players), f"`{s.agent}`", f"`{s.field}`", str(s.games), f"{s.share:.1%}"]
        cells += [f"{s.low:.1%} - {s.high:.1%}", f"{s.fair:.1%}", s.verdict]
        found.append(f"| {' | '.join(cells)} |")
    return found


def insert(page: str, lines: Sequence[str]) -> str:
    """The page with its table replaced."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise BadOption(f"{PAGE} has no place for the table: {BEGIN} ... {END}")
    return "\n".join([before + BEGIN, "", *lines, "", END + after])


def main(
    games: Annotated[int, typer.Option(min=2, help="Games for each pair and number of players.")] = 400,
    seed: Annotated[int, typer.Option(min=0, help="The first deal.")] = 50_000,
) -> None:
    """Play every pair in every game at every number of players, and write the table."""
    console = Console(highlight=False)
    command = f"python -m experiments.strength --games {games} --seed {seed}"
    lines = [f"Written by `{command}`.", "", f"| {' | '.join(HEAD)} |", "|" + "---|" * len(HEAD)]
    insert(PAGE.read_text(encoding="utf-8"), lines)  # a page without a place for it is told before anything is played
    for name in airenv.game_names():
        tables = [airenv.game(name, players=players) for players in airenv.facts(name).players]
        lines += rows(name, report(console, tables, PAIRS, games, seed))
    write_text(PAGE, insert(PAGE.read_text(encoding="utf-8"), lines))
    console.print(f"wrote {PAGE}", soft_wrap=True)


if __name__ == "__main__":
    typer.run(main)
