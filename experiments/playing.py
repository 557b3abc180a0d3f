"""Runs made of games: what their configurations have in common, and how their units are played into the results."""

from __future__ import annotations

import contextlib
import json
import tempfile
import time
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from pydantic import Field, field_validator, model_validator
from rich.console import Console, RenderableType

import airenv
from agents import make_agent
from agents.executors import Executor, Kind, Processes, WorkersDied, make_executor
from airenv.core.files import write_text
from airenv.seat import Clock, Seat
from experiments.configs import NAME_PATTERN, BadConfig, Config, as_yaml, read_yaml, versions
from experiments.live import LiveView
from experiments.results import Results
from experiments.units import (
    CRASH,
    TIMEOUT,
    Budget,
    Row,
    Unit,
    Watchdog,
    lost_row,
    open_table,
    play_carefully,
    play_units,
)

SECONDS_A_PIECE = 2.0
LARGEST_PIECE = 500  # games
LONGEST = 24 * 3600.0  # seconds of a decision
WARM_SECONDS = 300.0  # after which an agent that does not come to its first decision is not waited for
WARM_PLIES = 8  # into a game, where there is something to choose


class Table(Config):
    """A game, at some numbers of players."""

    game: str
    players: list[int] = Field(default=[], description="none: all there are")
    options: dict[str, str | int | float | bool] = Field(default={}, description="of the game: board, variants ...")

    @field_validator("options")
    @classmethod
    def _have_no_place_of_their_own(cls, options: dict[str, Any]) -> dict[str, Any]:
        if taken := {"name", "players"} & set(options):
            raise ValueError(f"{', '.join(sorted(taken))} is no option: a table says it beside them, as game, players")
        return options


class Limits(Config):
    """What a decision may cost, alike for all agents that search."""

    sims: int | None = Field(default=None, ge=1)
    ms: float | None = Field(default=None, gt=0, le=LONGEST * 1000)


class GamesConfig(Config):
    """What every run made of games has."""

    name: str = Field(min_length=1, pattern=NAME_PATTERN, description="of the run, and of its folder")
    tables: list[Table] = Field(min_length=1)
    seed: int = Field(default=0, ge=0, le=2**62, description="the first deal")
    budget: Limits = Limits()
    timeout: float | None = Field(
        default=60.0, gt=0, le=LONGEST, description="seconds; who takes longer for a decision loses"
    )
    executor: Kind = Field(default="processes", description="where games are played")
    workers: int | None = Field(default=None, ge=1, description="none: as many as there are cores")
    address: str | None = Field(default=None, description="of a Ray cluster, such as auto")
    results: str | None = Field(default=None, description="an SQLite file; by default in the run's folder")
    out: str = Field(default="runs", description="the folder of runs")

    @model_validator(mode="after")
    def _address_is_of_a_cluster(self) -> Self:
        if self.address is not None and self.executor != "ray":
            raise ValueError(f"address: goes with executor ray, not {self.executor}")
        return self

    may_change: ClassVar[frozenset[str]] = frozenset({"executor", "workers", "address"})  # when a run goes on

    @property
    @abstractmethod
    def lines(self) -> list[str]:
        """The agent lines of the run."""

    @property
    def folder(self) -> Path:
        return Path(self.out) / self.name

    @property
    def run(self) -> str:
        """What the results call this run."""
        return run_of(self.model_dump(include={"out", "name"}))

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
        return list(dict.fromkeys(found))

    def check(self) -> None:
        """Open every table and make every agent: mistakes are told before anything is played."""
        self.seats()
        for line in self.lines:
            make_agent(line)


def run_of(config: Mapping[str, Any]) -> str:
    """What results call the run of a configuration: its folder, as runs of one name may share a file."""
    return str(Path(str(config.get("out", "runs"))) / str(config["name"]))


