"""Searches guided by a network, alone and for many games at once, and the learning that is made of them."""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from numba.core.runtime import _nrt_python as heap

import airenv
from agents import expert, make_agent
from agents.az import AzAgent, guided_search
from agents.checkpoints import save_checkpoint
from agents.forward import forward_one, packed, workspace
from agents.guided import ASK_PRIOR, ASK_VALUES, answer
from agents.mcts import SearchAgent
from agents.search import RANGES
from agents.weights import BadCheckpoint, Weights
from airenv.core.errors import AirenvError, BadOption, GameOver
from airenv.core.jit import JIT_ON
from airenv.seat import Clock, Seat

ROOT = Path(airenv.__file__).parents[1]
NAMES = airenv.game_names()
TABLES = [(name, players) for name in NAMES for players in airenv.facts(name).players]
SIMS = 24


def network(game, seed=1, prefers=None):
    """A small network of random numbers; one that prefers an action gives it nearly all of its policy."""
    rng = np.random.default_rng(seed)
    inputs = game.observation_size

    def layer(rows, columns, scale):
        return (rng.normal(size=(rows, columns)) * scale).astype(np.float32), np.zeros(columns, np.float32)

    made = Weights((layer(inputs, 32, (2 / inputs) ** 0.5),), layer(32, game.num_actions, 0.3), layer(32, 1, 0.3))
    if prefers is not None:
        made.policy[1][prefers] += 20.0
    return made


def running(game, number, seed=0):
    """Positions in which there is something to decide."""
    found = []
    while len(found) < number:
        seed += 1
        state = game.random_position(seed, seed * 7 % 120)
        if len(game.legal_actions(state)) > 1:
            found.append(state)
    return found


def found_in(game, state, agent, seed=1):
    seat = Seat(game, state)
    return agent.run(agent.search(seat, np.random.default_rng(seed)), seat)


def with_test_games(code, timeout=300):
    """Run code in a process that knows the games of the tests; what it prints, as JSON."""
    environment = {**os.environ, "AIRENV_GAMES": str(ROOT / "tests" / "games")}
    head = "import json, numpy as np, airenv\nfrom airenv.seat import Seat\nfrom tests.test_az import network\n"
    command = [sys.executable, "-c", head + code]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# -- what a guided search finds --------------------------------------------------------------------


@pytest.mark.parametrize(("name", "players"), TABLES)
def test_guided_searches_are_honest(name, players):
    game = airenv.game(name, players=players)
    agent = AzAgent(weights=network(game), sims=SIMS)
    for count, state in enumerate(running(game, 25)):
        twin = game.determinize(state, game.player(state), count + 1)
        assert found_in(game, state, agent, count).moves == found_in(game, twin, agent, count).moves
        mine, other = (guided_search(game, network(game), s, np.array([count]), SIMS) for s in (state, twin))
        assert (mine.visits == other.visits).all() and (mine.values == other.values).all()


@pytest.mark.parametrize(("name", "players"), TABLES)
@pytest.mark.parametrize("reward", ["rank", "win", "score"])
def test_guided_searches_add_up(name, players, reward):
    game = airenv.game(name, players=players, reward=reward)
    low, high = RANGES.get(reward, (-np.inf, np.inf))
    wild = network(game)
    wild.value[0][:] *= 100.0  # a network may promise more than there is
    agent = AzAgent(weights=wild, sims=SIMS)
    for count, state in enumerate(running(game, 10)):
        found = found_in(game, state, agent, count)
        assert sum(move.visits for move in found.moves) == found.iterations == SIMS
        assert sorted(move.action for move in found.moves) == game.legal_actions(state)
        for move in found.moves:
            assert move.available >= move.visits and all(low <= value <= high for value in move.values)


