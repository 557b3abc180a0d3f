"""The agent `az:PATH`: the tree search guided by policy and value of a trained network, alone or for many games.

`az` without a path takes the network that ships for the game.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from agents import guided
from agents.forward import packed, workspace
from agents.guided import ROW
from agents.mcts import BUDGET, TREE, SearchAgent
from agents.parameters import Parameter
from agents.policy import Network
from agents.search import RANGES, Search, Settings, _Tree
from agents.tree import NODE, PATH, SETTINGS
from agents.tree import TREE as HEADER
from agents.weights import BadCheckpoint, Weights
from airenv.byhand import REWARDS, Game
from airenv.core.errors import GameOver
from airenv.seat import Seat

EXPLORATION = 1.0


class Rows:
    """Searches side by side in the trees handed over, and the scratch paper they need."""

    def __init__(
        self,
        game: Game,
        weights: Weights,
        settings: np.ndarray,
        trees: np.ndarray,
        nodes: np.ndarray,
        paths: np.ndarray,
    ) -> None:
        count, actions = len(trees), game.num_actions
        self.rows = np.zeros(count, ROW)
        self.noise = np.zeros((count, actions + 1))  # a share for every action, then how much of the prior it is
        self.masks = np.zeros((count, actions), np.int8)
        numbers, shapes = packed(weights)
        batch = count * game.players
        self._before = (game.board, numbers, shapes)
        self._after = (
            *(settings, self.rows, trees, nodes, np.zeros(count, game.dtype), paths, self.masks),
            *(np.zeros((count, actions)), np.zeros((count, actions)), self.noise, np.zeros(batch, np.int8)),
            np.zeros((batch, game.observation_size), np.float32),
            *workspace(shapes),
            np.zeros((batch, actions), np.float32),
            np.zeros(batch, np.float32),
        )

    def grow(self, roots: np.ndarray) -> None:
        """Make the simulations that `rows` says are left."""
        guided.search_rows(*self._before, roots, *self._after)


# -- one decision ----------------------------------------------------------------------------------


class AzSearch(Search):
    """A guided search for the seat to act: a batch of one game."""

    def __init__(self, seat: Seat, weights: Weights, settings: Settings, rng: np.random.Generator) -> None:
        super().__init__(seat, settings, rng)
        tree = self._trees[0]
        self._rows = Rows(
            seat.game, weights, self._record, tree.header, tree.nodes.reshape(1, -1), tree.path.reshape(1, -1)
        )

    def _grow(self, tree: _Tree, iterations: int) -> None:
        self._rows.rows["left"] = iterations
        self._rows.grow(self._root)


class AzAgent(SearchAgent):
    """Information-set tree search guided by a trained network: its policy as prior, its value instead of rollouts."""

    kind = "az"
    takes_path = True
    default_sims = 64
    parameters: ClassVar[dict[str, Parameter]] = {
        "sims": Parameter(f"simulations a decision; {default_sims} if there is no other limit", None, True, 1, 10**8),
        "ms": BUDGET["ms"],
        "c": Parameter(
            "how much the policy and trying moves count, for utilities brought to 0 .. 1", EXPLORATION, False, 0, 100
        ),
        "nodes": TREE["nodes"],
    }

    def __init__(self, path: str = "", weights: Weights | None = None, name: str = "", **given: object) -> None:
        super().__init__(**given)
        self._network = Network(path, weights)
        line = ",".join(part for part in (path, self.name.partition(":")[2]) if part)
        self.name = name or (f"{self.kind}:{line}" if line else self.kind)

    def weights_for(self, game: Game) -> Weights:
        """The network; an error if it is one for another game, or values another reward."""
        checkpoint = self._network.checkpoint_for(game.name)
        if checkpoint and checkpoint.manifest.reward != game.reward:
            learned = f"a checkpoint that learned to value the reward {checkpoint.manifest.reward}"
            raise BadCheckpoint(f"{learned} cannot guide a search for {game.reward}")
        return self._network.weights_for(game)

    def settings(self, game: Game) -> Settings:
        return Settings(exploration=self.set["c"], prior=1.0, nodes=self.set["nodes"])

    def search(self, seat: Seat, rng: np.random.Generator) -> AzSearch:
        """The search for a decision, not yet begun."""
        return AzSearch(seat, self.weights_for(seat.game), self.settings(seat.game), rng)

    def act(self, seat: Seat, rng: np.random.Generator) -> int:
        self.weights_for(seat.game)  # a network of another game is an error even where there is nothing to decide
        return super().act(seat, rng)


# -- many games ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Guidance:
    """What a batch of searches found."""

    masks: np.ndarray  # [rows, actions]: what was legal
    visits: np.ndarray  # [rows, actions]: their sum is the simulations made
    values: np.ndarray  # [rows, players]: each seat's mean reward


def guided_search(
    game: Game,
    weights: Weights,
    states: np.ndarray,
    seeds: np.ndarray,
    sims: int,
    exploration: float = EXPLORATION,
    noise: np.ndarray | None = None,
    noise_share: float = 0.25,
) -> Guidance:
    """A search for the player to act in every game, each with the random numbers of its seed.

    `noise` has a share for every action, those of a row's legal ones adding up to one; it is mixed into the prior
    of the root. Where only one action is legal, a single simulation is made.
    """
    if np.any(states["over"]):
        raise GameOver("the game is over: there is nothing to search")
    if (weights.observation_size, weights.num_actions) != (game.observation_size, game.num_actions):
        raise BadCheckpoint(f"a network of other observations or actions than those of {game.name}")
    count = len(states)
    settings = np.zeros(count, SETTINGS)
    settings["seat"], settings["players"], settings["reward"] = states["player"], game.players, REWARDS[game.reward]
    settings["exploration"], settings["prior"] = exploration, 1.0
    trees, nodes = np.zeros(count, HEADER), np.empty((count, 2 * sims + 2), NODE)
    guided.start_trees(trees, nodes, np.asarray(seeds, np.int64), *RANGES.get(game.reward, (np.inf, -np.inf)))
    batch = Rows(game, weights, settings, trees, nodes, np.empty((count, min(PATH, 2 * sims + 2)), np.int64))
    masks, legal = np.zeros((count, game.num_actions), np.int8), np.zeros(count, np.int64)
    guided.count_legal(game.board, states, masks, legal)
    batch.rows["left"] = np.where(legal == 1, 1, sims)
    if noise is not None:
        batch.noise[:, :-1], batch.noise[:, -1] = noise, noise_share
    batch.grow(states)
    found = Guidance(masks, np.zeros((count, game.num_actions), np.int64), np.zeros((count, game.players)))
    guided.read_roots(settings, nodes, found.visits, found.values)
    return found
