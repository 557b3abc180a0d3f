"""Tournaments: designs, units, faults of agents, results, going on, questions decided early."""

import contextlib
import json
import re
import sqlite3
import time
from itertools import permutations
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import yaml
from rich.console import Console
from typer.testing import CliRunner

import airenv
from agents.basic import GreedyAgent, RandomAgent
from agents.lines import AGENTS
from airenv.core.errors import AirenvError, BoardError
from airenv.replay import Replay, final_state
from experiments import evaluate, tournament
from experiments.cli import app
from experiments.configs import BadConfig, load_config, parse_config
from experiments.designs import drawn, line_ups, seatings
from experiments.live import ladder_table
from experiments.playing import Play, run_of
from experiments.ratings import Outcome, pairwise, rate
from experiments.results import BadResults, Results
from experiments.tournament import Decision, Question, TournamentConfig, outcomes, plan
from experiments.units import Budget, Row, TimeIsUp, Unit, alarm, open_table, play_unit, play_units, ranks_of

NAMES = airenv.game_names()
NAME = NAMES[0]
FEWEST, MOST = min(airenv.facts(NAME).players), max(airenv.facts(NAME).players)
ROOT = Path(airenv.__file__).parents[1]
SMALL = {
    "name": "small",
    "tables": [{"game": NAME, "players": [FEWEST]}],
    "agents": ["random", "greedy"],
    "deals": 4,
    "executor": "inline",
}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "small.yaml"
    path.write_text(yaml.safe_dump({**SMALL, "out": str(tmp_path / "runs")}))
    return path


def run(command, *args):
    return CliRunner().invoke(app, [command, *map(str, args)], catch_exceptions=False)


def runs_name(tmp_path, name="small"):
    """What the results call a run."""
    return run_of({"out": tmp_path / "runs", "name": name})


def config(**changes):
    return parse_config(TournamentConfig, {**SMALL, **changes}, "test")


def rng(seed=1):
    return np.random.default_rng(seed)


def unit(*agents, deal=1, **budget):
    return Unit(NAME, (("players", len(agents)),), agents, deal, Budget(**budget))


def row(agents, ranks, deal=1, name="x"):
    places = len(agents)
    empty = {"scores": (0.0,) * places, "errors": ("",) * places, "message": "", "digest": "d", "replay": "{}"}
    counts = {"decisions": (1,) * places, "milliseconds": (1.0,) * places}
    return Row(name, NAME, {"players": places}, tuple(agents), deal, ranks=tuple(ranks), **empty, **counts)


# -- designs -----------------------------------------------------------------------------------------


def test_a_round_robin_brings_every_group_together():
    assert line_ups("round_robin", "abcd", 2, rng()) == [tuple(g) for g in ("ab", "ac", "ad", "bc", "bd", "cd")]
    assert len(line_ups("round_robin", "abcde", 3, rng())) == 10


def test_too_few_agents_sit_down_more_than_once_but_never_alone():
    assert line_ups("round_robin", "ab", 4, rng()) == [tuple(g) for g in ("aaab", "aabb", "abbb")]


def test_one_against_a_field_pairs_everybody_with_everybody():
    assert line_ups("one_against_field", "abc", 3, rng()) == [
        tuple(g) for g in ("abb", "acc", "baa", "bcc", "caa", "cbb")
    ]


def test_a_gauntlet_always_seats_the_newcomer():
    found = line_ups("gauntlet", "abcd", 3, rng(), "c")
    assert found == [tuple(g) for g in ("cab", "cad", "cbd")]
    assert line_ups("gauntlet", "ab", 4, rng(), "b") == [tuple("baaa")]


def test_random_pairings_seat_nobody_twice_before_everybody_sits():
    for seed in range(50):
        assert len(set(drawn("abcde", 4, rng(seed)))) == 4
        assert set(drawn("abc", 5, rng(seed))) == set("abc")
    assert {drawn("abcd", 2, rng(seed))[0] for seed in range(50)} == set("abcd")


def test_rotations_give_every_agent_every_seat_once():
    found = seatings(tuple("abcd"), "rotations")
    assert found == [tuple(s) for s in ("abcd", "bcda", "cdab", "dabc")]
    for seat in range(4):
        assert sorted(seated[seat] for seated in found) == list("abcd")


