"""`airenv tournament`: agents meet at any tables, by any design, on one machine or a cluster; killed, it goes on.

The plan of a tournament is a list of units, made from its configuration alone. Those that the results know are not
played again, so that starting the same command again is going on.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field, field_validator, model_validator
from rich.console import Console
from rich.table import Table

from airenv.core.errors import BadOption
from airenv.core.files import write_text
from experiments.configs import Config, as_yaml, load_config
from experiments.designs import Design, Seatings, line_ups, seatings
from experiments.live import across_table, ladder_table, pairs_table, seats_table
from experiments.playing import GamesConfig, play_through, say_goodbye
from experiments.populations import across_games
from experiments.ratings import Outcome, bootstrap, pairwise, rate, seat_table
from experiments.sprt import Sprt
from experiments.units import Row, Unit, open_table

FEW_DEALS = 10  # of which a bootstrap sees too little to tell how far off it may be
RESAMPLES_ON_THE_WAY = 40  # of the intervals that are shown while games are played


class Question(Config):
    """Is one agent better than another by so much, rather than even? The run stops when that is decided."""

    agent: str
    against: str
    gain: float = Field(gt=0, lt=0.5, description="by which its share of their comparisons exceeds a half")
    alpha: float = Field(default=0.05, gt=0, lt=0.5, description="risk of a wrong yes")
    beta: float = Field(default=0.05, gt=0, lt=0.5, description="risk of a wrong no")


class TournamentConfig(GamesConfig):
    """A tournament."""

    kind: Literal["tournament"] = "tournament"
    agents: list[str] = Field(min_length=2, description="agent lines")
    design: Design = "round_robin"
    newcomer: str | None = Field(default=None, description="of a gauntlet: who meets all the others; the last agent")
    seatings: Seatings = Field(default="rotations", description="of a line-up on a deal: moved on, or all orders")
    deals: int = Field(default=100, ge=1, description="for each line-up; each is played in all its seatings")
    anchor: str = Field(default="random", description="the agent whose rating is 0")
    sprt: Question | None = None
    learning: list[str] = Field(default=[], description="runs of learning whose curves belong into the report")

    may_change: ClassVar = GamesConfig.may_change | {"deals", "sprt", "anchor", "learning"}

    @property
    def lines(self) -> list[str]:
        return self.agents

    @field_validator("agents")
    @classmethod
    def _are_different(cls, agents: list[str]) -> list[str]:
        agents = [line.strip() for line in agents]
        if len(set(agents)) < len(agents):
            raise ValueError("an agent is named twice")
        return agents

    @model_validator(mode="after")
    def _are_known(self) -> TournamentConfig:
        if self.design == "gauntlet" and self.newcomer is None:
            self.newcomer = self.agents[-1]
        if self.newcomer is not None and self.newcomer not in self.agents:
            raise ValueError(f"newcomer {self.newcomer} is none of the agents")
        if "anchor" in self.model_fields_set and self.anchor not in self.agents:
            raise ValueError(f"anchor {self.anchor} is none of the agents")
        asked = (self.sprt.agent, self.sprt.against) if self.sprt else ()
        if strangers := [agent for agent in asked if agent not in self.agents]:
            raise ValueError(f"sprt asks about {', '.join(strangers)}, which is none of the agents")
        if asked and asked[0] == asked[1]:
            raise ValueError("sprt asks whether an agent is better than itself")
        return self


def plan(config: TournamentConfig) -> list[Unit]:
    """Every game of a tournament, deal after deal, so that what is played so far is always a fair part of it."""
    found = []
    for deal in range(config.deals):
        for number, table in enumerate(config.seats()):
            rng = np.random.default_rng([config.seed, number, deal])
            players = open_table(*table).players
            for line_up in line_ups(config.design, config.agents, players, rng, config.newcomer):
                for seated in seatings(line_up, config.seatings):
                    found.append(Unit(*table, seated, config.seed + deal, config.limits))
    return found


def outcomes(rows: Iterable[Row]) -> list[Outcome]:
    """Games as ratings take them; those of the same deal belong together."""
    return [
        Outcome(
            agents=row.agents,
            ranks=row.ranks,
            scores=row.scores,
            deal=deal_of(row),
            errors=row.errors,
            milliseconds=row.milliseconds,
            decisions=row.decisions,
        )
        for row in rows
    ]


def by_table(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """The games of every game with its options and number of players."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(f"{row.game}:{json.dumps(row.options, sort_keys=True)}", []).append(row)
    return found


def deal_of(game: Row | Unit) -> str:
    """Games of one seed belong together at any number of players: their packs may be shuffled alike."""
    return f"{game.game}:{game.deal}"


# -- is it decided? ------------------------------------------------------------------------------------