@pytest.mark.parametrize(("name", "players"), TABLES)
def test_a_batch_finds_what_its_games_find_alone(name, players):
    game = airenv.game(name, players=players)
    states, seeds = np.concatenate(running(game, 12)), np.arange(12) + 5
    noise = np.random.default_rng(1).dirichlet(np.ones(game.num_actions), 12)
    for extra in (None, noise):
        together = guided_search(game, network(game), states, seeds, SIMS, noise=extra)
        assert (together.visits.sum(axis=1) == SIMS).all() and not together.visits[together.masks == 0].any()
        for row in range(12):
            one = slice(row, row + 1)
            alone = guided_search(
                game, network(game), states[one], seeds[one], SIMS, noise=None if extra is None else extra[one]
            )
            assert (alone.visits == together.visits[row]).all() and (alone.values == together.values[row]).all()


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_finds_the_same_in_one_piece_or_many(name):
    game = airenv.game(name)
    seat, agent = Seat(game, running(game, 1)[0]), AzAgent(weights=network(game), sims=200)
    whole, again = (agent.search(seat, np.random.default_rng(3)).run(sims=200) for _ in range(2))
    pieces = agent.search(seat, np.random.default_rng(3))
    for _ in range(20):
        pieces.run(sims=10)
    assert whole.moves == again.moves == pieces.finding().moves
    assert whole.moves != agent.search(seat, np.random.default_rng(4)).run(sims=200).moves
    assert pieces.variation(whole.best)[0].visits == whole.moves[0].visits


@pytest.mark.parametrize("name", NAMES)
def test_a_policy_steers_the_visits(name):
    game = airenv.game(name)
    for state in running(game, 10):
        for action in game.legal_actions(state):
            agent = AzAgent(weights=network(game, prefers=action), sims=SIMS, c=20)
            found = found_in(game, state, agent)
            assert found.best == action and found.moves[0].visits > SIMS / 2


@pytest.mark.parametrize("name", NAMES)
def test_noise_makes_a_search_try_what_the_policy_would_not(name):
    game = airenv.game(name)
    state = running(game, 1)[0]
    first, last = game.legal_actions(state)[0], game.legal_actions(state)[-1]
    noise = np.zeros((1, game.num_actions))
    noise[0, last] = 1.0
    seeds, weights = np.array([1]), network(game, prefers=first)
    plain = guided_search(game, weights, state, seeds, SIMS, exploration=20.0)
    noisy = guided_search(game, weights, state, seeds, SIMS, exploration=20.0, noise=noise, noise_share=0.5)
    assert plain.visits[0, last] <= 1 and noisy.visits[0, last] > SIMS / 4


def test_the_batched_network_answers_as_the_network_does():
    game = airenv.game(NAMES[0])
    weights = network(game)
    seen = np.stack([game.observe(state, seat) for state in running(game, 5) for seat in range(game.players)])
    numbers, shapes = packed(weights)
    asked = np.array([ASK_PRIOR, ASK_VALUES] * len(seen), np.int8)[: len(seen)]
    work = workspace(shapes)
    logits, values = np.zeros((len(seen), game.num_actions), np.float32), np.zeros(len(seen), np.float32)
    answer(numbers, shapes, asked, seen, *work, logits, values)
    one = np.zeros(game.num_actions, np.float32)
    for slot, observation in enumerate(seen):
        value = forward_one(numbers, shapes, observation, work, one)
        assert (logits[slot] == one).all() if asked[slot] == ASK_PRIOR else values[slot] == value


def test_guided_searches_do_not_allocate():
    if not JIT_ON:
        return
    game = airenv.game(NAMES[0])
    search = AzAgent(weights=network(game), nodes=3000).search(
        Seat(game, running(game, 1)[0]), np.random.default_rng(1)
    )
    enabled = heap.memsys_stats_enabled()
    heap.memsys_enable_stats()
    try:
        made = []
        for iterations in (1, 1, 1000):
            before = heap.memsys_get_stats_mi_alloc()
            search._grow(search._trees[0], iterations)
            made.append(heap.memsys_get_stats_mi_alloc() - before)
        assert made[1] == made[2], made
    finally:
        if not enabled:
            heap.memsys_disable_stats()


@pytest.mark.parametrize("name", NAMES)
def test_a_guided_tree_stays_in_its_pool(name):
    game = airenv.game(name)
    search = AzAgent(weights=network(game), nodes=1000).search(
        Seat(game, running(game, 1)[0]), np.random.default_rng(1)
    )
    found = search.run(sims=3000)
    assert found.nodes <= 1000 and found.iterations == sum(move.visits for move in found.moves) == 3000


# -- the agent -------------------------------------------------------------------------------------


def saved(tmp_path, game, **manifest):
    save_checkpoint(tmp_path / "net", network(game), [game], manifest)
    return f"az:{tmp_path / 'net'}"