def test_all_seatings_are_all_orders_and_those_alike_count_once():
    assert sorted(seatings(tuple("abc"), "all")) == sorted(permutations("abc"))
    assert sorted(seatings(tuple("aab"), "all")) == [tuple(s) for s in ("aab", "aba", "baa")]
    assert seatings(tuple("aa"), "rotations") == [tuple("aa")]


def test_a_plan_is_duplicate_deals_in_all_seatings_and_the_same_every_time():
    units = plan(config(agents=["random", "greedy", "mcts:sims=2"], deals=3, seed=7))
    assert len(units) == 3 * 3 * FEWEST
    assert {unit.deal for unit in units} == {7, 8, 9}
    assert [unit.id for unit in units] == [
        unit.id for unit in plan(config(agents=units_agents(units), deals=3, seed=7))
    ]
    assert len({unit.id for unit in units}) == len(units)


def units_agents(units):
    return sorted({line for unit in units for line in unit.agents}, key=["random", "greedy", "mcts:sims=2"].index)


def test_the_id_of_a_unit_is_of_all_that_decides_the_game():
    plain = unit("random", "greedy")
    assert plain.id == unit("random", "greedy").id
    others = [unit("greedy", "random"), unit("random", "greedy", deal=2), unit("random", "greedy", sims=5)]
    assert len({plain.id, *(other.id for other in others)}) == 4


def test_the_id_of_a_network_is_that_of_its_weights(tmp_path):
    from agents.checkpoints import save_checkpoint
    from agents.weights import Weights

    game = airenv.game(NAME, players=FEWEST)

    def keep(seed):
        numbers = rng(seed)
        sizes = [(game.observation_size, 4), (4, game.num_actions), (4, 1)]
        layers = [(numbers.normal(size=size).astype(np.float32), np.zeros(size[1], np.float32)) for size in sizes]
        save_checkpoint(tmp_path / "net", Weights((layers[0],), layers[1], layers[2]), [game], {})
        return unit("random", f"ppo:{tmp_path / 'net'}").id

    first = keep(1)
    time.sleep(0.02)
    assert keep(2) != first
    time.sleep(0.02)
    assert keep(1) == first


# -- games -------------------------------------------------------------------------------------------


def test_a_unit_is_played_alike_every_time_and_its_replay_leads_there():
    first, second = (play_unit(unit("random", "mcts:sims=3")) for _ in range(2))
    assert first.digest == second.digest and first.ranks == second.ranks and first.repeatable
    replay = Replay.model_validate_json(first.replay)
    game, state = final_state(replay)
    assert tuple(game.scores(state)) == first.scores
    assert sum(first.decisions) == len(replay.actions) and min(first.milliseconds) >= 0


def test_by_time_a_game_need_not_repeat():
    assert not unit("random", "mcts:ms=2").repeatable
    assert not unit("random", "mcts", ms=2.0).repeatable
    assert unit("random", "mcts:sims=20").repeatable


def test_equal_agents_come_out_exactly_even(file, tmp_path):
    """Two lines for the same player: every deal is won as often by the one as by the other."""
    done = run("tournament", file, "agents=[greedy, 'greedy:epsilon=0', 'greedy:epsilon=0.0']", "anchor=greedy")
    assert done.exit_code == 0
    ratings = json.loads((tmp_path / "runs/small/ratings.json").read_text())
    assert [rating["wins"] for rating in ratings] == pytest.approx([1 / FEWEST] * 3)
    assert [rating["rating"] for rating in ratings] == pytest.approx([0.0] * 3, abs=1e-6)


def test_ranks_share_places_and_who_lost_by_a_fault_is_last():
    assert ranks_of(np.array([3.0, 5.0, 3.0, 1.0])) == (2.5, 1.0, 2.5, 4.0)
    assert ranks_of(np.array([3.0, 5.0, 1.0]), loser=1) == (1.5, 3.0, 1.5)


