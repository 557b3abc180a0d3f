"""What a designer asks of a game: how long it is, whether the seats are fair, which actions are worth having.

For every number of players, a table full of one agent plays a set of deals; each strength of agent plays the same ones,
so that its column stands beside the others. All figures are of whole games: those that ended by an agent's fault are
counted apart. Actions are counted where the games are played, and come back as sums of integers: the same seed gives
the same figures wherever and in whatever order the games were played.

- A real choice is a decision with more than one legal action; the others are forced.
- An action is dominant if it is taken in more than 95% of the real choices that offer it. It is never used if it is
  taken in less than 0.5% of them, and in less than a tenth of what choosing evenly would come to: where there are
  hundreds of legal actions, each is rare. Both are said of actions that were offered often enough only.
- A seat is better or worse if its wins are further from a fair share than chance takes the furthest seat of a table
  where all are alike, 19 times out of 20. That is simulated, shared wins included, and made stricter by the number of
  tables in the run, as somewhere among many a fair one looks odd.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from math import sqrt
from pathlib import Path
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

import airenv
from agents import make_agent
from agents.executors import Executor
from airenv.byhand import Game
from airenv.core.errors import BadOption, positive
from airenv.core.random import valid_seed
from airenv.replay import Replay
from experiments.units import Budget, Unit, open_table, play_unit, play_units

AGENTS = ("random", "greedy", "mcts:sims=100")
PIECE = 4  # games that are played at a time
MADE, OFFERED, TAKEN, EVENLY = range(4)  # what is counted of an action; all but the first in real choices alone
PARTS = 1_000_000  # of a choice, for EVENLY: whole numbers add up alike in any order
OFTEN = 50  # real choices that an action must be offered in before anything is said of it
DOMINANT = 0.95
UNUSED = 0.005
ENOUGH = 10  # times that choosing evenly would take an action, before it is called never used
SIMULATIONS = 20_000
DOUBT = 0.05
NORMAL = 1.96  # standard deviations on either side that hold 95%

Array: TypeAlias = np.ndarray
Place: TypeAlias = tuple[int, str]  # a number of players and an agent


# -- what comes of it ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spread:
    """How a number is distributed over games."""

    mean: float
    sd: float
    low: float  # 5% are lower
    median: float
    high: float  # 5% are higher


@dataclass(frozen=True)
class SeatFigures:
    """What a seat wins, with a 95% interval, a shared win in equal parts."""

    seat: int
    wins: float
    low: float
    high: float
    chance: float  # that any seat of all the tables is as far from a fair share where all seats are alike
    verdict: str  # better, worse, or nothing


@dataclass(frozen=True)
class ActionFigures:
    """How often an action was made, and how often it was taken where there was a real choice."""

    action: int
    name: str
    kind: str
    made: int
    offered: int
    taken: int
    evenly: float  # how often it would have been taken by choosing evenly
    verdict: str  # dominant, never used, or nothing

    @property
    def share(self) -> float:
        return self.taken / self.offered if self.offered else 0.0


@dataclass(frozen=True)
class Figures:
    """All that is known of the games of an agent among its like."""

    games: int
    length: Spread  # decisions
    lengths: dict[int, int]  # games of each length
    decisions_a_player: float
    cut_off: float  # share of the games
    fair: float
    seats: tuple[SeatFigures, ...]
    verdict: str  # on the seats
    score: Spread
    margin: Spread  # of the best over the second
    draws: float  # share of the games with more than one winner
    decisions: int
    forced: float  # share of the decisions
    legal: float  # mean number of legal actions
    kinds: dict[str, int]  # decisions of each kind of action
    actions: tuple[ActionFigures, ...]
    never_legal: int  # actions

    def called(self, verdict: str) -> list[ActionFigures]:
        """The actions of a verdict, those offered most often first."""
        return sorted((a for a in self.actions if a.verdict == verdict), key=lambda a: (-a.offered, a.action))


@dataclass(frozen=True)
class Column:
    """An agent at a number of players; no figures if no game came to its end."""

    players: int
    agent: str
    errors: dict[str, int]  # games that ended by a fault, by what it was
    message: str  # of the first of them
    figures: Figures | None


@dataclass(frozen=True)
class Balance:
    """Every number of players, every agent."""

    game: str
    title: str
    options: dict[str, Any]
    games: int
    seed: int
    command: str
    columns: tuple[Column, ...]

    def tables(self) -> dict[int, list[Column]]:
        """The columns by number of players."""
        found: dict[int, list[Column]] = {}
        for column in self.columns:
            found.setdefault(column.players, []).append(column)
        return found


# -- playing and counting --------------------------------------------------------------------------


@dataclass(frozen=True)
class Played:
    """A game, as far as figures go."""

    deal: int
    scores: tuple[float, ...]
    ranks: tuple[float, ...]
    decisions: int
    cut_off: bool
    fault: str
    message: str

    @property
    def winners(self) -> list[int]:
        return [seat for seat, rank in enumerate(self.ranks) if rank == min(self.ranks)]


@dataclass
class Counted:
    """Some games, and what was counted of every action in those that came to their end."""

    actions: Array  # [4, actions]
    games: list[Played] = field(default_factory=list)

    def add(self, other: Counted) -> None:
        self.actions += other.actions
        self.games += other.games


def play_and_count(shared: None, units: Sequence[Unit]) -> Counted:
    """A piece of work for an executor: games of one table, counted where they are played."""
    found = Counted(nothing(units[0].open()))
    for unit in units:
        row = play_unit(unit)
        fault = next(filter(None, row.errors), "")
        counts, state = count_actions(unit.open(), unit.deal, Replay.model_validate_json(row.replay).actions)
        if not fault:
            found.actions += counts
        cut_off = unit.open().is_truncated(state)
        found.games.append(Played(unit.deal, row.scores, row.ranks, sum(row.decisions), cut_off, fault, row.message))
    return found


def nothing(game: Game) -> Array:
    return np.zeros((EVENLY + 1, game.num_actions), np.int64)


def count_actions(game: Game, deal: int, actions: Sequence[int]) -> tuple[Array, Array]:
    """Play a game again: what was made, offered and taken [4, actions], and the state it ends in."""
    state = game.new(deal)
    offered: list[int] = []
    taken: list[int] = []
    sizes: list[int] = []
    for action in actions:
        legal = game.legal_actions(state)
        if len(legal) > 1:
            offered += legal
            taken.append(action)
            sizes.append(len(legal))
        game.apply(state, action)
    counts = nothing(game)
    for row, chosen in ((MADE, actions), (OFFERED, offered), (TAKEN, taken)):
        counts[row] = np.bincount(np.array(chosen, np.int64), minlength=game.num_actions)
    each = np.array(sizes, np.int64)
    np.add.at(counts[EVENLY], np.array(offered, np.int64), np.repeat(PARTS // each, each))
    return counts, state


@dataclass(frozen=True)
class Plan:
    """What is to be played: every table has been opened and every agent made once, so mistakes are told first."""

    game: str
    options: dict[str, Any]  # without the players
    players: tuple[int, ...]
    agents: tuple[str, ...]
    games: int
    seed: int

    def places(self) -> list[Place]:
        return [(players, agent) for players in self.players for agent in self.agents]

    def table(self, players: int) -> Game:
        return open_table(self.game, self._options(players))

    def _options(self, players: int) -> tuple[tuple[str, Any], ...]:
        return tuple(sorted({**self.options, "players": players}.items()))

    def units(self, place: Place, first: int, number: int) -> tuple[Unit, ...]:
        """Some games in a row, on the deals that all agents get."""
        players, agent = place
        deals = range(self.seed + first, self.seed + min(first + number, self.games))
        return tuple(Unit(self.game, self._options(players), (agent,) * players, deal) for deal in deals)

    def pieces(self) -> Iterator[tuple[Unit, ...]]:
        """All the work, every table in turn, so that the time left can be told early on."""
        for first in range(0, self.games, PIECE):
            for place in self.places():
                yield self.units(place, first, PIECE)

    def warm_up(self) -> Callable[[], object]:
        """A game of every agent that thinks as little as it can: all it needs is compiled then."""
        units = [unit for agent in self.agents for unit in self.units((self.players[0], agent), 0, 1)]
        return partial(play_units, False, [replace(unit, budget=Budget(sims=1)) for unit in units])

    def command(self) -> str:
        """What to type for the same again."""
        words = ["airenv", "balance", self.game]
        if set(self.players) != set(airenv.facts(self.game).players):
            words += [word for players in self.players for word in ("--players", str(players))]
        words += [word for agent in self.agents for word in ("--agent", agent)]
        words += ["--games", str(self.games), "--seed", str(self.seed)]
        for key, value in self.options.items():
            words += ["--board", str(value)] if key == "board" else ["--set", f"{key}={value}"]
        return shlex.join(words)


def make_plan(
    name: str, players: Sequence[int] | None, options: dict[str, Any], agents: Sequence[str], games: int, seed: int
) -> Plan:
    """A plan without mistakes; those there are, an error tells."""
    facts = airenv.facts(name)
    if positive("games", games) < 2:
        raise BadOption(f"games is an integer of at least 2, not {games}: one game says nothing of a game")
    for number in players or ():
        if number not in facts.players:
            allowed = ", ".join(map(str, facts.players))
            raise BadOption(f"{facts.title} is not for {number!r} players; allowed: {allowed}")
    if taken := sorted({"players", "name"} & set(options)):
        raise BadOption(f"{taken[0]} is no further option of a game: it has a place of its own")
    valid_seed(valid_seed(seed) + games - 1)
    for line in agents:
        make_agent(line)
    numbers = tuple(dict.fromkeys(players or facts.players))
    plan = Plan(name, dict(options), numbers, tuple(dict.fromkeys(agents or AGENTS)), games, seed)
    for number in numbers:
        airenv.game(name, players=number, **options)
    return plan


def play(console: Console, plan: Plan, executor: Executor) -> dict[Place, Counted]:
    """Play all games; a bar tells how many there were and how long it will take."""
    found = {place: Counted(nothing(plan.table(place[0]))) for place in plan.places()}
    bars = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"))
    with Progress(*bars, TimeRemainingColumn(), console=console, transient=True) as progress:
        bar = progress.add_task("games", total=plan.games * len(found), rate="")
        executor.warm(plan.warm_up())
        start, done = perf_counter(), 0
        for units, counted in executor.results(play_and_count, plan.pieces()):
            found[len(units[0].agents), units[0].agents[0]].add(counted)
            done += len(units)
            progress.update(bar, completed=done, rate=f"{done / (perf_counter() - start):,.1f} games/s")
    for counted in found.values():
        counted.games.sort(key=lambda played: played.deal)
    return found


# -- figures ---------------------------------------------------------------------------------------


def column(game: Game, agent: str, counted: Counted, tables: int = 1) -> Column:
    """What the games of an agent among its like come to; `tables` is how many there are in the run."""
    whole = [played for played in counted.games if not played.fault]
    faulty = [played for played in counted.games if played.fault]
    return Column(
        players=game.players,
        agent=agent,
        errors=dict(sorted(Counter(played.fault for played in faulty).items())),
        message=faulty[0].message if faulty else "",
        figures=figures(game, whole, counted.actions, tables) if whole else None,
    )


def figures(game: Game, games: Sequence[Played], actions: Array, tables: int) -> Figures:
    """All figures of some whole games and of what was counted in them."""
    lengths = [played.decisions for played in games]
    scores = np.sort(np.array([played.scores for played in games]), axis=1)
    seats = judge_seats(games, tables)
    decisions, taken = int(actions[MADE].sum()), int(actions[TAKEN].sum())
    forced = decisions - taken
    named = tuple(judge_action(game, action, actions[:, action]) for action in range(game.num_actions))
    return Figures(
        games=len(games),
        length=spread(lengths),
        lengths=dict(sorted(Counter(lengths).items())),
        decisions_a_player=float(np.mean(lengths)) / game.players,
        cut_off=float(np.mean([played.cut_off for played in games])),
        fair=1 / game.players,
        seats=seats,
        verdict=", ".join(f"seat {s.seat} {s.verdict}" for s in seats if s.verdict) or "no difference shown",
        score=spread(scores.ravel()),
        margin=spread(scores[:, -1] - scores[:, -2]),
        draws=float(np.mean([len(played.winners) > 1 for played in games])),
        decisions=decisions,
        forced=forced / max(decisions, 1),
        legal=(int(actions[OFFERED].sum()) + forced) / max(decisions, 1),
        kinds={kind: int(actions[MADE, list(them)].sum()) for kind, them in game.action_kinds.items()},
        actions=named,
        never_legal=sum(not (action.made or action.offered) for action in named),
    )


def spread(values: Sequence[float] | Array) -> Spread:
    low, median, high = np.quantile(values, [0.05, 0.5, 0.95])
    return Spread(float(np.mean(values)), float(np.std(values)), float(low), float(median), float(high))


def judge_action(game: Game, action: int, counts: Array) -> ActionFigures:
    """An action's counts with its name, and whether it is dominant or never used."""
    made, offered, taken = (int(counts[row]) for row in (MADE, OFFERED, TAKEN))
    evenly = int(counts[EVENLY]) / PARTS
    verdict = ""
    if offered >= OFTEN and taken > DOMINANT * offered:
        verdict = "dominant"
    elif offered >= OFTEN and evenly >= ENOUGH and taken < min(UNUSED * offered, evenly / 10):
        verdict = "never used"
    return ActionFigures(
        action, game.action_name(action), game.action_kind(action), made, offered, taken, evenly, verdict
    )


