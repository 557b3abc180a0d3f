"""Agents and what they are given: lines, seats, clocks, matches."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import airenv
from agents import make_agent
from agents.lines import AGENTS
from agents.match import play_game
from airenv.core.boards import find_board
from airenv.core.errors import AirenvError, BadOption, GameOver, UnknownName
from airenv.replay import final_state, load_replay, save_replay
from airenv.seat import Clock, Seat, agent_from_line

NAMES = airenv.game_names()


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("random", "random"),
        (" greedy ", "greedy"),
        ("greedy:epsilon=0.25", "greedy:epsilon=0.25"),
        ("greedy:epsilon=0", "greedy"),
    ],
)
def test_lines_name_agents(line, name):
    assert make_agent(line).name == name and agent_from_line(line).name == name


@pytest.mark.parametrize(
    ("line", "kind", "says"),
    [
        ("gredy", UnknownName, "Did you mean greedy"),
        ("", BadOption, "such as 'greedy'"),
        ("greedy:epsilo=1", UnknownName, "Did you mean epsilon"),
        ("greedy:epsilon", BadOption, "needs a value"),
        ("greedy:epsilon=", BadOption, "needs a value"),
        ("greedy:epsilon=lots", BadOption, "from 0 to 1"),
        ("greedy:epsilon=1.5", BadOption, "from 0 to 1"),
        ("greedy:epsilon=nan", BadOption, "from 0 to 1"),
        ("random:epsilon=1", UnknownName, "parameter of random"),
    ],
)
def test_lines_that_name_none_say_what_is_allowed(line, kind, says):
    with pytest.raises(kind, match=says):
        make_agent(line)


@given(st.text(max_size=30))
def test_any_text_is_an_agent_or_a_clear_error(text):
    try:
        assert make_agent(text).name.partition(":")[0] in AGENTS
    except AirenvError as error:
        assert str(error)


@pytest.mark.parametrize("name", AGENTS)
def test_every_agent_says_what_it_does_and_what_it_takes(name):
    agent = AGENTS[name]
    assert agent.kind == name and agent.__doc__
    for key, parameter in agent.parameters.items():
        assert parameter.says and parameter.allowed, key
        if parameter.default is not None:
            assert parameter.read(key, parameter.default) == parameter.default


@pytest.mark.parametrize("name", NAMES)
def test_agents_play_legal_games_that_replay(name):
    for players in airenv.facts(name).players:
        game = airenv.game(name, players=players)
        for seed, line in enumerate(("random", "greedy", "greedy:epsilon=0.5")):
            state, replay = play_game(game, [make_agent(line)] * players, seed)
            again, other = play_game(game, [make_agent(line)] * players, seed)
            assert game.is_over(state) and replay == other and game.digest(state) == game.digest(again)
            assert game.digest(final_state(replay)[1]) == game.digest(state)


@pytest.mark.parametrize("name", NAMES)
def test_greedy_beats_random_from_every_seat(name):
    for players in airenv.facts(name).players:
        game = airenv.game(name, players=players, reward="win")
        won = 0.0
        for seed in range(60):
            lines = ["random"] * players
            lines[seed % players] = "greedy"
            state, _ = play_game(game, [make_agent(line) for line in lines], seed)
            won += game.returns(state)[seed % players]
        assert won / 60 > 1.5 / players, f"{players} players: {won} of 60"


def test_a_table_needs_an_agent_for_every_seat():
    game = airenv.game(NAMES[0])
    with pytest.raises(BadOption, match="agents"):
        play_game(game, [make_agent("random")], 1)


# -- seats -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_seat_shows_what_its_player_sees(name):
    game = airenv.game(name)
    state = game.random_position(1, 8)
    player = game.player(state)
    seat = Seat(game, state, Clock(milliseconds=50))
    assert seat.index == player and seat.clock.milliseconds == 50
    assert (seat.observation == game.observe(state, player)).all()
    assert (seat.action_mask == game.legal_mask(state)).all()
    assert seat.legal_actions == game.legal_actions(state) and seat.view == game.view(state, player)


@pytest.mark.parametrize("name", NAMES)
def test_a_seat_holds_no_state_an_agent_could_take(name):
    """Nothing that hangs on a seat or on its game is the true state or shares its memory."""
    game = airenv.game(name)
    state = game.random_position(2, 8)
    seat = Seat(game, state)
    arrays = [thing for owner in (seat, game) for thing in vars(owner).values() if isinstance(thing, np.ndarray)]
    assert arrays and not any(np.shares_memory(array, state) for array in arrays)


@pytest.mark.parametrize("name", NAMES)
def test_worlds_of_a_seat_are_drawn_from_its_generator(name):
    game = airenv.game(name)
    state = game.random_position(3, 8)
    before = state.tobytes()
    seat = Seat(game, state)
    one, two = (seat.sample_world(np.random.default_rng(4)) for _ in range(2))
    assert one.tobytes() == two.tobytes() and not np.shares_memory(one, state)
    drawn = {seat.sample_world(np.random.default_rng(n)).tobytes() for n in range(20)}
    assert len(drawn) == 20 and state.tobytes() == before
    assert all(game.observe(w, seat.index).tobytes() == seat.observation.tobytes() for w in (one, two))


def test_no_seat_in_a_finished_game():
    game = airenv.game(NAMES[0])
    with pytest.raises(GameOver):
        Seat(game, game.random_position(1, 10**9))


@pytest.mark.parametrize("name", NAMES)
def test_gymnasium_opponents_may_be_agents_or_lines(name):
    import gymnasium

    players = airenv.facts(name).players[0]
    options = {"players": players, "opponents": ["greedy"] * (players - 2) + [make_agent("random")]}
    env = gymnasium.make(airenv.facts(name).gym_id, **options)
    env.reset(seed=1)
    for bad in (["random"] * players, [], None, 5, [None] * (players - 1)):
        with pytest.raises(BadOption, match="opponent"):
            gymnasium.make(airenv.facts(name).gym_id, players=players, opponents=bad)
    env.close()
    gymnasium.make(airenv.facts(name).gym_id, players=players, opponents=make_agent("greedy")).reset(seed=1)


def test_agents_may_answer_with_numpy_integers(tmp_path):
    class Numpy:
        name = "numpy"

        def act(self, seat, rng):
            return np.int64(seat.legal_actions[0])

    game = airenv.game(NAMES[0])
    _, replay = play_game(game, [Numpy()] * game.players, np.int64(3))
    save_replay(replay, tmp_path / "a.json")
    assert load_replay(tmp_path / "a.json") == replay


def test_batches_deal_other_games_at_every_reset():
    vec = airenv.make_vec(NAMES[0], 3, seed=1)
    first = vec.reset()[0]["observation"]
    assert (vec.reset()[0]["observation"] != first).any()
    assert (vec.reset(1)[0]["observation"] == first).all()


def test_a_game_on_ones_own_board_goes_on_from_any_folder(tmp_path, monkeypatch):
    own = tmp_path / "my.toml"
    game = airenv.game(NAMES[0])
    own.write_text(find_board(game.folder, game.board_name).read_text())
    monkeypatch.chdir(tmp_path)
    mine = airenv.game(NAMES[0], board="my.toml")
    _, replay = play_game(mine, [make_agent("greedy")] * mine.players, 3)
    monkeypatch.chdir("/")
    assert mine.digest(final_state(replay)[1]) == replay.digest
