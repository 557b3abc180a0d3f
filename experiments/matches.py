"""One agent against a field of others: duplicate deals, every seat, an interval.

A deal is played once for each seat the agent can have, the field in all the others, so that neither cards nor
seats favour anybody: two agents that play alike come out at exactly a fair share. Intervals come from a bootstrap
over deals, as the games of a deal are not independent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

import airenv
from agents import make_agent
from agents.executors import available_cores
from agents.match import play_game
from airenv.byhand import Game
from airenv.seat import Agent

BOOTSTRAP = 4000
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Score:
    """How an agent did: its share of the wins, a fair share being 1 / players, with a 95% interval."""

    agent: str
    field: str
    players: int
    games: int
    share: float
    low: float
    high: float
    shares: tuple[float, ...] = ()  # of each deal

    @property
    def fair(self) -> float:
        return 1.0 / self.players

    @property
    def verdict(self) -> str:
        if self.low > self.fair:
            return "better"
        return "worse" if self.high < self.fair else "no difference shown"


def deal_share(game: Game, agent: str | Agent, field: str, deal: int) -> float:
    """The agent's share of the wins of a deal, over all the seats it can have."""
    wins = 0.0
    judge = airenv.game(game.name, board=game.board_name, **{**game.options.model_dump(), "reward": "win"})
    for seat in range(game.players):
        players = [_seated(agent) if seat == other else make_agent(field) for other in range(game.players)]
        state, _ = play_game(game, players, deal)
        wins += float(judge.returns(state)[seat])
    return wins / game.players


def _seated(agent: str | Agent) -> Agent:
    return make_agent(agent) if isinstance(agent, str) else agent


def interval(shares: np.ndarray) -> tuple[float, float]:
    """The 95% interval of a mean, by a bootstrap."""
    rng = np.random.default_rng(1)
    means = shares[rng.integers(len(shares), size=(BOOTSTRAP, len(shares)))].mean(1)
    low, high = np.quantile(means, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def play_match(
    game: Game,
    agent: str | Agent,
    field: str,
    games: int,
    seed: int = 0,
    workers: int | None = None,
    tell: Callable[[float], object] = lambda share: None,
) -> Score:
    """So many games, or a few more: whole deals are played. `tell` is told each deal's share as it is known."""
    name = _seated(agent).name  # mistakes are told before anything is played
    make_agent(field)
    deals = range(seed, seed + number_of_deals(game, games))
    shares = []
    with ThreadPoolExecutor(workers or available_cores()) as pool:
        try:
            for share in pool.map(lambda deal: deal_share(game, agent, field, deal), deals):
                shares.append(share)
                tell(share)
        except BaseException:  # Ctrl-C: the deals not begun are not played
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return score(agent if isinstance(agent, str) else name, field, game.players, np.array(shares))


def report(
    console: Console, tables: list[Game], pairs: Sequence[tuple[str, str]], games: int, seed: int
) -> list[Score]:
    """Play every pair at every table and print a row for each."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    found = []
    with Progress(*columns, console=console, transient=True) as progress:
        for game in tables:
            for agent, field in pairs:
                total = number_of_deals(game, games)
                bar = progress.add_task(f"{game.players} players: {agent} against {field}, deals", total=total)
                found.append(play_match(game, agent, field, games, seed, tell=partial(advance, progress, bar)))
                progress.remove_task(bar)
    console.print(as_table(f"{tables[0].facts.title}: share of the wins", found))
    return found


def advance(progress: Progress, bar: Any, share: float) -> None:
    """Move a bar on by a deal."""
    progress.advance(bar)


def as_table(title: str, scores: Sequence[Score]) -> Table:
    table = Table("players", "agent", "against", "games", "wins", "95% interval", "fair", "", title=title)
    for s in scores:
        share, span, fair = f"{s.share:.1%}", f"{s.low:.1%} - {s.high:.1%}", f"{s.fair:.1%}"
        table.add_row(str(s.players), s.agent, s.field, str(s.games), share, span, fair, s.verdict)
    return table


def number_of_deals(game: Game, games: int) -> int:
    return -(-games // game.players)


def score(agent: str, field: str, players: int, shares: np.ndarray) -> Score:
    """What the shares of some deals come to."""
    low, high = interval(shares)
    return Score(agent, field, players, len(shares) * players, float(shares.mean()), low, high, tuple(shares.tolist()))
