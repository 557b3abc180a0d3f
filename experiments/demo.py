"""`make demo`: a small bot learns each game and meets the others at every seat; a report with plots tells how they did.

A deal is played once for each rotation of the seats, so that neither cards nor seats favour anybody;
intervals come from a bootstrap over deals.
"""

from __future__ import annotations

import base64
import html
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn, track
from rich.table import Table

import airenv
from agents import make_agent
from agents.checkpoints import save_checkpoint
from agents.match import play_game
from agents.ppo import PpoSettings, PpoTrainer
from airenv.byhand import Game
from airenv.core.files import write_text
from airenv.replay import save_replay
from experiments.bench import random_play, rate

OTHERS = ("mcts:sims=100", "greedy", "random")
BOOTSTRAP = 2000
BOT = PpoSettings(games=192, batch=512, learning_rate=1e-3, entropy=0.01, last_entropy=0.002, onlookers=0.0)


@dataclass(frozen=True)
class Standing:
    """An agent's wins as a multiple of its fair share, with a 95% interval."""

    agent: str
    games: int
    mean: float
    low: float
    high: float


def train_bot(console: Console, name: str, decisions: int, path: Path) -> str:
    """Let a small network learn a game by self-play, at all numbers of players; returns its agent line."""
    games = [airenv.game(name, players=players) for players in airenv.facts(name).players]
    trainer = PpoTrainer(games, BOT, [64, 64], 1, decisions)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, TextColumn("{task.fields[rate]}"), console=console, transient=True) as progress:
        bar = progress.add_task(f"a bot learns {name}", total=decisions, rate="")
        while trainer.decisions < decisions:
            rate = trainer.advance()["decisions_per_second"]
            progress.update(bar, completed=trainer.decisions, rate=f"{rate:,.0f} decisions/s")
    save_checkpoint(path, trainer.weights(), games, {"decisions": trainer.decisions})
    console.print(f"a bot has learned {name} from {trainer.decisions:,} decisions of self-play: {path}", soft_wrap=True)
    return f"ppo:{path}"


def seated(agents: Sequence[str], players: int, deal: int, rotation: int) -> list[str]:
    """Who sits where: the agents in turn, moved on by deal and rotation."""
    line_up = [agents[(deal + place) % len(agents)] for place in range(players)]
    return [line_up[(seat + rotation) % players] for seat in range(players)]


def play_deals(game: Game, lines_of_all: Sequence[str], deals: int) -> np.ndarray:
    """results[deal, agent]: wins and games of each agent in all rotations of a deal."""
    results = np.zeros((deals, len(lines_of_all), 2))
    agents = {line: make_agent(line) for line in lines_of_all}
    for deal in track(range(deals), f"{game.name}, {game.players} players", transient=True):
        for rotation in range(game.players):
            lines = seated(lines_of_all, game.players, deal, rotation)
            state, _ = play_game(game, [agents[line] for line in lines], seed=deal)
            for line, win in zip(lines, game.returns(state), strict=True):
                results[deal, lines_of_all.index(line)] += (win, 1)
    return results


def standings(results: np.ndarray, agents: Sequence[str], players: int) -> list[Standing]:
    """Wins over a fair share of them, with intervals from a bootstrap over deals."""
    rng = np.random.default_rng(1)
    picks = rng.integers(len(results), size=(BOOTSTRAP, len(results)))
    found = []
    for number, agent in enumerate(agents):
        wins, games = results[:, number, 0], results[:, number, 1]
        # an agent may sit out some deals, and a sample may hold none but those
        resampled = wins[picks].sum(1) / np.maximum(games[picks].sum(1), 1) * players
        low, high = np.quantile(resampled, [0.025, 0.975])
        found.append(Standing(agent, int(games.sum()), wins.sum() / games.sum() * players, low, high))
    return sorted(found, key=lambda s: -s.mean)


def as_table(title: str, found: list[Standing]) -> Table:
    table = Table("agent", "games", "wins (1 = a fair share)", "95% interval", title=title)
    for s in found:
        table.add_row(s.agent, str(s.games), f"{s.mean:.2f}", f"{s.low:.2f} - {s.high:.2f}")
    return table


def plot(title: str, found: list[Standing]) -> bytes:
    """The standings as a picture."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 0.6 * len(found) + 1.2), layout="constrained")
    axes = figure.add_subplot()
    for row, s in enumerate(reversed(found)):
        axes.errorbar(s.mean, row, xerr=[[s.mean - s.low], [s.high - s.mean]], fmt="o", capsize=4, color="tab:blue")
    axes.set_yticks(range(len(found)), [s.agent for s in reversed(found)])
    axes.set_ylim(-0.6, len(found) - 0.4)
    axes.axvline(1.0, color="gray", linestyle=":")
    axes.set_xlabel("wins, as a multiple of a fair share (bars: 95% interval)")
    axes.set_title(title)
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=120)
    return out.getvalue()


def section(title: str, found: list[Standing], speed: float) -> str:
    """A game's part of the report."""
    rows = "".join(
        f"<tr><td>{html.escape(s.agent)}</td><td>{s.games}</td><td>{s.mean:.2f}</td>"
        f"<td>{s.low:.2f} - {s.high:.2f}</td></tr>"
        for s in found
    )
    image = base64.b64encode(plot(title, found)).decode()
    return (
        f"<h2>{html.escape(title)}</h2><table><tr><th>agent</th><th>games</th><th>wins (1 = a fair share)</th>"
        f'<th>95% interval</th></tr>{rows}</table><img alt="standings" src="data:image/png;base64,{image}">'
        f"<p>Compiled random play on one core of this machine: {speed / 1e6:.1f} million decisions a second.</p>"
    )


def page(sections: list[str], pictures: list[str]) -> str:
    style = (
        "body{font-family:sans-serif;max-width:60em;margin:2em auto}"
        "td,th{padding:.2em .8em;border:1px solid #ccc}table{border-collapse:collapse}img{max-width:100%}"
    )
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>airenv demo</title><style>{style}</style>'
        f"<h1>airenv: the players there are, at every seat</h1>{''.join(sections)}"
        f"<h2>A table</h2>{''.join(pictures)}</html>\n"
    )


def main(
    deals: Annotated[int, typer.Option(min=2, help="Deals for each game and number of players.")] = 150,
    decisions: Annotated[int, typer.Option(min=1, help="Decisions each bot learns from.")] = 800_000,
    out: Annotated[Path, typer.Option(help="The folder of the report.")] = Path("runs/demo"),
) -> None:
    """Train a small bot for every game, play it against the others and write a report with plots."""
    console = Console(highlight=False)
    sections, pictures, figures = [], [], {}
    for name in airenv.game_names():
        agents = (train_bot(console, name, decisions, out / f"{name}-bot"), *OTHERS)
        for players in airenv.facts(name).players:
            game = airenv.game(name, players=players, reward="win")
            found = standings(play_deals(game, agents, deals), agents, players)
            title = f"{game.facts.title}, {players} players"
            console.print(as_table(title, found))
            sections.append(section(title, found, rate(random_play(game), 0.3)))
            figures[f"{name}/{players}"] = [vars(s) for s in found]
        _, replay = play_game(game, [make_agent(agents[0])] * game.players, seed=1)
        save_replay(replay, out / f"{name}.json")
        pictures.append(game.svg(game.random_position(1, 60), 0))
    write_text(out / "standings.json", json.dumps(figures, indent=2) + "\n")
    write_text(out / "report.html", page(sections, pictures))
    console.print(f"wrote {out / 'report.html'}", soft_wrap=True)


if __name__ == "__main__":
    typer.run(main)