def test_a_line_names_a_checkpoint_and_its_limits(tmp_path):
    game = airenv.game(NAMES[0])
    line = saved(tmp_path, game)
    state = running(game, 1)[0]
    for text, clock, made in [
        (f"{line},sims=40", Clock(), 40),
        (line, Clock(), 64),
        (f"{line},sims=40", Clock(simulations=30), 30),
        (f"{line},sims=7,ms=100000,c=2,nodes=5000", Clock(), 7),
    ]:
        agent, seat = make_agent(text), Seat(game, state, clock)
        assert isinstance(agent, SearchAgent) and agent.name == text
        found = agent.run(agent.search(seat, np.random.default_rng(1)), seat)
        assert found.iterations == made and agent.act(seat, np.random.default_rng(1)) == found.best
    found = found_in(game, state, make_agent(f"{line},ms=30"))
    assert found.iterations > 10 and found.seconds < 5


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("az:nowhere/net", "no checkpoint"),
        ("az:nowhere/net,sims=0", "sims of az"),
        ("az:nowhere/net,threads=2", "parameter of az"),
    ],
)
def test_wrong_lines_say_what_is_wrong(line, says):
    with pytest.raises(AirenvError, match=says):
        make_agent(line)


def test_a_checkpoint_of_another_game_or_reward_is_refused(tmp_path):
    game = airenv.game(NAMES[0])
    agent = make_agent(saved(tmp_path, game))
    with pytest.raises(BadCheckpoint, match="reward rank cannot guide a search for win"):
        agent.act(Seat(airenv.game(NAMES[0], reward="win"), running(game, 1)[0]), np.random.default_rng(1))
    manifest = tmp_path / "net.json"
    manifest.write_text(manifest.read_text().replace(f'"{game.name}"', '"chess"'))
    with pytest.raises(BadCheckpoint, match=f"checkpoint of chess cannot play {game.name}"):
        make_agent(f"az:{tmp_path / 'net.json'}").act(Seat(game, running(game, 1)[0]), np.random.default_rng(1))
    other = Weights(((np.zeros((3, 4), np.float32), np.zeros(4, np.float32)),), *network(game).layers[1:])
    with pytest.raises(BadCheckpoint, match="other observations"):
        guided_search(game, other, running(game, 1)[0], np.array([1]), 5)


@pytest.mark.parametrize("name", NAMES)
def test_one_legal_move_is_made_at_once_and_a_finished_game_is_an_error(name):
    game = airenv.game(name)
    agent = AzAgent(weights=network(game), ms=3_600_000)
    only = Seat(game, running(game, 1)[0])
    only.legal_actions = only.legal_actions[:1]
    assert agent.act(only, np.random.default_rng(1)) == only.legal_actions[0]
    over = game.random_position(1, 10**6)
    with pytest.raises(GameOver, match="over"):
        agent.act(Seat(game, over), np.random.default_rng(1))
    with pytest.raises(GameOver, match="over"):
        guided_search(game, network(game), over, np.array([1]), 5)
    with pytest.raises(BadOption, match="sims or ms"):
        agent.search(Seat(game, running(game, 1)[0]), np.random.default_rng(1)).run()


def test_a_guided_search_can_be_stopped():
    game = airenv.game(NAMES[0])
    agent, seat, done = AzAgent(weights=network(game), ms=3_600_000), Seat(game, running(game, 1)[0]), []
    thread = threading.Thread(target=lambda: done.append(agent.act(seat, np.random.default_rng(1))))
    thread.start()
    until = time.monotonic() + 120
    while agent.thought() < 100:
        assert time.monotonic() < until
        time.sleep(0.01)
    agent.stop()
    thread.join(30)
    assert done and done[0] in seat.legal_actions and agent.thought() == 0


# -- games of the tests ----------------------------------------------------------------------------

PENNIES = """
from agents.az import AzAgent
found = {}
for players in (2, 5):
    game = airenv.game("pennies", players=players)
    state = game.new(1)
    weights = network(game)
    weights.policy[0][:] = 0.0
    for mover in range(2):
        seat, agent = Seat(game, state), AzAgent(weights=weights, sims=20000)
        result = agent.run(agent.search(seat, np.random.default_rng(1)), seat)
        found[f"{players}/{mover}"] = [[m.visits, m.values] for m in result.moves]
        game.apply(state, 0)
print(json.dumps(found))
"""


