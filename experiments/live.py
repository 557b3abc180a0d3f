"""What a run of games shows: the ladder as it forms, and the tables at its end."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Column, Table
from rich.text import Text

from experiments.populations import Across
from experiments.ratings import Pair, Rating, SeatRow
from experiments.units import Row

WIDE = 70  # columns of a screen that all of a ladder fits on
REFRESH = 2.0  # seconds between two looks at the ladder, at the least
FIRST_NOTE = "making ready: whatever has never been compiled here is compiled now"
SHARE_OF_TIME = 0.1  # that looking may take, at the most


class LiveView:
    """A bar with games a second and time left, and the standings below it."""

    def __init__(
        self,
        console: Console,
        title: str,
        total: int,
        standings: Callable[[Sequence[Row]], RenderableType],
        before: Sequence[Row] = (),
    ) -> None:
        bars = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"))
        self._progress = Progress(*bars, TimeElapsedColumn(), TimeRemainingColumn(), console=console)
        self._bar = self._progress.add_task(f"{title}, games", total=total, completed=len(before), rate="")
        self._standings = standings
        self._live = Live(
            Group(self._progress, Text(FIRST_NOTE)), console=console, refresh_per_second=4, transient=True
        )
        self._rows = list(before)
        self._table: RenderableType = Text("")
        self._played, self._start, self._next = 0, time.perf_counter(), 0.0

    def __enter__(self) -> LiveView:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def show(self, rows: Sequence[Row], note: str = "") -> None:
        """Some more games have been played."""
        self._rows += [replace(row, replay="") for row in rows]
        self._played += len(rows)
        now = time.perf_counter()
        rate = f"{self._played / max(now - self._start, 1e-9):,.1f} games/s"
        self._progress.update(self._bar, completed=len(self._rows), rate=rate)
        if now >= self._next and self._live.console.is_terminal:
            self._table = self._standings(self._rows)
            spent = time.perf_counter() - now
            self._next = now + spent + max(REFRESH, spent / SHARE_OF_TIME)
        self._live.update(Group(self._progress, self._table, Text(note)))


def ladder_table(title: str, ratings: Sequence[Rating], width: int = WIDE) -> Table:
    """The ladder; on a narrow screen without what matters least."""
    columns: dict[str, Callable[[Rating], str]] = {
        "rating": lambda r: f"{r.rating:.0f}",
        "95% interval": lambda r: f"{r.low:.0f} - {r.high:.0f}",
    }
    if width >= WIDE:
        columns |= {
            "seats": lambda r: f"{r.games:,}",
            "wins": lambda r: f"{r.wins:.1%}",
            "fair": lambda r: f"{r.fair:.1%}",
            "mean rank": lambda r: f"{r.mean_rank:.2f}",
            "ms/move": lambda r: f"{r.ms_per_move:.2f}",
        }
    if any(rating.errors for rating in ratings):
        columns["errors"] = lambda r: str(r.errors)
    table = Table(Column("agent", overflow="fold"), *columns, title=title)
    for rating in ratings:
        table.add_row(rating.agent, *(cell(rating) for cell in columns.values()))
    return table


def pairs_table(pairs: Sequence[Pair], agents: Sequence[str]) -> Table:
    """Who ranks before whom how often, and how likely the one is the better one."""
    found = {(pair.agent, pair.other): pair for pair in pairs}
    table = Table("before", *agents, title="ranked before another: share (games; likelihood of superiority)")
    for agent in agents:
        cells = []
        for other in agents:
            pair = found.get((agent, other))
            cells.append(f"{pair.share:.1%} ({pair.games:,}; {pair.superiority:.0%})" if pair else "")
        table.add_row(agent, *cells)
    return table


def seats_table(rows: Sequence[SeatRow]) -> Table:
    table = Table("players", "seat", "games", "wins", "95% interval", "fair", title="by seat")
    for r in rows:
        span = f"{r.low:.1%} - {r.high:.1%}"
        table.add_row(str(r.players), str(r.seat), f"{r.games:,}", f"{r.wins:.1%}", span, f"{r.fair:.1%}")
    return table


def across_table(found: Across) -> Table:
    """What all tables say together: each votes on every two agents."""
    table = Table("agent", "maximal lottery", "alpha-rank", title=f"over {len(found.games)} tables, each a voter")
    order = sorted(range(len(found.agents)), key=lambda i: (-found.lottery[i], -found.alpha_rank[i]))
    for i in order:
        table.add_row(found.agents[i], f"{found.lottery[i]:.1%}", f"{found.alpha_rank[i]:.1%}")
    return table
