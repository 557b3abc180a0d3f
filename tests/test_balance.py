"""The balance of a game: counts that add up, figures worked out by hand, rigged agents and seats called out."""

import io
import json
import os
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from rich.console import Console

import airenv
from agents.executors import make_executor
from agents.lines import AGENTS
from airenv.core.errors import AirenvError, BadOption, BadSeed, UnknownName
from airenv.replay import Replay, positions
from experiments import balance, balance_page
from experiments.balance import EVENLY, MADE, OFFERED, PARTS, TAKEN, ActionFigures, Counted, Played
from experiments.units import Unit, play_unit

ROOT = Path(airenv.__file__).parents[1]
NAME = airenv.game_names()[0]
PLAYERS = airenv.facts(NAME).players
LINES = ["random", "greedy"]
FAVOURITE = airenv.game(NAME).legal_actions(airenv.game(NAME).new(0))[0]


class Backwards:
    """Does the last piece first, and sends everything as another process would."""

    workers = 1

    def results(self, function, tasks, shared=None):
        for task in reversed(list(tasks)):
            sent = pickle.loads(pickle.dumps(task))
            yield task, pickle.loads(pickle.dumps(function(shared, sent)))

    def warm(self, function):
        function()

    def close(self):
        pass


class Idle(Backwards):
    """Must not be given anything to do."""

    def results(self, function, tasks, shared=None):
        raise AssertionError("games are played")

    warm = results


class Stub:
    """An agent of the tests; what it does is said by its classes."""

    parameters: ClassVar[dict] = {}

    def act(self, seat, rng):
        return seat.legal_actions[int(rng.integers(len(seat.legal_actions)))]


class Loyal(Stub):
    """Makes the first action of all whenever it can."""

    kind = name = "loyal_of_the_balance"

    def act(self, seat, rng):
        return FAVOURITE if FAVOURITE in seat.legal_actions else super().act(seat, rng)


class Shaky(Stub):
    """Crashes now and then."""

    kind = name = "shaky_of_the_balance"

    def act(self, seat, rng):
        if rng.random() < 0.003:
            raise RuntimeError("a hand shook")
        return super().act(seat, rng)


class Broken(Stub):
    """Crashes at once."""

    kind = name = "broken_of_the_balance"

    def act(self, seat, rng):
        raise RuntimeError("no idea | at all")


def quiet():
    return Console(file=io.StringIO(), width=100)


def measured(players, lines, games, seed=0, executor=None):
    plan = balance.make_plan(NAME, players, {}, lines, games, seed)
    return balance.measure(quiet(), plan, executor or make_executor("inline"))


@pytest.fixture(scope="module")
def found():
    return measured(None, LINES, 10)


# -- games that are played -------------------------------------------------------------------------


def test_every_number_of_players_and_every_agent_has_a_column(found):
    assert [(c.players, c.agent) for c in found.columns] == [(p, line) for p in PLAYERS for line in LINES]
    assert list(found.tables()) == list(PLAYERS)
    for column in found.columns:
        assert column.figures.games == 10 and column.errors == {} and column.message == ""


def test_counts_add_up(found):
    for column in found.columns:
        figures = column.figures
        made = sum(action.made for action in figures.actions)
        assert made == figures.decisions == sum(figures.kinds.values())
        assert made == sum(length * games for length, games in figures.lengths.items())
        assert figures.length.mean == pytest.approx(made / 10)
        assert figures.decisions_a_player == pytest.approx(made / 10 / column.players)
        assert sum(seat.wins for seat in figures.seats) == pytest.approx(1.0)
        real = sum(action.taken for action in figures.actions)
        assert figures.forced == pytest.approx(1 - real / made)
        assert sum(action.evenly for action in figures.actions) == pytest.approx(real, rel=1e-4)
        assert all(action.taken <= min(action.offered, action.made) for action in figures.actions)


