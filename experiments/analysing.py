"""`airenv analyse`: what a search makes of a position of a saved game."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from agents import make_agent
from agents.mcts import SearchAgent
from agents.search import Finding, Search
from airenv.byhand import Game
from airenv.core.errors import BadOption, GameOver
from airenv.replay import final_state, load_replay
from airenv.seat import Seat
from experiments.thinking import think


def analyse(console: Console, file: Path, move: int, line: str, lines: int, seed: int) -> None:
    """Search the position before a move and tell what was found, from what the player to move knows."""
    agent = make_agent(line)
    if not isinstance(agent, SearchAgent):
        raise BadOption(f"{line} does not search: analyse with mcts, az, flat or pimc")
    replay = load_replay(file)
    game, _ = final_state(replay)
    last = len(replay.actions) - replay.finished
    if move > last:
        raise (GameOver if replay.finished else BadOption)(f"{file} has moves to analyse from 0 to {last}, not {move}")
    state = game.new(replay.seed)
    for action in replay.actions[:move]:
        game.apply(state, action)
    played = replay.actions[move] if move < len(replay.actions) else None
    seat = Seat(game, state)
    console.print(Panel(Text(game.table(state, seat.index)), title=f"{game.facts.title}, before move {move}"))
    console.print(Text(f"Player {seat.index} to move, holding {game.hand(state, seat.index)}"))
    search = agent.search(seat, np.random.default_rng(seed))
    found = think(console, agent, f"{agent.name} searches", lambda: agent.run(search, seat))
    console.print(moves_table(game, found, seat.index, played))
    for action in [m.action for m in found.moves if m.visits][:lines]:
        console.print(Text(in_words(game, search, action)), soft_wrap=True)
    console.print(Text(summary(found)), soft_wrap=True)


def moves_table(game: Game, found: Finding, seat: int, played: int | None) -> Table:
    """The moves, the best first: how often each was tried, and what it is worth to every seat."""
    seats = (f"P{s}" for s in range(game.players))
    table = Table("move", "visits", "share", "available", *seats, box=SIMPLE_HEAD, pad_edge=False)
    table.caption = f"values: the mean {game.reward} reward of each seat" + (
        ", * as played" if played is not None else ""
    )
    for column in table.columns[1:]:
        column.justify, column.no_wrap = "right", True
    for m in found.moves:
        values = [f"{value:+.3f}" if m.visits else "" for value in m.values]
        values[seat] = f"[bold]{values[seat]}[/bold]" if values[seat] else ""
        name = game.action_name(m.action) + (" *" if m.action == played else "")
        share = m.visits / max(found.iterations, 1)
        table.add_row(Text(name), f"{m.visits:,}", f"{share:.1%}", f"{m.available:,}", *map(Text.from_markup, values))
    return table


def in_words(game: Game, search: Search, action: int) -> str:
    """The line most often searched after a move."""
    told = [
        f"Player {reply.mover}: {game.action_name(reply.action)} ({reply.visits:,})"
        for reply in search.variation(action)
    ]
    return " - ".join(told)


def summary(found: Finding) -> str:
    rate = found.iterations / max(found.seconds, 1e-9)
    return (
        f"{found.iterations:,} simulations in {found.seconds:.2f} s ({rate:,.0f} a second), "
        f"{found.decisions:,} decisions, {found.nodes:,} nodes, {found.deepest} moves deep"
    )
