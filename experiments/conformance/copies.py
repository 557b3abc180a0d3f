"""Laws of copies: plain records, independent clones, safe bytes."""

from __future__ import annotations

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
