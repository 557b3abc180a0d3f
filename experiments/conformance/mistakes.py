"""Laws of mistakes: bad input gets a clear error and changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import airenv
from airenv.aec import NotReset
from airenv.core.errors import (
    AirenvError,
    BadOption,
    BadSeed,
    BadState,
    GameOver,
    IllegalAction,
    UnknownName,
)
from experiments.conformance.suite import law, positions


def refused(kind: type[AirenvError], says: str, call: Callable[..., Any], *args: Any, **options: Any) -> None:
    """A call must raise an error of a kind, whose message says something."""
    try:
        call(*args, **options)
    except kind as error:
        assert says in str(error), f"{kind.__name__} should say {says!r}: {error}"
        return
    raise AssertionError(f"{call} took {args} {options} without complaint")


@law("mistakes")
def illegal_actions_are_refused(name: str, players: int) -> None:
    """An illegal action is an error that names it and the legal ones; the state stays as it was."""
    game = airenv.game(name, players=players)
    for state in positions(game, 200, seed=7, running=True):
        before = state.tobytes()
        legal = game.legal_actions(state)
        for action in set(range(game.num_actions)) - set(legal):
            refused(IllegalAction, game.action_name(action), game.apply, state, action)
            refused(IllegalAction, f"{legal[0]} ({game.action_name(legal[0])})", game.apply, state, action)
        for odd in (
            -1,
            game.num_actions,
            10**12,
            2**70,
            -(2**70),
            1.0,
            None,
            "draw",
            True,
            np.float32(1),
            np.array([1]),
        ):
            refused(IllegalAction, "", game.apply, state, odd)
        assert state.tobytes() == before


@law("mistakes")
def finished_games_are_closed(name: str, players: int) -> None:
    """No action can be made after the end, by hand or in an environment."""
    game = airenv.game(name, players=players)
    state = game.random_position(1, 10**9)
    before = state.tobytes()
    for action in range(game.num_actions):
        refused(GameOver, "over", game.apply, state, action)
    refused(GameOver, "over", game.suggest, state)
    assert state.tobytes() == before


@law("mistakes")
def foreign_states_are_refused(name: str, players: int) -> None:
    """Arrays that are no state of this game are refused, whatever is asked of them."""
    game = airenv.game(name, players=players)
    frozen = game.new(1)
    frozen.flags.writeable = False
    two = np.concatenate([game.new(1), game.new(2)])
    for reading in (game.player, game.scores, game.to_bytes, game.check, game.legal_mask, lambda s: game.view(s, 0)):
        reading(frozen)
    refused(BadState, "read-only", game.apply, frozen, game.legal_actions(frozen)[0])
    game.apply(game.clone(frozen), game.legal_actions(frozen)[0])
    for other in (
        np.zeros(1),
        np.zeros(game.dtype.itemsize, np.uint8),
        two,
        two[:0],
        two[None],
        two[:1][None],
        None,
        b"x",
    ):
        calls = (game.legal_actions, game.player, game.scores, game.clone, game.check, game.to_bytes, game.suggest)
        for call in calls:
            refused(BadState, "", call, other)
        refused(BadState, "", game.apply, other, 0)
        refused(BadState, "", game.observe, other, 0)


@law("mistakes")
def bad_seeds_are_refused(name: str, players: int) -> None:
    """Seeds are integers from 0 to 2**63 - 1, everywhere."""
    game = airenv.game(name, players=players)
    env, vec = airenv.make(name, players=players), airenv.make_vec(name, 2, players=players)
    state = game.new(0)
    for seed in (-1, 2**63, 1.5, "7", True, np.float64(3)):
        refused(BadSeed, "2**63 - 1", game.new, seed)
        refused(BadSeed, "2**63 - 1", game.determinize, state, 0, seed)
        refused(BadSeed, "2**63 - 1", game.random_playouts, 1, seed)
        refused(BadSeed, "2**63 - 1", env.reset, seed)
        refused(BadSeed, "2**63 - 1", vec.reset, seed)
    for good in (0, 2**63 - 1, np.int64(5), np.uint64(2**63 - 1)):
        game.check(game.new(int(good)))
        assert game.digest(game.new(good)) == game.digest(game.new(int(good)))  # type: ignore[arg-type]


@law("mistakes")
def bad_seats_and_counts_are_refused(name: str, players: int) -> None:
    """Seats, numbers of players and of games outside what there is are refused by name."""
    game = airenv.game(name, players=players)
    state = game.new(0)
    for seat in (-1, players, 0.5, None, True):
        refused(BadOption, f"0 to {players - 1}", game.observe, state, seat)
        refused(BadOption, f"0 to {players - 1}", game.determinize, state, seat, 1)
    for number in (0, -3):
        refused(BadOption, "games", game.random_playouts, number)
        refused(BadOption, "num_envs", airenv.make_vec, name, number)
    for odd in (0, 1, 99, "two", 2.5):
        if odd not in airenv.facts(name).players:
            refused(BadOption, "players", airenv.game, name, players=odd)


@law("mistakes")
def bad_options_are_refused(name: str, players: int) -> None:
    """Unknown games, options, boards, rewards and modes name what is wrong and what is allowed."""
    refused(UnknownName, "Did you mean", airenv.game, name[:-1] + "q")
    refused(UnknownName, "players", airenv.game, name, player=players)
    refused(UnknownName, "Allowed", airenv.game, name, board="no such board")
    refused(UnknownName, "rank", airenv.game, name, reward="ranks")
    refused(UnknownName, "rgb_array", airenv.make, name, render_mode="rgb")
    refused(UnknownName, "raise", airenv.make, name, illegal="ignore")
    refused(BadOption, "max_cycles", airenv.make, name, max_cycles=0)
    refused(BadOption, "threads", airenv.make_vec, name, 4, threads=0)
    refused(UnknownName, "Allowed", airenv.game(name, players=players).parse_action, "no such action")


@law("mistakes")
def odd_counts_are_refused(name: str, players: int) -> None:
    """Numbers of games, moves, environments and threads are positive integers."""
    game = airenv.game(name, players=players)
    for odd in (0, -1, 2.5, "5", True, None):
        refused(BadOption, "games is a positive integer", game.random_playouts, odd)
        refused(BadOption, "games is a positive integer", game.check_playouts, odd)
        refused(BadOption, "num_envs is a positive integer", airenv.make_vec, name, odd)
        refused(BadOption, "threads is a positive integer", airenv.make_vec, name, 2, threads=odd)
        if odd is not None:
            refused(BadOption, "max_cycles is a positive integer", airenv.make, name, max_cycles=odd)
    assert game.digest(game.random_position(1, 0)) != game.digest(game.random_position(1, 1))


@law("mistakes")
def environments_say_what_they_need(name: str, players: int) -> None:
    """An environment used before reset, or after its end, says so; illegal actions are noted once."""
    env = airenv.make(name, players=players)
    for call in (
        env.last,
        env.agent_iter,
        env.state,
        env.snapshot,
        lambda: env.step(0),
        lambda: env.observe("player_0"),
    ):
        refused(NotReset, "reset()", call)
    env = airenv.make(name, players=players, illegal="random", seed=1)
    for odd in (10**6, np.int64(10**6), -1, 2**70):
        env.reset()
        mover = env.agent_selection
        env.step(odd)  # type: ignore[arg-type]
        assert env.infos[mover] == {"illegal_action": odd}
        while env.agent_selection != mover and env.agents:
            env.step(int(env.last()[0]["action_mask"].argmax()))
        if not env.terminations[mover]:
            env.step(int(env.last()[0]["action_mask"].argmax()))
            assert env.infos[mover] == {}, "an illegal action is still told after a legal one"


@law("mistakes")
def batches_refuse_bad_actions(name: str, players: int) -> None:
    """A batch names the slot of an illegal action, and no game of it moves."""
    vec = airenv.make_vec(name, 5, players=players, seed=1)
    refused(BadOption, "reset", vec.step, np.zeros(5, np.int64))
    seen, _ = vec.reset()
    actions = seen["action_mask"].argmax(1)
    before = vec.states().tobytes()
    bad = actions.copy()
    # where every action is legal, the one after the last
    bad[3] = next(iter(np.flatnonzero(seen["action_mask"][3] == 0)), vec.game.num_actions)
    refused(IllegalAction, "slot 3", vec.step, bad)
    for odd in (actions[:4], actions.astype(float), actions[:, None], list("abcde"), actions + vec.game.num_actions):
        refused(IllegalAction, "", vec.step, odd)
    assert vec.states().tobytes() == before
    vec.step(actions)
