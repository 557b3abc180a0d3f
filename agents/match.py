"""Agents at a table: play one game and keep its replay."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from airenv.byhand import Game
from airenv.core.errors import BadOption
from airenv.core.random import valid_seed
from airenv.replay import Replay, finish_replay, start_replay
from airenv.seat import Agent, Clock, Seat

Watcher = Callable[[np.ndarray, int], None]  # the position and the action about to be made in it
Decide = Callable[[Agent, Seat, np.random.Generator], int | None]


def play_game(
    game: Game,
    agents: Sequence[Agent],
    seed: int,
    watch: Watcher | None = None,
    decide: Decide = lambda agent, seat, rng: agent.act(seat, rng),
    clock: Clock | None = None,
) -> tuple[np.ndarray, Replay]:
    """A whole game; every seat's chance comes from the seed, so it can be played again exactly.

    `decide` asks an agent for its action; None from it ends the game there.
    """
    if len(agents) != game.players:
        raise BadOption(f"{game.players} players need {game.players} agents, not {len(agents)}")
    seed = valid_seed(seed)
    rngs = [np.random.default_rng([seed, seat]) for seat in range(game.players)]
    state = game.new(seed)
    replay = start_replay(game, seed, [agent.name for agent in agents])
    while (player := game.player(state)) >= 0:
        chosen = decide(agents[player], Seat(game, state, clock), rngs[player])
        if chosen is None:
            break
        action = game.valid_action(chosen)
        if watch:
            watch(state, action)
        game.apply(state, action)
        replay.actions.append(action)
    return state, finish_replay(replay, game, state)
