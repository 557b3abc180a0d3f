"""Agents that search: `mcts`, and the baselines `flat` and `pimc` made of the same parts."""

from __future__ import annotations

import threading
import tomllib
from abc import ABC, abstractmethod
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from agents.parameters import Parameter, read_parameters
from agents.search import RANGES, ROLLOUTS, Finding, Search, Settings
from airenv.byhand import Game
from airenv.seat import Seat

TUNED = "search.toml"  # in a game's folder: what was measured to be best there
DEFAULT_SIMS = 1000
MOST = 100_000_000

BUDGET = {
    "sims": Parameter(f"simulations a decision; {DEFAULT_SIMS} if there is no other limit", None, True, 1, MOST),
    "ms": Parameter("milliseconds a decision; with sims, what ends first", None, False, 1, 3_600_000),
    "threads": Parameter("threads that share the work; the move does not depend on them", 1, True, 1, 256),
}
ROLLOUT = {
    "rollout": Parameter("how games go on below the tree (the game's own choice)", None, names=tuple(ROLLOUTS)),
    "epsilon": Parameter("share of random moves in a greedy or cutoff rollout (the game's own)", None),
    "depth": Parameter("moves of a cutoff rollout before the position is valued (the game's own)", None, True, 0, 1e4),
}
TREE = {
    "c": Parameter("exploration, for utilities brought to 0 .. 1 (the game's own)", None, False, 0, 100),
    "prior": Parameter("share of the rule of thumb's move in PUCT; 0: plain UCB (the game's own)", None),
    "trees": Parameter("trees grown apart and added up; as many threads can be of use", None, True, 1, 256),
    "nodes": Parameter("the pool of tree nodes, 64 bytes each, of all trees together", 1_000_000, True, 1000, MOST),
}


@lru_cache(maxsize=64)
def _tuned_file(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def tuned(game: Game) -> dict[str, Any]:
    """The search parameters measured to be best in a game with so many players; empty if nobody has measured."""
    return dict(_tuned_file(game.folder / TUNED).get("players", {}).get(str(game.players), {}))


class SearchAgent(ABC):
    """Searches every decision anew. `stop()` from another thread makes it answer with its best move so far."""

    kind: ClassVar[str]
    parameters: ClassVar[dict[str, Parameter]]
    default_sims: ClassVar[int] = DEFAULT_SIMS

    def __init__(self, **given: object) -> None:
        self.set = read_parameters(self.kind, self.parameters, given)
        line = ",".join(
            f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}" for key, value in given.items()
        )
        self.name = f"{self.kind}:{line}" if line else self.kind
        self._running: set[Search] = set()
        self._lock = threading.Lock()

    @abstractmethod
    def settings(self, game: Game) -> Settings:
        """How this agent searches in a game."""

    def search(self, seat: Seat, rng: np.random.Generator) -> Search:
        """The search for a decision, not yet begun."""
        return Search(seat, self.settings(seat.game), rng)

    def run(self, search: Search, seat: Seat) -> Finding:
        """Search within the agent's own limits and the clock's."""
        sims, ms = _least(self.set["sims"], seat.clock.simulations), _least(self.set["ms"], seat.clock.milliseconds)
        if sims is None and ms is None:
            sims = self.default_sims
        with self._lock:
            self._running.add(search)
        try:
            return search.run(sims, ms, self.set.get("threads", 1))
        finally:
            with self._lock:
                self._running.discard(search)

    def act(self, seat: Seat, rng: np.random.Generator) -> int:
        if len(seat.legal_actions) == 1:
            return seat.legal_actions[0]
        return self.run(self.search(seat, rng), seat).best

    def stop(self) -> None:
        """End every search under way; each gives its best move so far."""
        with self._lock:
            for search in self._running:
                search.stop()

    def thought(self) -> int:
        """Simulations made in the decision under way."""
        with self._lock:
            return sum(search.iterations for search in self._running)

    def _chosen(self, game: Game) -> dict[str, Any]:
        """The parameters as set in the line, else as measured for the game, else the defaults of Settings."""
        measured = tuned(game)
        if measured.get("rollout") == "cutoff" and game.reward not in RANGES:
            measured["rollout"] = "greedy"  # a cut-off needs chances to win to be what the game is played for
        return measured | {key: value for key, value in self.set.items() if value is not None}


class MctsAgent(SearchAgent):
    """Information-set Monte-Carlo tree search: a fresh world every iteration."""

    kind = "mcts"
    parameters: ClassVar = BUDGET | TREE | ROLLOUT

    def settings(self, game: Game) -> Settings:
        chosen = self._chosen(game)
        if self.set["trees"] is None and self.set["sims"] is None and self.set["ms"] is not None:
            chosen["trees"] = self.set["threads"]  # by time, a search cannot be repeated anyway: no more than needed
        return _settings(chosen)


class FlatAgent(SearchAgent):
    """Flat Monte Carlo: every move in turn, a rollout in a fresh world after it, the best mean."""

    kind = "flat"
    parameters: ClassVar = BUDGET | {"trees": TREE["trees"]} | ROLLOUT

    def settings(self, game: Game) -> Settings:
        return _settings(self._chosen(game), no_tree=True)


class PimcAgent(SearchAgent):
    """Perfect-information Monte Carlo: a tree for each of some worlds, as if everything in them were open."""

    kind = "pimc"
    parameters: ClassVar = (
        BUDGET
        | {"worlds": Parameter("worlds drawn, with a tree each", 20, True, 1, 10_000)}
        | {key: TREE[key] for key in ("c", "prior", "nodes")}
        | ROLLOUT
    )

    def settings(self, game: Game) -> Settings:
        chosen = self._chosen(game)
        return _settings(chosen | {"trees": chosen["worlds"]}, one_world=True)


def _settings(chosen: dict[str, Any], **kind: Any) -> Settings:
    names = {"c": "exploration", **{name: name for name in ("prior", "rollout", "epsilon", "depth", "trees", "nodes")}}
    return Settings(**{names[key]: value for key, value in chosen.items() if key in names}, **kind)


def _least(own: Any, clock: Any) -> Any:
    return min((limit for limit in (own, clock) if limit is not None), default=None)
