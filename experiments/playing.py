"""Runs made of games: what their configurations have in common, and how their units are played into the results."""

from __future__ import annotations

import contextlib
import json
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
from pydantic import Field
from rich.console import Console, RenderableType

import airenv
from agents import make_agent
from agents.executors import Kind, make_executor
from airenv.core.files import write_text
from airenv.seat import Seat
from experiments.configs import BadConfig, Config, as_yaml, read_yaml, versions
from experiments.live import LiveView
from experiments.results import Results
from experiments.units import Budget, Row, Unit, open_table, play_units

SECONDS_A_PIECE = 2.0
LARGEST_PIECE = 500  # games
WARM_PLIES = 8  # into a game, where there is something to choose


class Table(Config):
    """A game, at some numbers of players."""

    game: str
    players: list[int] = Field(default=[], description="none: all there are")
    options: dict[str, Any] = Field(default={}, description="of the game: board, variants ...")


class Limits(Config):
    """What a decision may cost, alike for all agents that search."""

    sims: int | None = Field(default=None, ge=1)
    ms: float | None = Field(default=None, gt=0)


class GamesConfig(Config):
    """What every run made of games has."""

    name: str = Field(min_length=1, pattern=r"^[\w.-]+$", description="of the run, and of its folder")
    tables: list[Table] = Field(min_length=1)
    seed: int = Field(default=0, ge=0, le=2**62, description="the first deal")
    budget: Limits = Limits()
    timeout: float | None = Field(default=60.0, gt=0, description="seconds; who takes longer for a decision loses")
    executor: Kind = Field(default="processes", description="where games are played")
    workers: int | None = Field(default=None, ge=1, description="none: as many as there are cores")
    address: str | None = Field(default=None, description="of a Ray cluster, such as auto")
    results: str | None = Field(default=None, description="an SQLite file; by default in the run's folder")
    out: str = Field(default="runs", description="the folder of runs")

    may_change: ClassVar[frozenset[str]] = frozenset({"executor", "workers", "address"})  # when a run goes on

    @property
    @abstractmethod
    def lines(self) -> list[str]:
        """The agent lines of the run."""

    @property
    def folder(self) -> Path:
        return Path(self.out) / self.name

    @property
    def results_file(self) -> Path:
        return Path(self.results) if self.results else self.folder / "results.sqlite"

    @property
    def limits(self) -> Budget:
        return Budget(self.budget.sims, self.budget.ms, self.timeout)

    def seats(self) -> list[tuple[str, tuple[tuple[str, Any], ...]]]:
        """Every game and number of players, as units name them; a table that cannot be opened says why."""
        found = []
        for table in self.tables:
            for players in table.players or airenv.facts(table.game).players:
                options = tuple(sorted({**table.options, "players": players}.items()))
                open_table(table.game, options)
                found.append((table.game, options))
        return found


class Play:
    """Plays units on the executor of a run and keeps them: the driver is the only one who writes."""

    def __init__(self, config: GamesConfig, units: Sequence[Unit], results: Results) -> None:
        self.config, self.results = config, results
        ids = {unit.id: unit for unit in units}
        known = results.known(ids)
        results.join(config.name, known)
        self.before = [row for row in results.rows(config.name) if row.unit in ids]
        self._todo = [unit for id_, unit in ids.items() if id_ not in known]
        self._seconds_a_game = SECONDS_A_PIECE

    def rows(self, warm: Callable[[], object]) -> Iterator[list[Row]]:
        """Play what is not there yet; hands over games as they are kept."""
        if not self._todo:
            return
        executor = make_executor(self.config.executor, self.config.workers, self.config.address)
        try:
            executor.warm(warm)
            for _, played in executor.results(_play_timed, self._pieces()):
                rows, seconds = played
                self._seconds_a_game += 0.3 * (seconds / len(rows) - self._seconds_a_game)
                self.results.add(self.config.name, rows)
                yield rows
        finally:
            executor.close()

    def _pieces(self) -> Iterator[tuple[Unit, ...]]:
        """Pieces of a few seconds each; what another run has played meanwhile is left out."""
        place = 0
        while place < len(self._todo):
            size = int(min(max(SECONDS_A_PIECE / max(self._seconds_a_game, 1e-6), 1), LARGEST_PIECE))
            piece = self._todo[place : place + size]
            place += size
            known = self.results.known([unit.id for unit in piece])
            self.results.join(self.config.name, known)
            if left := tuple(unit for unit in piece if unit.id not in known):
                yield left


def _play_timed(shared: None, units: Sequence[Unit]) -> tuple[list[Row], float]:
    start = time.perf_counter()
    rows = play_units(shared, units)
    return rows, time.perf_counter() - start


# -- a run from its beginning to its end -----------------------------------------------------------------


class Decision(Protocol):
    """Something that may end a run early."""

    def add(self, rows: Iterable[Row]) -> bool: ...
    def tell(self) -> str: ...


def play_through(
    console: Console,
    config: GamesConfig,
    units: Sequence[Unit],
    standings: Callable[[Sequence[Row]], RenderableType],
    decision: Decision | None = None,
) -> tuple[bool, list[Row]]:
    """Play what is not played yet, with a live view; whether it came to its end, and all games there are now."""
    for line in config.lines:
        make_agent(line)  # mistakes are told before anything is played
    claim(config)
    with Results(config.results_file) as results:
        play = Play(config, units, results)
        done = watch(console, config, play, len(units), standings, decision)
        if alarms := results.alarms():
            console.print(f"ALARM: {alarms} games that must repeat exactly did not: see table alarms", style="red")
        return done, list(results.rows(config.name))


def watch(
    console: Console,
    config: GamesConfig,
    play: Play,
    total: int,
    standings: Callable[[Sequence[Row]], RenderableType],
    decision: Decision | None,
) -> bool:
    """Play to the end or to the decision; False if somebody stopped it."""
    if decision and decision.add(play.before):
        return True
    with LiveView(console, config.name, total, standings, play.before) as view:
        try:
            for rows in play.rows(partial(warm, config)):
                decided = decision.add(rows) if decision else False
                view.show(rows, decision.tell() if decision else "")
                if decided:
                    break
        except KeyboardInterrupt:
            return False
    return True


def claim(config: GamesConfig) -> None:
    """Take the folder of a run, new or of this very configuration."""
    path = config.folder / "config.yaml"
    if path.exists():
        old, new = read_yaml(path), config.model_dump(mode="json")
        other = sorted(key for key in new if key not in config.may_change and old.get(key) != new[key])
        if other:
            raise BadConfig(f"{config.folder} is a run with another {', '.join(other)}: set another name=")
    write_text(path, as_yaml(config))
    write_text(config.folder / "versions.json", json.dumps(versions(), indent=2) + "\n")


def warm(config: GamesConfig) -> None:
    """One decision of every agent at every table: all that has to be compiled is, once."""
    for table in config.seats():
        game = open_table(*table)
        for line in config.lines:
            with contextlib.suppress(Exception):  # an agent that fails does so again in its games, and is counted there
                make_agent(line).act(Seat(game, game.random_position(1, WARM_PLIES)), np.random.default_rng(1))


def say_goodbye(console: Console, config: GamesConfig, done: bool) -> None:
    last = f"for a page with plots: airenv report {config.folder}" if done else "stopped; the same command goes on"
    console.print(last, soft_wrap=True)
