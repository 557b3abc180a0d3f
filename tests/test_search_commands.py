"""The commands about searching: analyse, match, tune, agents, and a search as an opponent."""

import _thread
import json
import re
import threading
import tomllib
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

import airenv
from agents import make_agent
from agents.lines import AGENTS
from airenv.core.errors import AirenvError, BadOption, BadReplay, GameOver
from airenv.replay import load_replay
from experiments import analysing, matches, strength, tuning
from experiments.cli import app
from experiments.thinking import think

NAMES = airenv.game_names()
NAME = NAMES[0]
ROOT = Path(airenv.__file__).parents[1]


def run(*args, answers=None):
    return CliRunner().invoke(app, [str(arg) for arg in args], input=answers, terminal_width=200)


@pytest.fixture(scope="module")
def replay(tmp_path_factory):
    """A finished game of every kind there is."""
    folder = tmp_path_factory.mktemp("replays")
    for name in NAMES:
        assert (
            run("watch", name, "-a", "greedy", "--seed", 3, "--delay", 0, "--save", folder / f"{name}.json").exit_code
            == 0
        )
    return folder


# -- analyse ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_analyse_prints_moves_with_visits_values_and_lines_in_words(name, replay):
    file = replay / f"{name}.json"
    game, kept = airenv.game(name), load_replay(file)
    state = game.new(kept.seed)
    for action in kept.actions[:10]:
        game.apply(state, action)
    done = run("analyse", file, "--move", 10, "--agent", "mcts:sims=500", "--lines", 2)
    assert done.exit_code == 0, done.output
    for action in game.legal_actions(state):
        assert game.action_name(action) in done.output
    assert all(word in done.output for word in ("visits", "available", "before move 10", "500 simulations", "*"))
    assert len(re.findall(r"^Player \d: .+ \(\d+\)", done.output, re.MULTILINE)) == 2
    assert all(f"P{seat}" in done.output for seat in range(game.players))
    again = run("analyse", file, "--move", 10, "--agent", "mcts:sims=500", "--lines", 2)
    timeless = [re.sub(r"in [\d.]+ s \([\d,]+ a second\)", "", text.output) for text in (done, again)]
    assert timeless[0] == timeless[1]


@pytest.mark.parametrize("name", NAMES)
def test_analyse_shows_nothing_the_player_could_not_see(name, replay):
    game, kept = airenv.game(name), load_replay(replay / f"{name}.json")
    state = game.new(kept.seed)
    shown = run("analyse", replay / f"{name}.json", "--move", 0, "--agent", "mcts:sims=20").output
    table = game.table(state, game.player(state)).splitlines()
    assert all(line[:60] in shown for line in table)


@pytest.mark.parametrize(
    ("move", "agent", "kind", "says"),
    [
        (10**6, "mcts:sims=10", GameOver, "moves to analyse from 0 to"),
        (1, "greedy", BadOption, "does not search"),
        (1, "mcts:sims=none", BadOption, "whole number"),
    ],
)
def test_analyse_refuses_what_cannot_be_searched(move, agent, kind, says, replay):
    with pytest.raises(kind, match=says):
        analysing.analyse(Console(quiet=True), replay / f"{NAME}.json", move, agent, 1, 0)


def test_analyse_refuses_a_file_that_is_no_replay(tmp_path):
    (tmp_path / "no.json").write_text("{}")
    with pytest.raises(BadReplay):
        analysing.analyse(Console(quiet=True), tmp_path / "no.json", 1, "mcts", 1, 0)


# -- thinking --------------------------------------------------------------------------------------


class Searching:
    """An agent that works until it is stopped."""

    def __init__(self):
        self.stopped = threading.Event()
        self.stop = self.stopped.set

    def thought(self):
        if not self.stopped.is_set():
            _thread.interrupt_main()  # as Ctrl-C does, while the main thread waits
        return 7

    def work(self):
        assert self.stopped.wait(60)
        return "the best so far"


def test_ctrl_c_makes_a_search_answer():
    agent = Searching()
    assert think(Console(quiet=True), agent, "thinking", agent.work) == "the best so far"


def test_ctrl_c_leaves_an_agent_that_cannot_be_stopped():
    def work():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        think(Console(quiet=True), object(), "thinking", work)