def test_nobody_answers_a_secret_choice():
    """Matching pennies: if the second player could answer, the first would always lose; side by side it is even."""
    found = with_test_games(PENNIES)
    assert set(found) == {"2/0", "2/1", "5/0", "5/1"}
    for table, moves in found.items():
        players, mover = map(int, table.split("/"))
        assert sum(visits for visits, _ in moves) == 20000
        for visits, values in moves:
            even = 0.0 if players == 2 else 0.375  # of first and last places among five, half each
            assert visits > 5000 and abs(values[mover] - even) < 0.1, f"{table}: {moves}"


FORCED_WIN = """
from agents.az import AzAgent, guided_search
from airenv.games.high_card.layout import CARDS, HANDS, KEEP, SWAP
game = airenv.game("high_card", players=2)
weights = network(game)
for matrix, bias in (*weights.trunk, weights.policy, weights.value):
    matrix[:] = bias[:] = 0.0
for card in range(CARDS):  # one unit of the trunk for each card in the own hand, and its share of the value
    weights.trunk[0][0][HANDS + card, card] = 1.0
    weights.value[0][card] = 2.0 * card / (CARDS - 1) - 1.0
weights.policy[1][SWAP] = 2.0
best = []
for seed in range(300):
    state = game.new(seed)
    for _ in range(2):
        game.apply(state, KEEP)
    if state["hand"][0, 0] in (1, CARDS):
        found = guided_search(game, weights, state, np.array([seed]), 100)
        best.append([int(state["hand"][0, 0]), int(found.visits[0].argmax()), float(found.values[0, 0])])
print(json.dumps(best))
"""


def test_a_value_that_knows_finds_the_win():
    """The highest card wins: the value says so, the policy would rather swap it."""
    found = with_test_games(FORCED_WIN)
    assert {card for card, _, _ in found} == {1, 12}
    for card, best, value in found:
        assert best == (0 if card == 12 else 1), f"card {card}: {best}"
        assert value > 0.5 if card == 12 else value < 0.5


# -- expert iteration ------------------------------------------------------------------------------

TINY_RUN = {"games": 12, "steps": 40, "sims": 4, "batch": 64, "window": 2000, "drawn": 20}


def tables(name):
    return [airenv.game(name, players=players) for players in airenv.facts(name).players]


@pytest.mark.parametrize("name", NAMES)
def test_going_on_from_what_was_saved_is_the_same_to_the_bit(name, tmp_path):
    settings = expert.ExpertSettings(**TINY_RUN)
    whole = expert.ExpertIteration(tables(name), settings, [32], seed=3)
    while whole.finished < 10:  # so that the optimizer has something to remember
        whole.advance()
    before = np.random.get_state()[1].copy()
    whole.save(tmp_path / "state")
    other = expert.ExpertIteration(tables(name), settings, [32], seed=4)
    other.advance()
    other.load(tmp_path / "state")
    assert other.decisions == whole.decisions > 0 and other.network.optimizer.state_dict()["state"]
    rounds = [(whole.advance(), other.advance()) for _ in range(4)]
    assert sum(told["updates"] for told, _ in rounds) > 0
    for mine, others in rounds:
        for key in ("policy_loss", "value_loss", "updates", "games", "length", "positions"):
            assert mine.get(key) == others.get(key), key
    for a, b in zip(whole.weights().arrays().values(), other.weights().arrays().values(), strict=True):
        assert (a == b).all()
    for a, b in zip(whole.window.arrays().values(), other.window.arrays().values(), strict=True):
        assert (a == b).all()
    assert (np.random.get_state()[1] == before).all()
    assert {path.name for path in (tmp_path / "state").iterdir()} == {"arrays.safetensors", "facts.json"}


