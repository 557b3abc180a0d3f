"""Searches of any game: budgets, stopping, threads, secret choices, what is kept for each game."""

import json
import os
import subprocess
import sys
import threading
import time
import tomllib
from pathlib import Path

import numpy as np
import pytest

import airenv
from agents import make_agent
from agents.mcts import TUNED, MctsAgent, tuned
from agents.parameters import read_parameters
from agents.search import Search, Settings
from airenv.core.errors import AirenvError, BadOption, GameOver
from airenv.seat import Clock, Seat

ROOT = Path(airenv.__file__).parents[1]
NAMES = airenv.game_names()
TABLES = [(name, players) for name in NAMES for players in airenv.facts(name).players]


def seat_with_choices(game, clock=None, seed=1):
    """A seat that has more than one legal action."""
    for plies in range(5, 200):
        state = game.random_position(seed, plies)
        if len(game.legal_actions(state)) > 1:
            return Seat(game, state, clock)
    raise AssertionError("no position has a choice")


def rng(seed=1):
    return np.random.default_rng(seed)


@pytest.mark.parametrize(("name", "players"), TABLES)
def test_the_same_seed_finds_the_same_move_and_another_may_not(name, players):
    seat = seat_with_choices(airenv.game(name, players=players))
    found = [MctsAgent(sims=300).search(seat, rng(seed)).run(sims=300).moves for seed in (1, 1, 2)]
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize("name", NAMES)
def test_one_legal_move_is_made_at_once(name):
    game = airenv.game(name)
    agent = make_agent("mcts:ms=3600000")
    for seed in range(200):
        state = game.random_position(seed, 5 + seed)
        if not game.is_over(state) and len(game.legal_actions(state)) == 1:
            assert agent.act(Seat(game, state), rng()) == game.legal_actions(state)[0]
            return
    only = Seat(game, game.new(1))  # no forced decision turned up: a seat told that it has none but its first
    only.legal_actions = only.legal_actions[:1]
    assert agent.act(only, rng()) == only.legal_actions[0]


@pytest.mark.parametrize("name", NAMES)
def test_a_search_can_be_stopped_and_gives_its_best_so_far(name):
    agent, seat, answer = make_agent("mcts:ms=3600000,threads=2,trees=2"), seat_with_choices(airenv.game(name)), []
    thread = threading.Thread(target=lambda: answer.append(agent.act(seat, rng())))
    thread.start()
    until = time.monotonic() + 120
    while agent.thought() < 100:
        assert time.monotonic() < until
        time.sleep(0.01)
    agent.stop()
    thread.join(30)
    assert answer and answer[0] in seat.legal_actions and agent.thought() == 0


@pytest.mark.parametrize("name", NAMES)
def test_milliseconds_limit_a_search(name):
    seat = seat_with_choices(airenv.game(name))
    make_agent("mcts:sims=1").act(seat, rng())  # compiled, if it was not
    found = MctsAgent(ms=40).search(seat, rng()).run(ms=40)
    assert found.iterations > 10 and 0.02 < found.seconds < 5


@pytest.mark.parametrize(
    ("line", "clock", "made"),
    [
        ("mcts:sims=300", Clock(simulations=120), 120),
        ("mcts:sims=90", Clock(simulations=120), 90),
        ("mcts", Clock(simulations=70), 70),
        ("mcts", Clock(), 1000),
        ("mcts:ms=3600000,sims=50", Clock(), 50),
        ("flat:trees=3", Clock(simulations=100), 100),
        ("pimc:worlds=7", Clock(simulations=100), 100),
    ],
)
def test_the_smaller_of_line_and_clock_holds(line, clock, made):
    seat, agent = seat_with_choices(airenv.game(NAMES[0]), clock), make_agent(line)
    assert agent.run(agent.search(seat, rng()), seat).iterations == made


@pytest.mark.parametrize(("line", "trees"), [("mcts:ms=50,threads=3", 3), ("mcts:ms=50", 1), ("mcts:ms=50,trees=5", 5)])
def test_by_time_there_are_as_many_trees_as_threads(line, trees):
    assert make_agent(line).settings(airenv.game(NAMES[0])).trees == trees


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_by_simulations_trees_do_not_depend_on_threads(threads):
    game = airenv.game(NAMES[0])
    assert make_agent(f"mcts:sims=50,threads={threads}").settings(game) == make_agent("mcts:sims=50").settings(game)


def test_a_search_without_a_limit_is_an_error():
    with pytest.raises(BadOption, match="sims or ms"):
        Search(seat_with_choices(airenv.game(NAMES[0])), Settings(), rng()).run()


def test_no_search_in_a_finished_game():
    game = airenv.game(NAMES[0])
    with pytest.raises(GameOver, match="over"):
        make_agent("mcts").act(Seat(game, game.random_position(1, 10**6)), rng())


def test_flat_spreads_evenly_and_takes_the_best_mean():
    seat = seat_with_choices(airenv.game(NAMES[0]))
    agent = make_agent("flat:sims=1000,trees=1")
    found = agent.run(agent.search(seat, rng()), seat)
    visits = [move.visits for move in found.moves]
    assert max(visits) - min(visits) <= 1 and found.deepest == 1
    assert found.moves[0].values[seat.index] == max(move.values[seat.index] for move in found.moves)