class Decision:
    """Follows a question deal by deal, in the order of the plan: which worker was faster must not matter."""

    def __init__(self, question: Question, units: Sequence[Unit]) -> None:
        self.question = question
        self.test = Sprt(0.5, question.gain, question.alpha, question.beta)
        self._left: dict[str, set[str]] = {}
        for unit in units:
            self._left.setdefault(deal_of(unit), set()).add(unit.id)
        self._sums = {deal: [0.0, 0] for deal in self._left}

    def add(self, rows: Iterable[Row]) -> bool:
        """Take some games into account; True if the question is decided."""
        for row in rows:
            deal = deal_of(row)
            if row.unit not in self._left.get(deal, ()):
                continue
            self._left[deal].discard(row.unit)
            for share in self._shares(row):
                self._sums[deal][0] += share
                self._sums[deal][1] += 1
        while self._left and not next(iter(self._left.values())) and self.test.decision is None:
            deal = next(iter(self._left))
            del self._left[deal]
            total, number = self._sums.pop(deal)
            if number:
                self.test.add(total / number)
        return self.test.decision is not None

    def _shares(self, row: Row) -> list[float]:
        """1 for every time the one was before the other in a game, a half for a tie, 0 for the rest.

        A game that a third one's fault cut short says nothing of these two.
        """
        at_fault = [agent for agent, error in zip(row.agents, row.errors, strict=True) if error]
        if at_fault and not {self.question.agent, self.question.against} & set(at_fault):
            return []
        places = list(zip(row.agents, row.ranks, strict=True))
        mine = [rank for agent, rank in places if agent == self.question.agent]
        theirs = [rank for agent, rank in places if agent == self.question.against]
        return [0.5 if a == b else float(a < b) for a in mine for b in theirs]

    def tell(self) -> str:
        """How far the question is decided, in words."""
        q, test = self.question, self.test
        asked = f"is {q.agent} better than {q.against} by {q.gain:g}, rather than even?"
        answer = {"better": "yes", "not better": "no", None: "not decided yet"}[test.decision]
        return f"{asked} {answer} (log-likelihood ratio {test.llr:.2f}, between {test.lower:.2f} and {test.upper:.2f})"


# -- the run -----------------------------------------------------------------------------------------


def start(console: Console, file: Path, changes: Sequence[str] = (), dry_run: bool = False) -> bool:
    """Play a tournament, or go on with it; False if it was stopped before its end."""
    config = load_config(TournamentConfig, file, list(changes))
    config.check()
    if dry_run:
        console.print(as_yaml(config), soft_wrap=True)
        return True
    return play(console, config)


def play(console: Console, config: TournamentConfig) -> bool:
    """Play all of it, tell how it stands; False if it was stopped."""
    units = plan(config)
    decision = Decision(config.sprt, units) if config.sprt else None
    done, rows = play_through(console, config, units, partial(standings, anchor=config.anchor), decision)
    tell(console, config, rows)
    if decision:
        console.print(decision.tell(), soft_wrap=True)
    say_goodbye(console, config, done)
    return done


def standings(rows: Sequence[Row], anchor: str) -> Table:
    return ladder_table("the ladder so far", rate(outcomes(rows), anchor, RESAMPLES_ON_THE_WAY))


def tell(console: Console, config: TournamentConfig, rows: Sequence[Row]) -> None:
    """Print how it stands and keep the ratings beside the results."""
    if not rows:
        console.print("no game was played")
        return
    games = outcomes(rows)
    fits = bootstrap(games)
    ratings = rate(games, config.anchor, fits=fits)
    console.print(ladder_table(f"{config.name}: {len(rows):,} games", ratings, console.width))
    console.print(pairs_table(pairwise(games, fits=fits), [rating.agent for rating in ratings]))
    console.print(seats_table(seat_table(games)))
    found, _ = across_games({name: outcomes(of_table) for name, of_table in by_table(rows).items()})
    if found:
        console.print(across_table(found))
    if len({game.deal for game in games}) < FEW_DEALS:
        console.print(f"fewer than {FEW_DEALS} deals: intervals are too narrow yet", style="yellow")
    write_text(config.folder / "ratings.json", json.dumps([vars(rating) for rating in ratings], indent=2) + "\n")


def question(agent: str, against: str, gain: float) -> list[str]:
    """The overrides that `--sprt AGENT AGAINST GAIN` stands for."""
    if not 0 < gain < 0.5:
        raise BadOption(f"--sprt asks for a gain above 0 and below 0.5, not {gain:g}")
    return [f"sprt.agent={json.dumps(agent)}", f"sprt.against={json.dumps(against)}", f"sprt.gain={gain}"]


if __name__ == "__main__":
    from experiments.cli import main

    main(["tournament", *sys.argv[1:]])