def test_each_kind_of_action_is_the_sum_of_its_actions(found):
    game = airenv.game(NAME)
    for column in found.columns:
        for kind, actions in game.action_kinds.items():
            of_kind = [action for action in column.figures.actions if action.kind == kind]
            assert [action.action for action in of_kind] == list(actions)
            assert column.figures.kinds[kind] == sum(action.made for action in of_kind)


def test_actions_are_counted_as_a_replay_tells_them():
    unit = Unit(NAME, (("players", PLAYERS[0]),), ("random",) * PLAYERS[0], 3)
    replay = Replay.model_validate_json(play_unit(unit).replay)
    expected = np.zeros((4, unit.open().num_actions))
    for (game, state), action in zip(positions(replay), replay.actions, strict=False):
        legal = game.legal_actions(state)
        expected[MADE, action] += 1
        if len(legal) > 1:
            expected[TAKEN, action] += 1
            for other in legal:
                expected[OFFERED, other] += 1
                expected[EVENLY, other] += 1 / len(legal)
    counts, state = balance.count_actions(unit.open(), unit.deal, replay.actions)
    assert np.array_equal(counts[:EVENLY], expected[:EVENLY])
    assert np.allclose(counts[EVENLY] / PARTS, expected[EVENLY], atol=1e-3)
    assert unit.open().digest(state) == replay.digest


def test_the_mean_number_of_legal_actions_is_that_of_all_decisions():
    figures = measured([PLAYERS[0]], ["random"], 2).columns[0].figures
    legal = []
    for deal in range(2):
        unit = Unit(NAME, (("players", PLAYERS[0]),), ("random",) * PLAYERS[0], deal)
        replay = Replay.model_validate_json(play_unit(unit).replay)
        legal += [len(game.legal_actions(state)) for game, state in positions(replay) if not game.is_over(state)]
    assert figures.legal == pytest.approx(np.mean(legal))
    assert figures.forced == pytest.approx(np.mean(np.array(legal) == 1))


def test_the_same_seed_gives_the_same_figures_in_any_order_and_another_does_not(found):
    assert measured(None, LINES, 10) == found
    assert measured(None, LINES, 10, executor=Backwards()) == found
    assert measured(None, LINES, 10, seed=10).columns != found.columns


def test_all_agents_play_the_same_deals():
    plan = balance.make_plan(NAME, None, {}, LINES, 7, 5)
    deals = {}
    for units in plan.pieces():
        for unit in units:
            deals.setdefault((len(unit.agents), unit.agents[0]), []).append(unit.deal)
            assert set(unit.agents) == {unit.agents[0]} and unit.open().players == len(unit.agents)
    assert deals == {place: list(range(5, 12)) for place in plan.places()}


def test_an_action_that_is_always_taken_is_dominant(monkeypatch):
    monkeypatch.setitem(AGENTS, Loyal.kind, Loyal)
    random, loyal = measured([PLAYERS[0]], ["random", Loyal.kind], 20).columns
    first = loyal.figures.called("dominant")[0]
    assert (first.action, first.name, first.share) == (FAVOURITE, airenv.game(NAME).action_name(FAVOURITE), 1.0)
    assert first.offered >= balance.OFTEN
    assert FAVOURITE not in [action.action for action in random.figures.called("dominant")]


def test_games_that_end_by_an_error_are_counted_apart(monkeypatch):
    monkeypatch.setitem(AGENTS, Shaky.kind, Shaky)
    (column,) = measured([PLAYERS[0]], [Shaky.kind], 20).columns
    assert 0 < column.errors["crash"] < 20 and set(column.errors) == {"crash"}
    assert column.figures.games == 20 - column.errors["crash"]
    assert column.figures.decisions == sum(n * games for n, games in column.figures.lengths.items())
    assert column.message == "RuntimeError: a hand shook"