class Play:
    """Plays units on the executor of a run and keeps them: the driver is the only one who writes."""

    def __init__(self, config: GamesConfig, units: Sequence[Unit], results: Results) -> None:
        self.config, self.results = config, results
        ids = {unit.id: unit for unit in units}
        self.total = len(ids)
        self.before = results.begin(config.run, ids)
        known = {row.unit for row in self.before}
        self._todo = deque(unit for id_, unit in ids.items() if id_ not in known)
        self._given: list[tuple[Unit, ...]] = []  # pieces in the hands of workers
        self._elsewhere: list[Row] = []  # games another run has played meanwhile
        self._seconds_a_game = SECONDS_A_PIECE

    def rows(self, warm_ups: Iterable[Callable[[], object]] = ()) -> Iterator[list[Row]]:
        """Play what is not there yet; hands over games as they are kept."""
        if not self._todo:
            return
        executor = make_executor(self.config.executor, self.config.workers, self.config.address)
        try:
            for warm_up in warm_ups:
                executor.warm(warm_up)
            while self._todo:
                try:
                    yield from self._played(executor)
                except WorkersDied as error:
                    suspects = [unit for piece in error.tasks for unit in piece]
                    self._todo.extendleft(unit for piece in self._given if piece not in error.tasks for unit in piece)
                    self._given.clear()
                    yield from self._played_carefully(suspects)
        finally:
            executor.close()

    def _played(self, executor: Executor) -> Iterator[list[Row]]:
        apart = self.config.executor != "inline"
        for piece, (rows, seconds) in executor.results(_play_timed, self._pieces(), apart):
            self._given.remove(piece)
            self._seconds_a_game += 0.3 * (seconds / len(rows) - self._seconds_a_game)
            yield self._keep(rows)
        if self._elsewhere:
            yield self._keep([])

    def _keep(self, rows: list[Row]) -> list[Row]:
        """Write games down; returns them, with those that another run has played."""
        self.results.add(self.config.run, rows)
        found, self._elsewhere = rows + self._elsewhere, []
        return found

    def _pieces(self) -> Iterator[tuple[Unit, ...]]:
        """Pieces of a few seconds each; what another run has played meanwhile is left out."""
        while self._todo:
            size = int(min(max(SECONDS_A_PIECE / max(self._seconds_a_game, 1e-6), 1), LARGEST_PIECE))
            piece = [self._todo.popleft() for _ in range(min(size, len(self._todo)))]
            known = self.results.known([unit.id for unit in piece])
            if known:
                self._elsewhere += self.results.join(self.config.run, known)
            if left := tuple(unit for unit in piece if unit.id not in known):
                self._given.append(left)
                yield left

    def _played_carefully(self, units: Sequence[Unit]) -> Iterator[list[Row]]:
        """Games one of which ends its workers: each alone, and who ends one once more has lost that game."""
        with tempfile.TemporaryDirectory() as folder, closing(Processes(1, retries=0)) as executor:
            for number, unit in enumerate(units):
                crumb = Path(folder) / str(number)
                try:
                    rows = [row for _, row in executor.results(play_carefully, [unit], crumb)]
                except WorkersDied:
                    rows = [lost_with_its_worker(unit, crumb)]
                yield self._keep(rows)


def lost_with_its_worker(unit: Unit, crumb: Path) -> Row:
    """The game of a worker that is gone, lost by the seat it noted last."""
    seat, fault = crumb.read_text().split() if crumb.exists() else ("0", CRASH)
    agent = unit.agents[int(seat)]
    message = f"{agent} could not be stopped" if fault == TIMEOUT else f"{agent} took its whole process down"
    return lost_row(unit, int(seat), fault, message)


def _play_timed(apart: bool, units: Sequence[Unit]) -> tuple[list[Row], float]:
    start = time.perf_counter()
    rows = play_units(apart, units)
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
    check_folder(config)
    with Results(config.results_file) as results:
        claim(config)
        play = Play(config, units, results)
        done = watch(console, config, play, standings, decision)
        if alarms := results.alarms():
            console.print(f"ALARM: {alarms} games that must repeat exactly did not: see table alarms", style="red")
        return done, list(results.rows(config.run, replays=False))


def watch(
    console: Console,
    config: GamesConfig,
    play: Play,
    standings: Callable[[Sequence[Row]], RenderableType],
    decision: Decision | None,
) -> bool:
    """Play to the end or to the decision; False if somebody stopped it."""
    if decision and decision.add(play.before):
        return True
    with LiveView(console, config.name, play.total, standings, play.before) as view:
        try:
            for rows in play.rows(warm_ups(config)):
                decided = decision.add(rows) if decision else False
                view.show(rows, decision.tell() if decision else "")
                if decided:
                    break
        except KeyboardInterrupt:
            return False
    return True


def check_folder(config: GamesConfig) -> None:
    """A run's folder is new, or one of this very configuration."""
    path = config.folder / "config.yaml"
    if path.exists():
        old, new = read_yaml(path), config.model_dump(mode="json")
        other = sorted(key for key in new if key not in config.may_change and old.get(key) != new[key])
        if other:
            raise BadConfig(f"{config.folder} is a run with another {', '.join(other)}: set another name=")


def claim(config: GamesConfig) -> None:
    """Take the folder of a run."""
    write_text(config.folder / "config.yaml", as_yaml(config))
    write_text(config.folder / "versions.json", json.dumps(versions(), indent=2) + "\n")


def warm_ups(config: GamesConfig) -> Iterator[Callable[[], None]]:
    """One decision of every agent at every table, each apart: all that has to be compiled is, before time counts."""
    apart = config.executor != "inline"
    for table in config.seats():
        for line in config.lines:
            yield partial(warm_up, table, line, apart)


def warm_up(table: tuple[str, tuple[tuple[str, Any], ...]], line: str, apart: bool) -> None:
    watchdog = Watchdog() if apart else None
    if watchdog:
        watchdog.begin(0, WARM_SECONDS)
    with contextlib.suppress(Exception):  # an agent that fails does so again in its games, and is counted there
        game = open_table(*table)
        seat = Seat(game, game.random_position(1, WARM_PLIES), Clock(simulations=1))
        make_agent(line).act(seat, np.random.default_rng(1))
    if watchdog:
        watchdog.end()


def say_goodbye(console: Console, config: GamesConfig, done: bool) -> None:
    last = f"for a page with plots: airenv report {config.folder}" if done else "stopped; the same command goes on"
    console.print(last, soft_wrap=True)