class Faulty(RandomAgent):
    """Plays three moves at random, then fails in its own way."""

    kind = name = "faulty"
    parameters: ClassVar = {}
    fault: ClassVar = "crash"

    def __init__(self):
        self.moves = 0

    def act(self, seat, rng):
        self.moves += 1
        if self.moves <= 3:
            return super().act(seat, rng)
        if self.fault == "crash":
            raise RuntimeError("no more")
        if self.fault == "sleep":
            time.sleep(5.0)
        if self.fault == "none":
            return None
        illegal = [action for action in range(seat.game.num_actions) if action not in seat.legal_actions]
        return illegal[0]


@pytest.mark.parametrize(
    "fault, called, says",
    [
        ("crash", "crash", "RuntimeError: no more"),
        ("illegal", "illegal", "faulty chose action"),
        ("none", "illegal", "an action is an integer"),
        ("sleep", "timeout", "faulty took longer than 0.2 s"),
    ],
)
def test_an_agent_that_fails_loses_that_game_and_is_told_of(monkeypatch, fault, called, says):
    class Agent(Faulty):
        pass

    Agent.fault = fault
    monkeypatch.setitem(AGENTS, "faulty", Agent)
    start = time.perf_counter()
    played = play_unit(unit("greedy", "faulty", timeout=0.2))
    assert time.perf_counter() - start < 4.0, "an agent that sleeps is woken"
    assert played.errors == ("", called) and says in played.message
    assert played.ranks == (1.0, 2.0)
    assert not Replay.model_validate_json(played.replay).finished


@pytest.mark.parametrize(
    "error", [SystemExit(3), KeyboardInterrupt(), type("Mute", (Exception,), {"__str__": lambda e: 1 / 0})()]
)
def test_no_error_of_an_agent_ends_a_worker(monkeypatch, error):
    class Agent(Faulty):
        def act(self, seat, rng):
            raise error

    monkeypatch.setitem(AGENTS, "faulty", Agent)
    (played,) = play_units(True, [unit("greedy", "faulty")])
    assert played.errors == ("", "crash") and type(error).__name__ in played.message


def test_ctrl_c_in_this_process_is_somebodys_wish(monkeypatch):
    class Agent(Faulty):
        def act(self, seat, rng):
            raise KeyboardInterrupt

    monkeypatch.setitem(AGENTS, "faulty", Agent)
    with pytest.raises(KeyboardInterrupt):
        play_unit(unit("faulty", "greedy"))


def test_an_agent_that_catches_everything_is_out_of_time_all_the_same(monkeypatch):
    class Stubborn(Faulty):
        def act(self, seat, rng):
            for _ in range(100):
                with contextlib.suppress(Exception):
                    time.sleep(0.1)
            return seat.legal_actions[0]

    monkeypatch.setitem(AGENTS, "faulty", Stubborn)
    start = time.perf_counter()
    assert play_unit(unit("faulty", "greedy", timeout=0.3)).errors == ("timeout", "")
    assert time.perf_counter() - start < 5.0


def test_an_agent_that_cannot_be_made_loses_its_games():
    played = play_unit(unit("random", "ppo:nowhere"))
    assert played.errors == ("", "crash") and "there is no checkpoint nowhere" in played.message


def test_faults_never_stop_the_rest_and_are_counted(monkeypatch, file, tmp_path):
    class Broken(GreedyAgent):
        kind = name = "broken"
        parameters: ClassVar = {}

        def __init__(self):
            pass

        def act(self, seat, rng):
            raise ValueError("broken")

    monkeypatch.setitem(AGENTS, "broken", Broken)
    done = run("tournament", file, "agents=[random, greedy, broken]")
    assert done.exit_code == 0 and "errors" in done.output
    with Results(tmp_path / "runs/small/results.sqlite") as results:
        rows = list(results.rows(runs_name(tmp_path)))
    assert len(rows) == 3 * 4 * FEWEST
    assert all(("broken" in r.agents) == ("crash" in r.errors) for r in rows)


def test_an_alarm_interrupts_and_is_taken_back():
    with pytest.raises(TimeIsUp), alarm(0.05):
        time.sleep(3.0)
    with alarm(0.05):
        pass
    time.sleep(0.1)


# -- results -----------------------------------------------------------------------------------------