def test_an_agent_that_finishes_no_game_has_no_figures_and_the_page_says_why(monkeypatch, tmp_path):
    monkeypatch.setitem(AGENTS, Broken.kind, Broken)
    console, inline = quiet(), make_executor("inline")
    found = balance.run(console, NAME, [PLAYERS[0]], {}, [Broken.kind, "random"], 3, 0, inline, tmp_path)
    assert found.columns[0].figures is None and found.columns[0].errors == {"crash": 3}
    assert found.columns[1].figures.games == 3
    assert "3 crash" in console.file.getvalue() and "no idea | at all" in console.file.getvalue()
    assert r"no idea \| at all" in (tmp_path / "balance.md").read_text()
    alone = replace(found, columns=found.columns[:1])
    for _, picture in balance_page.PICTURES.values():
        assert picture(alone).startswith(b"\x89PNG")


# -- figures worked out by hand --------------------------------------------------------------------


def played(deal, scores, decisions=10, cut_off=False):
    best = max(scores)
    winners = scores.count(best)
    ranks = tuple((1 + winners) / 2 if score == best else float(len(scores)) for score in scores)
    return Played(deal, tuple(map(float, scores)), ranks, decisions, cut_off, "", "")


def by_hand():
    """Three games of two players, and counts of four actions."""
    game = airenv.game(NAME, players=2)
    actions = balance.nothing(game)
    actions[:, 0] = 110, 100, 99, 50 * PARTS  # taken in 99% of its choices
    actions[:, 1] = 1, 300, 1, 100 * PARTS  # hardly ever taken
    actions[:, 2] = 0, 300, 0, 9 * PARTS  # one of very many: nothing can be said
    actions[:, 3] = 49, 49, 49, 20 * PARTS  # not offered often enough
    games = [played(0, [3, 1], 10), played(1, [2, 2], 20, cut_off=True), played(2, [0, 5], 30)]
    return game, Counted(actions, games)


def test_length_scores_and_wins_of_three_games():
    game, counted = by_hand()
    figures = balance.column(game, "somebody", counted).figures
    length = figures.length
    assert (length.mean, length.low, length.median, length.high) == pytest.approx((20, 11, 20, 29))
    assert length.sd == pytest.approx(np.sqrt(200 / 3))
    assert figures.lengths == {10: 1, 20: 1, 30: 1} and figures.decisions_a_player == pytest.approx(10)
    assert figures.cut_off == figures.draws == pytest.approx(1 / 3)
    assert [seat.wins for seat in figures.seats] == pytest.approx([0.5, 0.5])
    assert (figures.margin.mean, figures.margin.median) == pytest.approx((7 / 3, 2))
    assert figures.score.mean == pytest.approx(13 / 6)


def test_dominant_and_never_used_actions_of_given_counts():
    game, counted = by_hand()
    figures = balance.column(game, "somebody", counted).figures
    assert [action.action for action in figures.called("dominant")] == [0]
    assert [action.action for action in figures.called("never used")] == [1]
    assert figures.decisions == 160 and figures.forced == pytest.approx(11 / 160)
    assert figures.legal == pytest.approx((749 + 11) / 160)
    assert figures.never_legal == game.num_actions - 4


