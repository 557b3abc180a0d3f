"""Laws across processes: games are the same everywhere, compiled or not, and no index leaves its array."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

import airenv
from airenv.byhand import Game
from airenv.replay import finish_replay, save_replay, start_replay
from airenv.vector import game_seed
from experiments.conformance.suite import law

GAMES = 3


def story(game: Game, seed: int) -> list[object]:
    """A random game and all a seat is told in it, in a form that can be compared between processes."""
    state, rng = game.new(seed), np.random.default_rng(seed)
    told: list[object] = []
    while actions := game.legal_actions(state):
        player = game.player(state)
        world = game.determinize(state, player, seed)
        told.append([player, actions, game.suggest(state), game.digest(state), game.digest(world)])
        told.append([round(float(x), 5) for x in game.observe(state, player) if x])
        action = actions[int(rng.integers(len(actions)))]
        game.apply(state, action)
        game.check(state)
    value = [round(float(x), 6) for x in game.value(state)]
    return [*told, game.digest(state), game.scores(state).tolist(), value, game.returns(state).tolist()]


def stories(name: str, players: int) -> str:
    """Some games as JSON; what the subprocesses below print."""
    game = airenv.game(name, players=players)
    told = [story(game, seed) for seed in range(GAMES)]
    vec = airenv.make_vec(name, 3, players=players, seed=1)
    seen, info = vec.reset()
    for _ in range(60):
        seen, rewards, _, _, info = vec.step(seen["action_mask"].argmax(1))
        told.append([info["player"].tolist(), rewards.tolist(), round(float(seen["observation"].sum()), 3)])
    told.append([game_seed(1, 2, 3), game.random_playouts(2, seed=4), game.check_playouts(2, seed=4)])
    return json.dumps(told)


def elsewhere(code: str, *args: object, **environment: str) -> str:
    """What another Python process prints."""
    command = [sys.executable, "-c", code, *(str(arg) for arg in args)]
    path = os.pathsep.join([str(Path(airenv.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=900,
    )
    if done.returncode != 0:
        raise AssertionError(f"a process failed with {environment}: {done.stderr[-2000:]}")
    return done.stdout.strip()


IMPORTS = "import sys, airenv; from experiments.conformance.processes import stories"
TELL = f"{IMPORTS}; print(stories(sys.argv[1], int(sys.argv[2])))"
TELL_CHECKED = f"""{IMPORTS}
import numba; assert numba.config.BOUNDSCHECK
for players in airenv.facts(sys.argv[1]).players:
    print(stories(sys.argv[1], players))
    assert airenv.game(sys.argv[1], players=players).check_playouts(300) is None
"""


@law("processes")
def compiled_equals_plain(name: str, players: int) -> None:
    """Whole games are the same with the compiler on and off, down to every byte of the state."""
    assert stories(name, players) == elsewhere(TELL, name, players, NUMBA_DISABLE_JIT="1")


@law("processes")
def replays_are_exact_elsewhere(name: str, players: int) -> None:
    """A replay leads to the same state in another process with another PYTHONHASHSEED."""
    game = airenv.game(name, players=players)
    code = (
        "import sys, pathlib; from airenv.replay import load_replay, final_state\n"
        "for path in sys.argv[1:]:\n"
        "    game, state = final_state(load_replay(pathlib.Path(path))); print(game.digest(state))"
    )
    with tempfile.TemporaryDirectory() as folder:
        digests, paths = [], []
        for seed in range(5):
            state, rng = game.new(seed), np.random.default_rng(seed)
            replay = start_replay(game, seed, ["random"] * players)
            while actions := game.legal_actions(state):
                replay.actions.append(actions[int(rng.integers(len(actions)))])
                game.apply(state, replay.actions[-1])
            paths.append(Path(folder) / f"{seed}.json")
            save_replay(finish_replay(replay, game, state), paths[-1])
            digests.append(game.digest(state))
        for hash_seed in ("1", "4321"):
            assert elsewhere(code, *paths, PYTHONHASHSEED=hash_seed).splitlines() == digests


@law("processes")
def indices_stay_in_bounds(name: str, players: int) -> None:
    """No kernel reads or writes outside an array: the games again with bounds checks, in a cache of their own."""
    assert bounds_checked_stories(name)[players] == stories(name, players)


@cache
def bounds_checked_stories(name: str) -> dict[int, str]:
    """The games at every number of players, from one process that has to compile everything anew."""
    with tempfile.TemporaryDirectory() as folder:
        compiled = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": folder, "NUMBA_DISABLE_JIT": "0"}
        told = elsewhere(TELL_CHECKED, name, **compiled).splitlines()
        assert any(Path(folder).iterdir()), "the bounds-checked builds did not go to their own cache"
    return dict(zip(airenv.facts(name).players, told, strict=True))