def test_a_game_is_counted_once_however_often_it_is_kept(tmp_path):
    rows = play_units(False, [unit("random", "greedy", deal=deal) for deal in range(3)])
    with Results(tmp_path / "r.sqlite") as results:
        assert results.add("one", rows) == 3
        assert results.add("two", rows[:2]) == 0
        assert results.alarms() == 0
        assert list(results.rows("one")) == sorted(rows, key=lambda r: r.unit)
        assert len(list(results.rows("two"))) == 2
        assert results.known(r.unit for r in rows[1:]) == {r.unit for r in rows[1:]}


def test_a_game_that_must_repeat_and_does_not_is_an_alarm(tmp_path):
    true = play_unit(unit("random", "greedy"))
    other = Row(**{**vars(true), "digest": "0" * 32})
    with Results(tmp_path / "r.sqlite") as results:
        results.add("x", [true])
        results.add("x", [other])
        assert results.alarms() == 1
        assert next(results.rows()).digest == true.digest


def test_results_are_in_wal_mode_and_a_foreign_file_is_refused(tmp_path):
    with Results(tmp_path / "r.sqlite"):
        pass
    assert sqlite3.connect(tmp_path / "r.sqlite").execute("PRAGMA journal_mode").fetchone() == ("wal",)
    (tmp_path / "text.sqlite").write_text("no database at all, but a text of some length" * 50)
    with pytest.raises(BadResults, match="cannot be used for results"):
        Results(tmp_path / "text.sqlite")
    with (
        Results(tmp_path / "r.sqlite", create=False) as results,
        pytest.raises(sqlite3.OperationalError, match="readonly"),
    ):
        results.add("x", [row(["a", "b"], [1, 2])])
    with pytest.raises(BadResults, match="there are no results"):
        Results(tmp_path / "none.sqlite", create=False)
    later = sqlite3.connect(tmp_path / "later.sqlite")
    later.execute("PRAGMA user_version=9")
    later.close()
    with pytest.raises(BadResults, match="format 9"):
        Results(tmp_path / "later.sqlite")


def test_the_id_of_a_unit_is_of_what_its_board_holds(tmp_path):
    source = sorted(airenv.game(NAME).folder.glob("board*.toml"))[0].read_text()
    own = tmp_path / "own.toml"

    def id_with(text):
        own.write_text(text)
        open_table.cache_clear()
        return Unit(NAME, (("board", str(own)), ("players", FEWEST)), ("random",) * FEWEST, 1).id

    first = id_with(source)
    assert id_with(source + "\n# a comment changes nothing\n") == first
    others = set()
    for number in re.finditer(r"(?m)(?<== )\d+$", source):
        with contextlib.suppress(BoardError):  # not every number can be another
            others.add(id_with(f"{source[: number.start()]}{int(number[0]) - 1}{source[number.end() :]}"))
    assert others and first not in others


def test_the_id_of_a_search_is_of_the_settings_in_force(monkeypatch):
    before = unit("random", "mcts:sims=5").id
    monkeypatch.setattr("agents.mcts.tuned", lambda game: {"c": 9.0})
    assert unit("random", "mcts:sims=5").id != before
    assert unit("random", "greedy").id == unit("random", "greedy").id


# -- runs --------------------------------------------------------------------------------------------


def test_a_tournament_goes_on_where_it_stands_and_may_get_more_deals(file, tmp_path, monkeypatch):
    assert run("tournament", file).exit_code == 0
    played = []
    monkeypatch.setattr(
        "experiments.playing.play_units", lambda apart, units: played.extend(units) or [play_unit(u) for u in units]
    )
    assert run("tournament", file).exit_code == 0
    assert played == []
    assert run("tournament", file, "deals=6").exit_code == 0
    assert {unit.deal for unit in played} == {4, 5} and len(played) == 2 * FEWEST


def test_games_that_are_no_longer_in_the_plan_are_not_counted(file, tmp_path):
    run("tournament", file, "deals=6")
    run("tournament", file, "deals=2")
    with Results(tmp_path / "runs/small/results.sqlite") as results:
        assert len(list(results.rows(runs_name(tmp_path)))) == 2 * FEWEST
        assert len(list(results.rows())) == 6 * FEWEST, "nothing that was played is thrown away"