def test_an_interval_has_a_width_even_where_nothing_was_won():
    assert balance.wilson(5, 10) == pytest.approx((0.2366, 0.7634), abs=1e-4)
    assert balance.wilson(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert balance.wilson(10, 10) == pytest.approx((0.7225, 1.0), abs=1e-4)


# -- seats -----------------------------------------------------------------------------------------


def games_won_by(winners, players):
    return [played(deal, [int(seat == winner) for seat in range(players)]) for deal, winner in enumerate(winners)]


def test_a_seat_that_always_wins_is_called_out():
    seats = balance.judge_seats(games_won_by([1] * 40, 3), tables=9)
    assert [seat.verdict for seat in seats] == ["worse", "better", "worse"]
    assert max(seat.chance for seat in seats) < 0.01


def test_seats_that_win_in_turn_are_not_called_out():
    seats = balance.judge_seats(games_won_by([0, 1, 2, 3] * 25, 4))
    assert [(seat.wins, seat.chance, seat.verdict) for seat in seats] == [(0.25, 1.0, "")] * 4


def test_games_without_a_sole_winner_favour_nobody():
    seats = balance.judge_seats([played(deal, [7, 7, 7]) for deal in range(30)])
    assert [seat.verdict for seat in seats] == ["", "", ""]


def test_of_fair_tables_about_one_in_twenty_is_called_out():
    rng = np.random.default_rng(3)
    called = [
        any(seat.verdict for seat in balance.judge_seats(games_won_by(rng.integers(4, size=97), 4))) for _ in range(120)
    ]
    assert 0.01 <= np.mean(called) <= 0.1


def test_more_tables_make_a_run_slower_to_judge():
    games = games_won_by([0] * 62 + [1] * 38, 2)
    alone, among_many = balance.judge_seats(games), balance.judge_seats(games, tables=9)
    assert alone[0].verdict == "better" and among_many[0].verdict == ""
    assert among_many[0].chance == pytest.approx(9 * alone[0].chance)


def test_shared_wins_are_simulated_as_shared():
    """With two of three sharing every win, wins are one less what the third did not get: half as far from fair."""
    wins = balance.fair_wins([2] * 90, 3)
    assert np.allclose(wins.sum(1), 90) and wins.mean(0) == pytest.approx([30, 30, 30], abs=0.2)
    assert wins.std(0) == pytest.approx(np.full(3, np.sqrt(90 * 2 / 9) / 2), rel=0.05)


# -- what is shown and written ---------------------------------------------------------------------


def test_tables_fit_a_hundred_columns_and_show_the_figures(found):
    console = quiet()
    balance_page.show(console, found)
    lines = console.file.getvalue().splitlines()
    assert max(map(len, lines)) <= 100 and not any("…" in line for line in lines)
    shares = [balance_page.seat_cell(0, column.figures) for column in found.columns[:2]]
    assert [line for line in lines if "seat 0 wins" in line and all(share in line for share in shares)]
    for kind in airenv.game(NAME).action_kinds:
        assert any(f"made: {kind}" in line for line in lines)


def test_long_lists_name_a_dozen_and_count_the_rest():
    action = ActionFigures(3, "fly", "move", made=9, offered=8, taken=4, evenly=2.0, verdict="")
    assert balance_page.listed([action] * 12) == ", ".join(["fly (4 of 8)"] * 12)
    assert balance_page.listed([action] * 15) == ", ".join(["fly (4 of 8)"] * 12) + " and 3 more"


def test_a_run_writes_figures_page_and_pictures(tmp_path):
    console, out = quiet(), tmp_path / "new" / "folder"
    found = balance.run(console, NAME, [PLAYERS[0]], {}, LINES, 3, 4, make_executor("inline"), out)
    assert sorted(path.name for path in out.iterdir()) == [
        "balance.json",
        "balance.md",
        "kinds.png",
        "length.png",
        "seats.png",
    ]
    kept = json.loads((out / "balance.json").read_text())
    assert kept["columns"][1]["figures"]["kinds"] == found.columns[1].figures.kinds
    assert kept["columns"][0]["figures"]["length"]["mean"] == found.columns[0].figures.length.mean
    page = (out / "balance.md").read_text()
    assert f"--players {PLAYERS[0]} --agent random --agent greedy --games 3 --seed 4" in page
    for picture in balance_page.PICTURES:
        assert f"]({picture})" in page and (out / picture).read_bytes().startswith(b"\x89PNG")


def test_the_command_names_the_players_only_if_not_all_play():
    board = airenv.game(NAME).board_name
    command = balance.make_plan(NAME, None, {"board": board}, [], 2, 0).command()
    assert "--players" not in command and f"--board {board}" in command
    assert all(f"--agent {line}" in command for line in balance.AGENTS)


# -- mistakes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "error", "told"),
    [
        ({"name": "no_such_game"}, UnknownName, "unknown game"),
        ({"agents": ["random", "no_such_agent"]}, UnknownName, "unknown agent"),
        ({"agents": ["greedy:nonsense=1"]}, UnknownName, "nonsense"),
        ({"players": [PLAYERS[0], 99]}, BadOption, "not for 99 players; allowed: "),
        ({"games": 1}, BadOption, "at least 2"),
        ({"games": 0}, BadOption, "games is a positive integer"),
        ({"seed": -1}, BadSeed, "seed"),
        ({"seed": 2**63 - 3}, BadSeed, "seed"),
        ({"options": {"players": 3}}, BadOption, "place of its own"),
        ({"options": {"nonsense": 3}}, UnknownName, "nonsense"),
        ({"out": Path(__file__)}, BadOption, "is a file"),
    ],
)
def test_mistakes_are_told_before_anything_is_played(change, error, told, tmp_path):
    given = {"name": NAME, "players": None, "options": {}, "agents": LINES, "games": 20, "seed": 0, "out": tmp_path}
    with pytest.raises(error, match=told) as caught:
        balance.run(quiet(), executor=Idle(), **(given | change))
    assert isinstance(caught.value, AirenvError) and list(tmp_path.iterdir()) == []