@pytest.mark.parametrize("name", NAMES)
def test_positions_are_those_of_the_seats_that_saw_them(name):
    """Shares are of legal moves, rewards those of finished games, and every decision is kept."""
    trainer = expert.ExpertIteration(tables(name), expert.ExpertSettings(**{**TINY_RUN, "window": 20000}), [32], seed=1)
    finished = sum(trainer.advance()["games"] for _ in range(16))
    window = trainer.window
    onlookers = 16 * 40 * sum(int(0.25 * table.num_envs) for table in trainer.tables)
    assert finished == trainer.finished > 0 and len(window) == trainer.decisions + onlookers
    known = window.known()
    assert 0 < len(known) < len(window)
    assert not window.shares[: len(window)][window.masks[: len(window)] == 0].any()
    totals = window.shares[: len(window)].sum(axis=1)
    assert (
        np.allclose(totals[totals > 0], 1.0) and ((totals > 0) == (window.masks[: len(window)].sum(axis=1) > 1)).all()
    )
    assert (np.abs(window.rewards[known]) <= 1.0).all() and (window.rewards[known] > 0).any()
    assert trainer.weights().observation_size == trainer.tables[0].game.observation_size


def test_a_window_keeps_the_latest_and_fills_in_rewards():
    window = expert.Window(5, 1, 2)

    def add(games, seats):
        marks, nothing = np.arange(len(games), dtype=np.float32)[:, None] + window.added, np.zeros((len(games), 2))
        window.add(marks, nothing, nothing, np.array(games), np.array(seats))

    add([0, 1, 0], [0, 1, 1])
    assert len(window) == 3 and len(window.known()) == 0
    assert window.reward(np.array([0]), np.array([[0.5, -0.5]])) == 2
    assert window.known().tolist() == [0, 2] and window.rewards[[0, 2]].tolist() == [0.5, -0.5]
    add([0, 0, 0], [0, 0, 0])
    assert len(window) == 5 and sorted(window.observations[:, 0]) == [1, 2, 3, 4, 5]
    assert window.reward(np.array([1, 0]), np.array([[0.1, 0.2], [0.3, 0.4]])) == 4
    assert len(window.known()) == 5 and window.rewards[1] == np.float32(0.2)
    add([7] * 9, [0] * 9)
    assert sorted(window.observations[:, 0]) == [10, 11, 12, 13, 14] and len(window.known()) == 0


def test_settings_and_starts_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="simulations"):
        expert.ExpertSettings(simulations=3)
    assert all(field.description for field in expert.ExpertSettings.model_fields.values())
    game = airenv.game(NAMES[0])
    with pytest.raises(BadOption, match="another shape"):
        expert.ExpertIteration([game], expert.ExpertSettings(games=2), [8], 1, network(game))
    with pytest.raises(BadOption, match="cannot be shared out"):
        expert.ExpertIteration([game, game], expert.ExpertSettings(games=1), [8], 1)
    start = network(game)
    trainer = expert.ExpertIteration([game], expert.ExpertSettings(games=2), [32], 1, start)
    for a, b in zip(trainer.weights().arrays().values(), start.arrays().values(), strict=True):
        assert (a == b).all()


LEARNS = """
from agents.expert import ExpertIteration, ExpertSettings
from agents.policy import PolicyAgent
from airenv.games.high_card.layout import CARDS, KEEP
from experiments.matches import play_match
game = airenv.game("high_card", players=2)
settings = ExpertSettings(games=64, steps=8, sims=24, batch=256, window=6000, drawn=4)
trainer = ExpertIteration([game], settings, [32], seed=1)
first = trainer.weights()
told = [trainer.advance() for _ in range(40)]
kept = {}
for seed in range(200):
    state = game.new(seed)
    for _ in range(3):
        game.apply(state, KEEP)
    kept[int(state["hand"][0, 1])] = PolicyAgent(weights=trainer.weights()).act(Seat(game, state), None) == KEEP
nets = [PolicyAgent(weights=weights, name="net") for weights in (first, trainer.weights())]
shares = [play_match(game, net, "random", 600, workers=1).share for net in nets]
losses = [round(row["value_loss"], 3) for row in told if row["updates"]]
print(json.dumps({"kept": kept, "shares": shares, "losses": losses}))
"""


def test_expert_iteration_learns():
    """High card: the last to act keeps a high card and swaps a low one; an untrained network has no idea."""
    found = with_test_games(LEARNS)
    kept, (before, after), losses = found["kept"], found["shares"], found["losses"]
    assert all(kept[card] for card in ("10", "11", "12")) and not any(kept[card] for card in ("1", "2", "3")), found
    assert after > max(0.57, before), found
    assert np.mean(losses[-5:]) < 0.9 * np.mean(losses[:3]), found  # much of it is the luck of the cards