def test_runs_of_one_name_in_one_file_are_told_apart(file, tmp_path):
    shared = f"results={tmp_path / 'all.sqlite'}"
    run("tournament", file, shared)
    run("tournament", file, shared, f"out={tmp_path / 'others'}", "agents=[random, 'greedy:epsilon=0.5']")
    with Results(tmp_path / "all.sqlite") as results:
        mine = {line for row in results.rows(runs_name(tmp_path)) for line in row.agents}
        others = {line for row in results.rows(str(tmp_path / "others/small")) for line in row.agents}
    assert mine == {"random", "greedy"} and others == {"random", "greedy:epsilon=0.5"}


def test_what_another_run_has_played_meanwhile_counts_here_too(tmp_path):
    """A question must see every deal, whoever played it."""
    setting = config(out=str(tmp_path), deals=6)
    units = plan(setting)
    with Results(tmp_path / "r.sqlite") as results:
        play = Play(setting, units, results)
        results.add("another", [play_unit(unit) for unit in units[3:7]])
        handed = [row.unit for rows in play.rows() for row in rows]
        assert sorted(handed) == sorted(unit.id for unit in units)
        assert len(list(results.rows(setting.run))) == len(units)


def test_another_configuration_in_the_same_folder_is_refused(file):
    run("tournament", file)
    with pytest.raises(BadConfig, match="another agents: set another name="):
        tournament.start(Console(), file, ["agents=[random, 'greedy:epsilon=0.5']"])


def test_a_run_that_shares_a_file_does_not_play_the_same_games_again(file, tmp_path):
    shared = f"results={tmp_path / 'all.sqlite'}"
    assert run("tournament", file, shared).exit_code == 0
    assert run("tournament", file, shared, "name=second").exit_code == 0
    with Results(tmp_path / "all.sqlite") as results:
        assert list(results.rows(runs_name(tmp_path))) == list(results.rows(runs_name(tmp_path, "second")))
        assert len(list(results.rows())) == 4 * FEWEST


def test_an_interrupted_tournament_says_that_it_goes_on(file, monkeypatch):
    def interrupted(shared, units):
        raise KeyboardInterrupt

    monkeypatch.setattr("experiments.playing.play_units", interrupted)
    done = run("tournament", file)
    assert done.exit_code == 130 and "the same command goes on" in done.output


@pytest.mark.parametrize("design", ["round_robin", "one_against_field", "random_pairings", "gauntlet"])
def test_every_design_is_played(file, design):
    done = run("tournament", file, f"design={design}", f"tables=[{{game: {NAME}, players: [{MOST}]}}]", "deals=1")
    assert done.exit_code == 0 and "greedy" in done.output


def test_budgets_are_equal_for_all_that_search(monkeypatch):
    seen = []

    class Listener(RandomAgent):
        def act(self, seat, rng):
            seen.append(seat.clock)
            return super().act(seat, rng)

    monkeypatch.setattr("experiments.units.make_agent", lambda line: Listener())
    play_unit(unit("random", "greedy", sims=7, ms=3.0))
    assert {(clock.simulations, clock.milliseconds) for clock in seen} == {(7, 3.0)}


@pytest.mark.parametrize(
    "changes, says",
    [
        (["agents=[random]"], "at least 2"),
        (["agents=[random, random]"], "named twice"),
        (["agentz=[random]"], "Did you mean agents?"),
        (["design=roundrobin"], "round_robin"),
        (["design=gauntlet", "newcomer=nobody"], "none of the agents"),
        (["budget.simz=5"], "Did you mean sims?"),
        (["deals=0"], "greater than or equal to 1"),
        (["executor=thread"], "inline"),
        (["sprt.agent=greedy", "sprt.against=nobody", "sprt.gain=0.1"], "none of the agents"),
        (["tables=[{gam: x}]"], "Did you mean game?"),
        ([f"tables=[{{game: {NAME}, options: {{players: 2}}}}]"], "players is no option"),
        ([f"tables=[{{game: {NAME}, options: {{name: x}}}}]"], "name is no option"),
        ([f"tables=[{{game: {NAME}, options: {{board: [1]}}}}]"], "valid string"),
        (["anchor=nobody"], "anchor nobody is none of the agents"),
        (["address=auto"], "goes with executor ray"),
        (["name=.."], "pattern"),
        (["timeout=.inf"], "finite number"),
        (["agents=[random, ' random']"], "named twice"),
    ],
)
def test_mistakes_in_a_configuration_are_told(file, changes, says):
    with pytest.raises(BadConfig) as told:
        load_config(TournamentConfig, file, changes)
    assert says in str(told.value)