def judge_seats(games: Sequence[Played], tables: int = 1) -> tuple[SeatFigures, ...]:
    """Every seat's share of the wins, and whether chance would explain it."""
    players = len(games[0].ranks)
    wins = np.zeros(players)
    for played in games:
        wins[played.winners] += 1 / len(played.winners)
    furthest = np.abs(fair_wins([len(played.winners) for played in games], players) - len(games) / players).max(1)
    found = []
    for seat, won in enumerate(wins.tolist()):
        away = won - len(games) / players
        as_far = int((furthest >= abs(away) - 1e-9).sum())
        chance = min(1.0, tables * (1 + as_far) / (1 + SIMULATIONS))
        verdict = "" if chance >= DOUBT else "better" if away > 0 else "worse"
        found.append(SeatFigures(seat, won / len(games), *wilson(won, len(games)), chance, verdict))
    return tuple(found)


def fair_wins(winners: Sequence[int], players: int) -> Array:
    """Wins by seat [simulations, players] of games with so many winners each, where all seats are alike."""
    rng = np.random.default_rng(1)
    wins = np.zeros((SIMULATIONS, players))
    for number, games in sorted(Counter(winners).items()):
        groups = list(combinations(range(players), number))  # any of them is as likely to share the win
        share = np.zeros((len(groups), players))
        for row, seats in enumerate(groups):
            share[row, list(seats)] = 1 / number
        wins += rng.multinomial(games, np.full(len(groups), 1 / len(groups)), size=SIMULATIONS) @ share
    return wins


