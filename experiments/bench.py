"""How fast a game is, and the signature of its behaviour: `airenv bench`."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field
from rich.console import Console
from rich.progress import track
from rich.table import Table

import airenv
from agents.executors import available_cores
from agents.search import Search, Settings
from airenv.byhand import Game
from airenv.core import kernels
from airenv.core.errors import BadOption
from airenv.core.files import write_text
from airenv.seat import Seat
from experiments.configs import NAME_PATTERN, Config, as_yaml, load_config, versions

REPEATS = 3
BATCH = 4096
SIMULATIONS = 10_000  # of a tree, when searching is measured
SIGNATURE_GAMES = 30


def rate(work: Callable[[], int], seconds: float) -> float:
    """Units of work a second: the median of a few measurements, after one call to warm up."""
    work()
    found = []
    for _ in range(REPEATS):
        start, done, spent = time.perf_counter(), 0, 0.0
        while spent < seconds / REPEATS:
            done += work()
            spent = time.perf_counter() - start
        found.append(done / spent)
    return statistics.median(found)


# -- what is measured --------------------------------------------------------------------------------


def random_play(game: Game, games: int = 200) -> Callable[[], int]:
    """Whole random games in one compiled call: mask, choice, step. Counts decisions."""
    return lambda: game.random_playouts(games, seed=1)


def random_play_on_all_cores(game: Game, games: int = 200) -> Callable[[], int]:
    """The same in as many threads as there are cores; the compiled loops hold no lock."""
    threads = available_cores()
    pool = ThreadPoolExecutor(threads)
    return lambda: sum(pool.map(lambda seed: game.random_playouts(games, seed=seed), range(threads)))


def python_loop(game: Game) -> Callable[[], int]:
    """A random game from Python, a call for the legal actions and one to apply. Counts decisions."""

    def play() -> int:
        uniform, decisions = random.random, 0
        state = game.new(random.getrandbits(62))
        legal_actions, apply = game.legal_actions, game.apply
        while actions := legal_actions(state):
            apply(state, actions[int(uniform() * len(actions))])
            decisions += 1
        return decisions

    return play


def aec_loop(game: Game) -> Callable[[], int]:
    """A random game through PettingZoo's interface: last, sample with the mask, step. Counts steps."""
    env = airenv.make(game.name, players=game.players, seed=1)

    def play() -> int:
        env.reset()
        steps = 0
        for agent in env.agent_iter():
            seen, _, terminated, truncated, _ = env.last()
            if terminated or truncated:
                env.step(None)
            else:
                env.step(env.action_space(agent).sample(seen["action_mask"]))
                steps += 1
        return steps

    return play


def batch_steps(game: Game, threads: int = 1) -> Callable[[], int]:
    """A step of a batch with observations, masks, auto-reset and random choices. Counts decisions."""
    vec = airenv.make_vec(game.name, BATCH, players=game.players, seed=1, threads=threads, reuse_buffers=True)
    seen = [vec.reset()[0]]
    rng, actions = np.array([1, 2, 3, 4], np.uint32), np.zeros(BATCH, np.int64)

    def step() -> int:
        kernels.random_actions(seen[0]["action_mask"], rng, actions)
        seen[0] = vec.step(actions)[0]
        return BATCH

    return step


def clones(game: Game) -> Callable[[], int]:
    state, clone = game.random_position(1, 20), game.clone

    def copy() -> int:
        for _ in range(1000):
            clone(state)
        return 1000

    return copy


def observations(game: Game) -> Callable[[], int]:
    state, observe = game.random_position(1, 20), game.observe

    def look() -> int:
        for _ in range(1000):
            observe(state, 0)
        return 1000

    return look


def search(game: Game, threads: int = 1, sims: int = SIMULATIONS) -> Callable[[], int]:
    """A search from the deal with fresh worlds and full random rollouts, no rule of thumb. Counts decisions."""
    settings = Settings(rollout="random", prior=0.0, trees=threads)
    seeds = itertools.count()

    def work() -> int:
        seed = next(seeds)
        seat = Seat(game, game.new(seed))
        return Search(seat, settings, np.random.default_rng(seed)).run(sims=sims * threads, threads=threads).decisions

    return work


def search_on_all_cores(game: Game) -> Callable[[], int]:
    """The same with a tree for each core, each in its thread."""
    return search(game, threads=available_cores())


FIGURES: dict[str, tuple[str, Callable[[Game], Callable[[], int]]]] = {
    "random_play": ("compiled random play, one core: decisions/s", random_play),
    "random_play_all": ("compiled random play, all cores: decisions/s", random_play_on_all_cores),
    "python_loop": ("legal_actions and apply from Python: decisions/s", python_loop),
    "aec": ("AEC, last + sample + step: steps/s", aec_loop),
    "batch": (f"batch of {BATCH}, one core: decisions/s", batch_steps),
    "search": ("search with full random rollouts, one core: decisions/s", search),
    "search_all": ("search with full random rollouts, all cores: decisions/s", search_on_all_cores),
    "clones": ("clones/s", clones),
    "observations": ("observations/s", observations),
}


def measure(name: str, players: int, seconds: float) -> dict[str, float]:
    """Every figure of a game at one number of players."""
    game = airenv.game(name, players=players)
    length = game.random_playouts(500, seed=1) / 500
    found = {key: rate(make(game), seconds) for key, (_, make) in FIGURES.items()}
    found["games"] = found["random_play"] / length
    found["games_all"] = found["random_play_all"] / length
    return found


# -- starting up -------------------------------------------------------------------------------------