def test_mistakes_in_names_are_told_before_anything_is_played(file, tmp_path):
    for changes, says in ((["agents=[random, gredy]"], "greedy"), ([f"tables=[{{game: {NAME}x}}]"], NAME)):
        for dry_run in (False, True):
            with pytest.raises(AirenvError, match=says):
                tournament.start(Console(), file, changes, dry_run)
    with pytest.raises(BadResults, match="cannot be used"):
        tournament.start(Console(), file, [f"results={tmp_path}"])
    assert not (tmp_path / "runs").exists()


def test_a_dry_run_prints_the_resolved_configuration(file, tmp_path):
    done = run("tournament", file, "deals=9", "--dry-run")
    found = yaml.safe_load(done.output)
    assert found["deals"] == 9 and found["seatings"] == "rotations" and found["timeout"] == 60.0
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    "path", sorted((ROOT / "configs").glob("*/*.yaml")), ids=lambda path: f"{path.parent.name}/{path.name}"
)
def test_the_configurations_that_ship_are_valid(path):
    kind = yaml.safe_load(path.read_text())["kind"]
    command = {"ppo": "train", "az": "train"}.get(kind, kind)
    done = run(command, path, "--dry-run")
    assert done.exit_code == 0 and yaml.safe_load(done.output)["kind"] == kind


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["ppo", "tournament", "evaluate", "bench"])
def test_every_game_has_its_configurations(name, kind):
    assert (ROOT / "configs" / kind / f"{name}.yaml").exists()


# -- is it decided? ------------------------------------------------------------------------------------


def test_a_question_looks_at_deals_in_the_order_of_the_plan():
    units = plan(config(deals=3))
    decision = Decision(Question(agent="greedy", against="random", gain=0.1), units)
    by_deal = {
        deal: [row(u.agents, [1 + (a == "random") for a in u.agents], deal, u.id) for u in units if u.deal == deal]
        for deal in range(3)
    }
    decision.add(by_deal[1])
    assert decision.test.deals == 0, "the first deal is not finished yet"
    decision.add(by_deal[0])
    assert decision.test.deals == 2 and decision.test.mean == 1.0
    decision.add(by_deal[0])
    assert decision.test.deals == 2, "a game counts once"


def test_comparisons_count_ties_half_and_every_seat():
    decision = Decision(Question(agent="a", against="b", gain=0.1), [])
    assert decision._shares(row(["a", "b", "c"], [1.5, 1.5, 3])) == [0.5]
    assert decision._shares(row(["a", "b", "b"], [2, 1, 3])) == [0.0, 1.0]
    assert decision._shares(row(["a", "c"], [1, 2])) == []


def test_a_game_that_a_third_one_cut_short_says_nothing_of_two_others():
    decision = Decision(Question(agent="a", against="b", gain=0.1), [])
    third = Row(**{**vars(row(["a", "b", "c"], [1.5, 1.5, 3])), "errors": ("", "", "crash")})
    assert decision._shares(third) == []
    own = Row(**{**vars(row(["a", "b", "c"], [1.5, 3, 1.5])), "errors": ("", "timeout", "")})
    assert decision._shares(own) == [1.0]


def test_a_tournament_stops_as_soon_as_the_question_is_decided(file, tmp_path):
    done = run("tournament", file, "deals=500", "--sprt", "greedy", "random", "0.2")
    assert done.exit_code == 0 and "is greedy better than random by 0.2, rather than even? yes" in done.output
    with Results(tmp_path / "runs/small/results.sqlite") as results:
        assert len(list(results.rows(runs_name(tmp_path)))) < 200
    again = run("tournament", file, "deals=500", "--sprt", "greedy", "random", "0.2")
    assert "yes" in again.output


