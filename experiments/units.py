"""A game of a tournament as a piece of work: who sits where, which deal, what a decision may cost, and how it ended.

The id of a unit is a hash of all that decides how the game goes. Seeds come from the deal, never from the worker, so
a unit is played alike anywhere, twice if need be, and counted once.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import airenv
from agents import make_agent
from agents.executors import told
from agents.lines import identity, parse_line
from agents.match import play_game
from airenv.byhand import Game
from airenv.core.errors import IllegalAction
from airenv.replay import Replay, finish_replay, start_replay
from airenv.seat import Agent, Clock, Seat

CRASH, ILLEGAL, TIMEOUT = "crash", "illegal", "timeout"  # how an agent can lose a game by its own fault
LONGEST_MESSAGE = 300
GRACE = 5.0  # seconds beyond the timeout before a worker is ended
AGAIN = 0.2  # seconds between two alarms: an agent may catch the first


@dataclass(frozen=True)
class Budget:
    """What a decision may cost, alike for all: a search obeys sims and ms; who takes longer than timeout has lost."""

    sims: int | None = None
    ms: float | None = None
    timeout: float | None = 60.0  # seconds

    @property
    def repeatable(self) -> bool:
        """Whether nothing depends on how fast the machine is."""
        return self.ms is None


@dataclass(frozen=True)
class Unit:
    """A game to be played. Its id names rules, board, options, seats, deal and budget, all by what they hold."""

    game: str
    options: tuple[tuple[str, Any], ...]  # of the game: players, board, variants
    agents: tuple[str, ...]  # the line of every seat
    deal: int  # its seed
    budget: Budget = Budget()

    @cached_property
    def id(self) -> str:
        game = self.open()
        who = [identity(line, game) for line in self.agents]
        limits = [self.budget.sims, self.budget.ms, self.budget.timeout]
        what = json.dumps([game.signature().hex(), self.options, who, self.deal, limits], sort_keys=True, default=str)
        return hashlib.sha256(what.encode()).hexdigest()[:24]

    @property
    def repeatable(self) -> bool:
        """Whether the game must go alike whenever it is played."""
        return self.budget.repeatable and not any("ms" in parse_line(line)[1] for line in self.agents)

    def open(self) -> Game:
        return open_table(self.game, self.options)


@dataclass(frozen=True)
class Row:
    """A game as it was played: what the results keep of it, lists by seat."""

    unit: str
    game: str
    options: dict[str, Any]
    agents: tuple[str, ...]
    deal: int
    scores: tuple[float, ...]
    ranks: tuple[float, ...]  # 1 is best, ties share the mean of their places
    errors: tuple[str, ...]  # "", or crash, illegal, timeout of the one who lost by it
    message: str  # of that error
    decisions: tuple[int, ...]
    milliseconds: tuple[float, ...]
    digest: str  # of the state it ended in
    replay: str  # JSON
    repeatable: bool = True

    @property
    def players(self) -> int:
        return len(self.agents)


@lru_cache(maxsize=64)
def open_table(name: str, options: tuple[tuple[str, Any], ...]) -> Game:
    """A game with its options; opened once a process."""
    return airenv.game(name, **dict(options))


def play_units(apart: bool, units: Sequence[Unit]) -> list[Row]:
    """A piece of work for an executor; `apart` from the process of whoever gave it."""
    return [play_unit(unit, Watchdog() if apart else None) for unit in units]


def play_carefully(crumb: Path, unit: Unit) -> Row:
    """A piece of work that may end its worker: before every decision, it is noted whose it is."""
    return play_unit(unit, Watchdog(crumb))


def play_unit(unit: Unit, watchdog: Watchdog | None = None) -> Row:
    """Play a game; who crashes, makes an illegal move or runs out of time has lost it, and it ends there."""
    game = unit.open()
    judge = _Judge(game, unit.budget, watchdog)
    clock = Clock(unit.budget.ms, unit.budget.sims)
    agents = [judge.seated(line, seat) for seat, line in enumerate(unit.agents)]
    state, replay = play_game(game, agents, unit.deal, decide=judge.decide, clock=clock)
    return _row(unit, game, state, replay, judge)


def lost_row(unit: Unit, seat: int, fault: str, message: str) -> Row:
    """A game that ended with the worker it was played by: lost by the seat that was to decide, at a move unknown."""
    game = unit.open()
    judge = _Judge(game, unit.budget, None, seat, fault, message)
    state = game.new(unit.deal)
    return _row(unit, game, state, finish_replay(start_replay(game, unit.deal, list(unit.agents)), game, state), judge)


def _row(unit: Unit, game: Game, state: np.ndarray, replay: Replay, judge: _Judge) -> Row:
    points = game.scores(state)
    return Row(
        unit=unit.id,
        game=unit.game,
        options=dict(unit.options),
        agents=unit.agents,
        deal=unit.deal,
        scores=tuple(points.tolist()),
        ranks=ranks_of(points, judge.loser),
        errors=tuple(judge.fault if seat == judge.loser else "" for seat in range(game.players)),
        message=judge.message,
        decisions=tuple(judge.decisions),
        milliseconds=tuple(round(ms, 3) for ms in judge.milliseconds),
        digest=replay.digest,
        replay=replay.model_dump_json(),
        repeatable=unit.repeatable and judge.fault != TIMEOUT,
    )


def ranks_of(points: np.ndarray, loser: int | None = None) -> tuple[float, ...]:
    """Places by score, shared by ties; who lost by a fault is last, and all others share the places before."""
    if loser is not None:
        points = np.array([0.0 if seat == loser else 1.0 for seat in range(len(points))])
    better = (points[None, :] > points[:, None]).sum(1)
    equal = (points[None, :] == points[:, None]).sum(1)
    return tuple((1.0 + better + (equal - 1) / 2).tolist())


class TimeIsUp(BaseException):
    """Raised within an agent that thinks for too long; no Exception, so that it is not caught as one on the way."""


class Watchdog:
    """Ends a worker whose agent can be stopped by nothing else, such as endless compiled code; it notes who it was."""

    def __init__(self, crumb: Path | None = None) -> None:
        self.crumb = crumb

    def begin(self, seat: int, seconds: float | None) -> None:
        """A decision begins."""
        if self.crumb is not None:
            self.crumb.write_text(f"{seat} {CRASH}")
        _deadline[:] = [(time.monotonic() + seconds + GRACE, seat, self.crumb)] if seconds is not None else []
        if not _watching.is_set():
            _watching.set()
            threading.Thread(target=_watch, daemon=True).start()

    def end(self) -> None:
        _deadline.clear()


_deadline: list[tuple[float, int, Path | None]] = []  # of the decision under way in this worker
_watching = threading.Event()


def _watch() -> None:
    while True:
        time.sleep(GRACE / 4)
        for when, seat, crumb in list(_deadline):
            if time.monotonic() > when:
                if crumb is not None:
                    crumb.write_text(f"{seat} {TIMEOUT}")
                os._exit(1)


@dataclass
class _Judge:
    """Watches a game's decisions: counts them, times them, and notes whose fault ended it."""

    game: Game
    budget: Budget
    watchdog: Watchdog | None = None
    loser: int | None = None
    fault: str = ""
    message: str = ""
    decisions: list[int] = field(default_factory=list)
    milliseconds: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.decisions = [0] * self.game.players
        self.milliseconds = [0.0] * self.game.players

    def seated(self, line: str, seat: int) -> Agent:
        """A new agent for every game, as one may remember; one that cannot be made loses at its first decision."""
        try:
            return make_agent(line)
        except Exception as error:
            return _Absent(line, error)

    def decide(self, agent: Agent, seat: Seat, rng: np.random.Generator) -> int | None:
        start = time.perf_counter()
        if self.watchdog:
            self.watchdog.begin(seat.index, self.budget.timeout)
        try:
            with alarm(self.budget.timeout):
                action = self.game.as_integer(agent.act(seat, rng))
        except TimeIsUp:
            return self._lost(seat.index, TIMEOUT, self._late(agent))
        except IllegalAction as error:
            return self._lost(seat.index, ILLEGAL, str(error))
        except (Exception, SystemExit) as error:  # whatever somebody's agent raises
            return self._lost(seat.index, CRASH, told(error))
        except KeyboardInterrupt as error:
            if self.watchdog is None:
                raise  # somebody's Ctrl-C, which does not reach workers
            return self._lost(seat.index, CRASH, told(error))
        finally:
            spent = time.perf_counter() - start
            self.decisions[seat.index] += 1
            self.milliseconds[seat.index] += 1000.0 * spent
            if self.watchdog:
                self.watchdog.end()
        if self.budget.timeout is not None and spent > self.budget.timeout:
            return self._lost(seat.index, TIMEOUT, self._late(agent))
        if action not in seat.legal_actions:
            legal = ", ".join(map(str, seat.legal_actions))
            return self._lost(seat.index, ILLEGAL, f"{agent.name} chose action {action}; legal: {legal}")
        return action

    def _late(self, agent: Agent) -> str:
        return f"{agent.name} took longer than {self.budget.timeout:g} s for a decision"

    def _lost(self, seat: int, fault: str, message: str) -> int | None:
        """Note whose fault it was; no action comes of it."""
        self.loser, self.fault, self.message = seat, fault, message[:LONGEST_MESSAGE]
        return None


class _Absent:
    """In the place of an agent that cannot be made."""

    def __init__(self, line: str, error: Exception) -> None:
        self.name, self._error = line, error

    def act(self, seat: Seat, rng: np.random.Generator) -> int:
        raise self._error


@contextlib.contextmanager
def alarm(seconds: float | None) -> Iterator[None]:
    """Interrupt what takes longer with TimeIsUp. Compiled code and threads beside the main one cannot be: there, who
    took too long is told when they are done."""
    main = threading.current_thread() is threading.main_thread()
    if seconds is None or not main or not hasattr(signal, "setitimer"):
        yield
        return

    def ring(number: int, frame: Any) -> None:
        raise TimeIsUp

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
