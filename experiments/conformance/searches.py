"""Laws of search: what a search finds rests on what its seat knows, and adds up."""

from __future__ import annotations

import numpy as np
from numba.core.runtime import _nrt_python as heap

import airenv
from agents.mcts import FlatAgent, MctsAgent, PimcAgent, SearchAgent
from agents.search import RANGES, Finding, Search, Settings
from airenv.byhand import Game
from airenv.core.jit import JIT_ON
from airenv.seat import Seat
from experiments.conformance.suite import law, positions

SIMS = 60
AGENTS: list[SearchAgent] = [
    MctsAgent(sims=SIMS),
    MctsAgent(sims=SIMS, rollout="random", prior=0, trees=2),
    MctsAgent(sims=SIMS, rollout="greedy", prior=0.5, trees=1),
    FlatAgent(sims=SIMS),
    PimcAgent(sims=SIMS, worlds=4),
]


def found_in(game: Game, state: np.ndarray, agent: SearchAgent, seed: int) -> Finding:
    seat = Seat(game, state)
    return agent.run(agent.search(seat, np.random.default_rng(seed)), seat)


@law("search")
def searches_are_honest(name: str, players: int, number: int = 60) -> None:
    """From two true states a seat cannot tell apart, the same numbers find the same visits and values, bit for bit."""
    game = airenv.game(name, players=players)
    for count, state in enumerate(positions(game, number, seed=21, running=True)):
        twin = game.determinize(state, game.player(state), count + 1)
        for agent in AGENTS:
            mine, other = (found_in(game, true, agent, count) for true in (state, twin))
            assert mine.moves == other.moves, f"{agent.name} finds {mine.moves} or {other.moves}"


@law("search")
def searches_add_up(name: str, players: int, number: int = 40) -> None:
    """Root visits add up to the simulations, only legal moves are visited, values are in the range of the reward."""
    for reward, (low, high) in {**RANGES, "score": (-np.inf, np.inf)}.items():
        game = airenv.game(name, players=players, reward=reward)
        for count, state in enumerate(positions(game, number, seed=22, running=True)):
            for agent in AGENTS:
                found = found_in(game, state, agent, count)
                assert sum(move.visits for move in found.moves) == found.iterations == SIMS
                assert sorted(move.action for move in found.moves) == game.legal_actions(state)
                assert found.best in game.legal_actions(state)
                for move in found.moves:
                    assert move.available >= move.visits or isinstance(agent, FlatAgent)
                    assert all(low <= value <= high for value in move.values), f"{reward}: {move}"


@law("search")
def threads_do_not_change_a_search(name: str, players: int) -> None:
    """The same seed and simulations find the same, in one thread or several, in one piece or many."""
    game = airenv.game(name, players=players)
    for count, state in enumerate(positions(game, 10, seed=23, running=True)):
        one, two = (found_in(game, state, MctsAgent(sims=200, trees=4, threads=t), count) for t in (1, 3))
        assert one.moves == two.moves


@law("search")
def searches_do_not_allocate(name: str, players: int) -> None:
    """A thousand iterations ask the heap for no more than one does: nothing but the call's own arguments."""
    if not JIT_ON:
        return
    game = airenv.game(name, players=players)
    enabled = heap.memsys_stats_enabled()
    heap.memsys_enable_stats()
    try:
        for rollout in ("random", "greedy", "cutoff"):
            for prior in (0.0, 0.5):
                settings = Settings(rollout=rollout, prior=prior, nodes=5000)
                search = Search(Seat(game, game.new(5)), settings, np.random.default_rng(1))
                one, many = (allocations(search, iterations) for iterations in (1, 1000))
                assert many == one, f"{rollout} rollouts, prior {prior}: {many - one} allocations in 1,000 iterations"
    finally:
        if not enabled:
            heap.memsys_disable_stats()


def allocations(search: Search, iterations: int) -> int:
    before = heap.memsys_get_stats_mi_alloc()
    search._grow(search._trees[0], iterations)
    return int(heap.memsys_get_stats_mi_alloc() - before)


@law("search")
def trees_stay_in_their_pool(name: str, players: int) -> None:
    """A search goes on when its pool of nodes is used up, and never grows past it."""
    game = airenv.game(name, players=players)
    pool = game.num_actions + 10
    search = Search(Seat(game, game.new(6)), Settings(rollout="cutoff", depth=0, nodes=pool), np.random.default_rng(1))
    found = search.run(sims=3000)
    assert found.nodes <= pool + 1 and found.iterations == sum(move.visits for move in found.moves) == 3000