# -- toy games -------------------------------------------------------------------------------------

TOYS = """
import sys
from pathlib import Path
from rich.console import Console
from agents.executors import make_executor
from agents.lines import AGENTS
from experiments import balance

class First:
    kind = name = "first"
    parameters = {}
    def act(self, seat, rng):
        return seat.legal_actions[0]

AGENTS["first"] = First
for name in ("pennies", "high_card"):
    out = Path(sys.argv[1]) / name
    balance.run(Console(width=100), name, None, {}, ["random", "first"], 80, 0, make_executor("inline"), out)
"""


@pytest.fixture(scope="module")
def toys(tmp_path_factory):
    """The figures of two toy games, by name, number of players and agent."""
    out = tmp_path_factory.mktemp("toys")
    environment = {**os.environ, "AIRENV_GAMES": str(ROOT / "tests" / "games")}
    command = [sys.executable, "-c", TOYS, str(out)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found = {}
    for name in ("pennies", "high_card"):
        for column in json.loads((out / name / "balance.json").read_text())["columns"]:
            found[name, column["players"], column["agent"]] = column["figures"]
    return found


def test_a_rigged_agent_makes_one_action_dominant_and_the_other_never_used(toys):
    for players in (2, 5):
        assert [a["verdict"] for a in toys["pennies", players, "random"]["actions"]] == ["", ""]
        figures = toys["pennies", players, "first"]
        assert [a["verdict"] for a in figures["actions"]] == ["dominant", "never used"]
        assert [a["offered"] for a in figures["actions"]] == [80 * players] * 2
        assert [a["taken"] for a in figures["actions"]] == [80 * players, 0]
        assert [a["evenly"] for a in figures["actions"]] == [40 * players] * 2


def test_pennies_that_always_match_are_won_by_the_first_seat(toys):
    figures = toys["pennies", 2, "first"]
    assert [seat["wins"] for seat in figures["seats"]] == [1.0, 0.0]
    assert figures["verdict"] == "seat 0 better, seat 1 worse"
    assert toys["pennies", 2, "random"]["verdict"] == "no difference shown"


def test_seats_that_cannot_win_are_called_worse(toys):
    seats = toys["pennies", 5, "random"]["seats"]
    assert [seat["verdict"] for seat in seats] == ["better", "better", "worse", "worse", "worse"]


def test_a_game_of_a_fixed_length_has_no_spread(toys):
    figures = toys["high_card", 3, "random"]
    assert figures["lengths"] == {"6": 80} and figures["length"]["sd"] == 0.0
    assert figures["forced"] == 0.0 and figures["legal"] == 2.0 and figures["decisions_a_player"] == 2.0
    assert figures["kinds"]["keep"] + figures["kinds"]["swap"] == 480 == figures["decisions"]
    assert toys["high_card", 3, "first"]["kinds"] == {"keep": 480, "swap": 0}


def test_no_two_seats_hold_the_same_card_so_nothing_is_drawn(toys):
    figures = toys["high_card", 2, "first"]
    assert figures["draws"] == 0.0 and figures["margin"]["low"] >= 1.0
    assert 1 <= figures["score"]["low"] <= figures["score"]["median"] <= figures["score"]["high"] <= 12