def test_outcomes_of_a_deal_belong_together_whoever_plays():
    rows = play_units(False, [unit("random", "greedy"), unit("greedy", "random"), unit("random", "greedy", deal=2)])
    deals = [outcome.deal for outcome in outcomes(rows)]
    assert deals[0] == deals[1] != deals[2]


def outcome(agents, ranks, errors, deal):
    return Outcome(tuple(agents), tuple(ranks), (0.0,) * len(agents), str(deal), tuple(errors))


def test_the_faults_of_one_say_nothing_of_the_others_among_themselves():
    games = [outcome("ab", (1.0, 2.0), ("", ""), deal) for deal in range(30)]
    games += [outcome("ab", (2.0, 1.0), ("", ""), deal) for deal in range(30, 40)]
    faulty = [outcome("abx", (1.5, 1.5, 3.0), ("", "", "crash"), deal) for deal in range(40, 240)]
    alone = {rating.agent: rating.rating for rating in rate(games, anchor="b")}
    beside = {rating.agent: rating.rating for rating in rate(games + faulty, anchor="b")}
    assert beside["a"] == pytest.approx(alone["a"], abs=3.0)
    assert beside["x"] < -600
    shares = {(pair.agent, pair.other): pair for pair in pairwise(games + faulty)}
    assert shares["a", "b"].share == 0.75 and shares["a", "b"].games == 40
    assert shares["a", "x"].share == 1.0 and shares["a", "x"].games == 200


# -- what is shown -----------------------------------------------------------------------------------


def test_a_narrow_screen_gets_a_narrow_ladder():
    ratings = rate([outcome("ab", (1.0, 2.0), ("", ""), deal) for deal in range(12)])
    assert len(ladder_table("x", ratings, 40).columns) == 3
    assert len(ladder_table("x", ratings, 100).columns) == 8


# -- evaluations -------------------------------------------------------------------------------------


def test_an_evaluation_gives_shares_with_intervals_against_every_field(tmp_path):
    path = tmp_path / "e.yaml"
    values = {"name": "e", "kind": "evaluate", "tables": [{"game": NAME}], "agent": "greedy", "against": ["random"]}
    path.write_text(yaml.safe_dump({**values, "games": 12, "executor": "inline", "out": str(tmp_path)}))
    done = run("evaluate", path)
    assert done.exit_code == 0
    found = json.loads((tmp_path / "e/scores.json").read_text())
    assert [score["players"] for score in found] == list(airenv.facts(NAME).players)
    for score in found:
        assert score["games"] >= 12 and score["low"] <= score["share"] <= score["high"]
    assert np.mean([score["share"] > 1 / score["players"] for score in found]) > 0.5


def test_tables_of_an_evaluation_are_told_apart():
    values = {"name": "e", "tables": [{"game": NAME, "players": [FEWEST]}], "agent": "greedy", "against": ["random"]}
    config = parse_config(evaluate.EvaluateConfig, {**values, "games": 4}, "test")
    rows = play_units(False, evaluate.plan(config))
    other = [Row(**{**vars(r), "options": {**r.options, "variant": True}}) for r in rows]
    found = evaluate.scores(config, rows + other)
    assert list(found) == [NAME, f"{NAME}, variant=True"] and [len(scores) for scores in found.values()] == [1, 1]


def test_an_evaluation_equals_the_match_on_the_same_deals(tmp_path):
    from experiments.matches import play_match

    values = {"name": "e", "tables": [{"game": NAME, "players": [FEWEST]}], "agent": "greedy", "against": ["random"]}
    config = parse_config(evaluate.EvaluateConfig, {**values, "games": 10, "seed": 3}, "test")
    rows = play_units(False, evaluate.plan(config))
    match = play_match(airenv.game(NAME, players=FEWEST), "greedy", "random", 10, seed=3)
    assert [score.shares for score in evaluate.scores(config, rows)[NAME]] == [match.shares]


def test_an_agent_is_not_measured_against_itself():
    values = {"name": "e", "tables": [{"game": NAME}], "agent": "greedy", "against": ["random", "greedy"]}
    with pytest.raises(BadConfig, match="against itself"):
        parse_config(evaluate.EvaluateConfig, values, "test")