def wilson(won: float, games: int) -> tuple[float, float]:
    """The 95% interval of a share, which has a width even where all or none were won."""
    share, square = won / games, NORMAL**2
    middle = (share + square / (2 * games)) / (1 + square / games)
    reach = NORMAL * sqrt(share * (1 - share) / games + square / (4 * games**2)) / (1 + square / games)
    return max(0.0, middle - reach), min(1.0, middle + reach)


def measure(console: Console, plan: Plan, executor: Executor) -> Balance:
    """Play the games of a plan and work out the figures."""
    played = play(console, plan, executor)
    columns = tuple(
        column(plan.table(players), agent, counted, len(played)) for (players, agent), counted in played.items()
    )
    title = airenv.facts(plan.game).title
    return Balance(plan.game, title, plan.options, plan.games, plan.seed, plan.command(), columns)


def run(
    console: Console,
    name: str,
    players: list[int] | None,
    options: dict[str, Any],
    agents: list[str],
    games: int,
    seed: int,
    executor: Executor,
    out: Path | None,
) -> Balance:
    """Measure a game, print the tables and write the page; by default for all numbers of players, into `runs/`."""
    from experiments import balance_page  # which is made of what stands above

    plan = make_plan(name, players, options, agents, games, seed)
    folder = out or Path("runs") / f"balance-{name}"
    if folder.exists() and not folder.is_dir():
        raise BadOption(f"{folder} is a file: the page and its pictures need a folder")
    found = measure(console, plan, executor)
    balance_page.show(console, found)
    page = balance_page.write(found, folder)
    console.print(f"wrote {page}", soft_wrap=True, markup=False)
    return found