def test_an_opponent_that_searches_just_works(tmp_path):
    options = ["--players", min(airenv.facts(NAME).players), "--seed", 5, "--save", tmp_path / "a.json"]
    done = run("play", NAME, *options, "--vs", "mcts:sims=30", answers="1\n" * 3000)
    assert done.exit_code == 0 and load_replay(tmp_path / "a.json").finished, done.output[-500:]
    assert "(mcts:sims=30)" in done.output


# -- agents, match, tune ---------------------------------------------------------------------------


def test_agents_are_listed_with_what_they_take():
    shown = run("agents").output
    assert all(name in shown for name in AGENTS)
    for name, agent in AGENTS.items():
        told = run("agents", name)
        assert told.exit_code == 0 and all(key in told.output for key in agent.parameters)
    with pytest.raises(AirenvError, match="Did you mean mcts"):
        CliRunner().invoke(app, ["agents", "mtcs"], catch_exceptions=False)


def test_match_prints_a_share_with_an_interval():
    done = run("match", NAME, "greedy", "random", "--players", 2, "--games", 20)
    assert done.exit_code == 0 and "better" in done.output and "50.0%" in done.output
    with pytest.raises(AirenvError, match="Did you mean greedy"):
        CliRunner().invoke(app, ["match", NAME, "gredy", "random"], catch_exceptions=False)


@pytest.mark.parametrize("name", NAMES)
def test_agents_that_play_alike_have_exactly_a_fair_share(name):
    for players in airenv.facts(name).players:
        score = matches.play_match(airenv.game(name, players=players), "greedy", "greedy", 24)
        assert score.share == pytest.approx(1 / players, abs=1e-12) and score.verdict == "no difference shown"
        assert set(score.shares) == {score.share}


def test_a_match_is_the_same_with_any_number_of_workers():
    game = airenv.game(NAME)
    found = [matches.play_match(game, "greedy:epsilon=0.5", "random", 24, seed=4, workers=n) for n in (1, 3)]
    assert found[0] == found[1] and found[0].games >= 24


def test_verdicts_follow_from_the_interval():
    def verdict(low, high):
        return matches.Score("a", "b", 4, 100, 0.3, low, high).verdict

    assert [verdict(0.26, 0.4), verdict(0.1, 0.24), verdict(0.2, 0.3)] == ["better", "worse", "no difference shown"]


def test_tune_writes_settings_that_searches_use(tmp_path, monkeypatch):
    monkeypatch.setattr(
        tuning, "STAGES", {"rollout": tuning.STAGES["rollout"][:3], "trees": tuning.STAGES["trees"][:2]}
    )
    out = tmp_path / "search.toml"
    done = run("tune", NAME, "--games", 4, "--ms", 0.2, "--out", out)
    assert done.exit_code == 0, done.output
    kept = tomllib.loads(out.read_text())
    assert set(kept["players"]) == {str(n) for n in airenv.facts(NAME).players}
    for settings in kept["players"].values():
        agent = AGENTS["mcts"](**settings)
        assert agent.settings(airenv.game(NAME)).rollout == settings["rollout"]
    assert len(kept["measured"]) == 5 * len(kept["players"])


def test_the_table_of_strengths_is_whole_and_says_how_it_was_made():
    page = strength.PAGE.read_text()
    table = page[page.index(strength.BEGIN) : page.index(strength.END)]
    assert "python -m experiments.strength --games 400" in table
    for name in NAMES:
        for players in airenv.facts(name).players:
            for agent, field in strength.PAIRS:
                assert f"| {name} | {players} | `{agent}` | `{field}` | " in table
    assert strength.insert(page, ["x"]).count("x\n") == 1
    with pytest.raises(BadOption, match="no place"):
        strength.insert("no marks", [])


def test_code_of_the_readme_runs_and_tells_what_it_found(capsys):
    page = (ROOT / "agents" / "README.md").read_text()
    (block,) = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    exec(compile(block, "agents/README.md", "exec"), {"__name__": "__main__"})
    *moves, line = capsys.readouterr().out.splitlines()
    assert moves and line.startswith("['")


def test_a_watched_search_is_kept_with_its_line(tmp_path):
    out = tmp_path / "a.json"
    run("watch", NAME, "-a", "mcts:sims=5", "--players", 2, "--delay", 0, "--seed", 1, "--save", out)
    assert json.loads(out.read_text())["agents"] == ["mcts:sims=5"] * 2
    assert make_agent("mcts:sims=5").name == "mcts:sims=5"