def touch_every_kernel(name: str) -> None:
    """Call all that is compiled for a game once."""
    game = airenv.game(name)
    state = game.new(1)
    game.apply(state, game.legal_actions(state)[0])
    game.observe(game.determinize(state, 0, 1), 0)
    game.suggest(state)
    game.value(state)
    game.scores(state)
    game.returns(state)
    game.check(state)
    game.legal_mask(state)
    game.random_playouts(1)
    game.check_playouts(1)
    game.random_position(1, 1)
    vec = airenv.make_vec(name, 2, seed=1)
    seen, _ = vec.reset()
    actions = np.zeros(2, np.int64)
    kernels.random_actions(seen["action_mask"], np.ones(4, np.uint32), actions)
    kernels.suggest_batch(vec.game.board, vec._states, actions)
    kernels.observe_seats(
        vec.game.board, vec._states, np.arange(1), np.zeros((1, game.players, game.observation_size), np.float32)
    )
    vec.step(actions)


START_UP = """
import sys, time; start = time.perf_counter()
import airenv
imported = time.perf_counter() - start
game = airenv.game(sys.argv[1]); state = game.new(1); game.apply(state, game.legal_actions(state)[0])
stepped, compiled = time.time() - float(sys.argv[2]), time.perf_counter() - start - imported
from experiments.bench import search, touch_every_kernel
start = time.perf_counter(); touch_every_kernel(sys.argv[1]); touched = time.perf_counter() - start
start = time.perf_counter(); search(game, sims=1)()
print(imported, stepped, compiled + touched, time.perf_counter() - start)
"""


def start_up(name: str) -> dict[str, float]:
    """Seconds to import airenv, to the first step after the start of a process, to compile all kernels and a search."""
    with tempfile.TemporaryDirectory() as cache:
        cold, warm = (_start_process(name, cache) for _ in range(2))
    return {"import": warm[0], "warm_first_step": warm[1], "cold_compile": cold[2], "cold_compile_of_search": cold[3]}


def _start_process(name: str, cache: str) -> list[float]:
    """Seconds to import, to the first step (the interpreter's own start included), in compiling both."""
    command = [sys.executable, "-c", START_UP, name, str(time.time())]
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=600)
    return [float(word) for word in done.stdout.split()]


# -- behaviour ---------------------------------------------------------------------------------------


def signature(name: str, players: int) -> str:
    """A hash over a fixed set of random games: who may do what, and how they end."""
    game = airenv.game(name, players=players)
    digest = hashlib.sha256()
    for seed in range(SIGNATURE_GAMES):
        state, rng = game.new(seed), random.Random(seed)
        while actions := game.legal_actions(state):
            action = actions[int(rng.random() * len(actions))]
            digest.update(repr((game.player(state), actions, action)).encode())
            game.apply(state, action)
        digest.update(repr(game.scores(state).tolist()).encode())
    return digest.hexdigest()[:12]


# -- the report --------------------------------------------------------------------------------------


def report(
    console: Console, names: Sequence[str], players: int | None, seconds: float, signatures_only: bool, as_json: bool
) -> dict[str, Any]:
    """Measure games and print a table for each, or all of it as JSON."""
    found: dict[str, Any] = {}
    for name in names:
        counts = airenv.facts(name).players
        if players is not None and players not in counts:
            raise BadOption(f"{name} is for {', '.join(map(str, counts))} players, not {players}")
        tables = counts if players is None else (players,)
        found[name] = {"signature": {str(n): signature(name, n) for n in tables}}
        if not signatures_only:
            shown = track(tables, f"measuring {name}", console=console, transient=True, disable=as_json)
            found[name]["figures"] = {str(n): measure(name, n, seconds) for n in shown}
            found[name]["start_up"] = start_up(name)
    if as_json:
        print(json.dumps(found, indent=2))
    else:
        for name, entry in found.items():
            console.print(as_table(name, entry))
    return found


def as_table(name: str, entry: dict[str, Any]) -> Table:
    counts = list(entry["signature"])
    table = Table(name, *(f"{n} players" for n in counts))
    if "figures" in entry:
        labels = {key: label for key, (label, _) in FIGURES.items()}
        labels |= {"games": "games/s, one core", "games_all": "games/s, all cores"}
        for key, label in labels.items():
            table.add_row(label, *(f"{entry['figures'][n][key]:,.0f}" for n in counts))
        for key, value in entry["start_up"].items():
            table.add_row(f"{key.replace('_', ' ')}, seconds", f"{value:.2f}", *[""] * (len(counts) - 1))
    table.add_row("behaviour signature", *entry["signature"].values())
    return table


# -- from a YAML file ----------------------------------------------------------------------------------


class BenchConfig(Config):
    """A run of measuring."""

    kind: Literal["bench"] = "bench"
    name: str = Field(min_length=1, pattern=NAME_PATTERN, description="of the run, and of its folder")
    games: list[str] = Field(default=[], description="none: all there are")
    players: int | None = Field(default=None, ge=1, description="one number of players; none: all")
    seconds: float = Field(default=0.5, ge=0.01, description="how long each figure is measured")
    out: str = Field(default="runs", description="the folder of runs")


def start(console: Console, file: Path, changes: Sequence[str] = (), dry_run: bool = False) -> None:
    """Measure as a file says, and keep the figures with the configuration and the versions."""
    config = load_config(BenchConfig, file, list(changes))
    if dry_run:
        console.print(as_yaml(config), soft_wrap=True)
        return
    found = report(console, config.games or airenv.game_names(), config.players, config.seconds, False, False)
    folder = Path(config.out) / config.name
    write_text(folder / "config.yaml", as_yaml(config))
    write_text(folder / "bench.json", json.dumps({"versions": versions(), "games": found}, indent=2) + "\n")
    console.print(f"wrote {folder / 'bench.json'}", soft_wrap=True)