def test_pimc_grows_every_tree_in_one_world():
    seat = seat_with_choices(airenv.game(NAMES[0]))
    search = make_agent("pimc:worlds=5").search(seat, rng())
    search.run(sims=50)
    worlds = {int(tree.header["world_seed"][0]) for tree in search._trees}
    assert len(worlds) == 5 and all(tree.header["iterations"][0] == 10 for tree in search._trees)


@pytest.mark.parametrize("reward", ["score", "margin"])
def test_cutoff_needs_a_reward_that_follows_from_chances(reward):
    game = airenv.game(NAMES[0], reward=reward)
    with pytest.raises(BadOption, match="rank or win"):
        make_agent("mcts:rollout=cutoff").act(seat_with_choices(game), rng())
    assert make_agent("mcts:sims=50").act(seat_with_choices(game), rng()) in seat_with_choices(game).legal_actions


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("mcts:sims=0", "sims of mcts is a whole number from 1 to"),
        ("mcts:sims=2.5", "whole number"),
        ("mcts:sims=lots", "whole number"),
        ("mcts:ms=0", "ms of mcts is a number from 1 to"),
        ("mcts:c=-1", "c of mcts is a number from 0 to 100"),
        ("mcts:c=nan", "c of mcts"),
        ("mcts:c=inf", "c of mcts"),
        ("mcts:epsilon=2", "epsilon of mcts is a number from 0 to 1"),
        ("mcts:rollout=heavy", "rollout of mcts is one of random, greedy, cutoff"),
        ("mcts:thread=2", "Did you mean threads"),
        ("mcts:threads=0", "threads of mcts"),
        ("mcts:depth=-1", "depth of mcts"),
        ("mcts:worlds=3", "Allowed: c, depth"),
        ("mcts:sims=5,sims=6", "given twice"),
        ("flat:c=1", "parameter of flat"),
        ("pimc:trees=2", "parameter of pimc"),
        ("mtcs", "Did you mean mcts"),
    ],
)
def test_lines_of_searches_that_are_wrong_say_what_is_allowed(line, says):
    with pytest.raises(AirenvError, match=says):
        make_agent(line)


def test_parameters_may_be_given_in_python_too():
    assert MctsAgent(sims=7, c=0.5).set["sims"] == 7 and MctsAgent(sims=7, c=0.5).name == "mcts:sims=7,c=0.5"
    with pytest.raises(BadOption, match="sims"):
        MctsAgent(sims=True)
    with pytest.raises(AirenvError, match="parameter"):
        read_parameters("mcts", MctsAgent.parameters, {"simulations": 3})


# -- what is kept for each game --------------------------------------------------------------------


@pytest.mark.parametrize(("name", "players"), TABLES)
def test_tuned_settings_are_data_of_the_game_with_their_matches(name, players):
    game = airenv.game(name, players=players)
    path = game.folder / TUNED
    text = path.read_text()
    assert f"airenv tune {name} --games" in text.splitlines()[0]
    kept, found = tomllib.loads(text), tuned(game)
    read_parameters("mcts", MctsAgent.parameters, found)
    rows = [row for row in kept["measured"] if row["players"] == players]
    assert len(rows) >= 15 and all(row["low"] <= row["share"] <= row["high"] for row in rows)
    chosen = [row for row in rows if all(f"{key}={value}" in row["agent"].split(",") for key, value in found.items())]
    assert chosen, "the settings kept are none that was measured"
    assert make_agent("mcts").settings(game).rollout == found["rollout"]
    assert make_agent("mcts:rollout=random").settings(game).rollout == "random"


# -- secret choices --------------------------------------------------------------------------------

PENNIES = """
import json, numpy as np, airenv
from agents import make_agent
from airenv.seat import Seat
found = {}
for players in (2, 5):
    game = airenv.game("pennies", players=players)
    state = game.new(1)
    for mover in range(2):
        seat, agent = Seat(game, state), make_agent("mcts:sims=20000,rollout=random,prior=0,trees=1")
        result = agent.run(agent.search(seat, np.random.default_rng(1)), seat)
        found[f"{players}/{mover}"] = [[m.visits, m.values] for m in result.moves]
        game.apply(state, 0)
print(json.dumps(found))
"""


def test_nobody_answers_a_secret_choice():
    """Matching pennies: if the second player could answer, the first would always lose; side by side it is even."""
    environment = {**os.environ, "AIRENV_GAMES": str(ROOT / "tests" / "games")}
    command = [sys.executable, "-c", PENNIES]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert set(found) == {"2/0", "2/1", "5/0", "5/1"}
    for table, moves in found.items():
        players, mover = map(int, table.split("/"))
        assert sum(visits for visits, _ in moves) == 20000
        for visits, values in moves:
            assert len(values) == players and visits > 5000, table
            even = 0.0 if players == 2 else 0.375  # of first and last places among five, half each
            assert abs(values[mover] - even) < 0.1, f"{table}: {values}"
