"""Laws of copies: plain records, independent clones, safe bytes."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import gymnasium
import numpy as np

import airenv
from airenv.core.engine import padding
from airenv.core.errors import BadState
from experiments.conformance.suite import law, positions


@law("copies")
def records_are_plain(name: str, players: int) -> None:
    """State and Board are fixed-size records without pointers or padding."""
    game = airenv.game(name, players=players)
    for dtype in (game.dtype, game.board.dtype):
        assert not dtype.hasobject
    assert padding(game.dtype) == 0


@law("copies")
def clones_are_independent(name: str, players: int) -> None:
    """Playing in a clone leaves the original as it was, and both play on alike."""
    game = airenv.game(name, players=players)
    for state in positions(game, 300, seed=5, running=True):
        before = state.tobytes()
        clone = game.clone(state)
        action = game.legal_actions(state)[0]
        game.apply(clone, action)
        assert state.tobytes() == before
        game.apply(state, action)
        assert state.tobytes() == clone.tobytes()


@law("copies")
def bytes_round_trip(name: str, players: int) -> None:
    """A state survives to_bytes and from_bytes, and damaged bytes are refused."""
    game = airenv.game(name, players=players)
    for count, state in enumerate(positions(game, 200, seed=6)):
        data = game.to_bytes(state)
        assert game.from_bytes(data).tobytes() == state.tobytes()
        damaged = bytearray(data)
        damaged[count % len(data)] ^= 0x10
        for bad in (bytes(damaged), data[:-1], b""):
            try:
                game.from_bytes(bad)
            except BadState:
                continue
            raise AssertionError("damaged bytes were taken for a state")


@law("copies")
def returned_arrays_are_new(name: str, players: int) -> None:
    """What is handed out is not overwritten by later calls."""
    game = airenv.game(name, players=players)
    state = game.new(3)
    kept = []
    while actions := game.legal_actions(state):
        seat = game.player(state)
        observation, mask = game.observe_with_mask(state, seat)
        handed = [observation, mask, game.legal_mask(state), np.array(actions), game.scores(state), game.returns(state)]
        kept.append((handed, [array.copy() for array in handed], actions))
        game.apply(state, actions[-1])
    for handed, copies, actions in kept:
        assert all((a == b).all() for a, b in zip(handed, copies, strict=True))
        assert actions == copies[3].tolist()


@law("copies")
def one_game_serves_many_threads(name: str, players: int) -> None:
    """Threads that share one Game play the games they would play alone."""
    game = airenv.game(name, players=players)

    def played(seed: int) -> str:
        state, rng = game.new(seed), np.random.default_rng(seed)
        while actions := game.legal_actions(state):
            game.observe(game.determinize(state, game.player(state), seed), 0)
            game.apply(state, actions[int(rng.integers(len(actions)))])
        return game.digest(state) + str(game.returns(state))

    alone = [played(seed) for seed in range(60)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(played, range(60))) == alone, "threads get into each other's way"


@law("copies")
def games_and_environments_can_be_pickled(name: str, players: int) -> None:
    """Games, environments and batches survive pickle and deepcopy in the midst of play, and go on alike."""
    game = airenv.game(name, players=players)
    env = airenv.make(name, players=players, seed=1)
    vec = airenv.make_vec(name, 600, players=players, seed=1, threads=2)
    gym = gymnasium.make(airenv.facts(name).gym_id, players=players).unwrapped
    env.reset()
    gym.reset(seed=1)
    seen = vec.reset()[0]
    env.step(int(env.last()[0]["action_mask"].argmax()))
    gym.step(int(gym.action_masks().argmax()))  # type: ignore[attr-defined]
    vec.step(seen["action_mask"].argmax(1))
    ways: list[Callable[[Any], Any]] = [lambda thing: pickle.loads(pickle.dumps(thing)), copy.deepcopy]
    for copied in ways:
        twin = copied(game)
        assert repr(twin) == repr(game) and twin.digest(twin.new(3)) == game.digest(game.new(3))
        other = copied(env)
        assert other.snapshot() == env.snapshot() and other.last()[0]["observation"].shape == (game.observation_size,)
        batch = copied(vec)
        assert (batch.states() == vec.states()).all()
        masks = batch._masks.argmax(1)
        assert (batch.step(masks)[0]["observation"] == copied(vec).step(masks)[0]["observation"]).all()
        learner = copied(gym)
        action = int(gym.action_masks().argmax())  # type: ignore[attr-defined]
        assert (learner.step(action)[0] == copied(gym).step(action)[0]).all()
