"""The commands people type: what they print, what they keep, and what they refuse."""

import json
import shlex
import subprocess
import sys

import pytest
from rich.console import Console
from typer.testing import CliRunner

import airenv
from airenv.core.errors import AirenvError, BadOption, BadReplay, UnknownName
from airenv.replay import load_replay
from experiments import checking, terminal
from experiments.cli import app, seat_lines
from experiments.conformance import CHECKS

NAMES = airenv.game_names()
NAME = NAMES[0]


def run(*args, answers=None):
    return CliRunner().invoke(app, [str(arg) for arg in args], input=answers)


def script(*args, answers=None):
    """The installed command, as a person runs it."""
    command = [sys.executable, "-m", "experiments.cli", *map(str, args)]
    return subprocess.run(command, input=answers, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize(
    "command", ["games", "agents", "play", "watch", "replay", "analyse", "match", "tune", "check", "bench"]
)
def test_help_teaches(command):
    shown = run(command, "--help")
    assert shown.exit_code == 0 and "Usage" in shown.output and len(shown.output.splitlines()) > 8


def test_games_lists_every_game():
    shown = run("games").output
    assert all(name in shown for name in NAMES)


# -- play ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_game_left_and_continued_is_the_game_played_through(name, tmp_path):
    whole, parts = tmp_path / "whole.json", tmp_path / "parts.json"
    options = ["--seed", 5, "--players", min(airenv.facts(name).players), "--vs", "greedy:epsilon=0.5"]
    done = run("play", name, *options, "--save", whole, answers="1\n" * 3000)
    assert done.exit_code == 0 and load_replay(whole).finished, done.output[-500:]
    left = run("play", name, *options, "--save", parts, answers="1\n1\nq\n")
    assert "--resume" in left.output and not load_replay(parts).finished
    for _ in range(3):
        run("play", "--resume", parts, answers="1\n1\n")  # the answers end: left again
    run("play", "--resume", parts, answers="1\n" * 3000)
    assert load_replay(parts) == load_replay(whole)


def test_play_shows_the_table_the_hand_and_moves_by_name_and_number(tmp_path):
    shown = run("play", NAME, "--seed", 5, "--save", tmp_path / "a.json", answers="q\n").output
    game = airenv.game(NAME)
    for text in ("Your hand", "Your moves", game.facts.title, " 1  "):
        assert text in shown


def test_play_asks_again_after_a_mistake(tmp_path):
    answers = "99\nno such move\n?\nt\nn\n\nq\n"
    shown = run("play", NAME, "--seed", 5, "--save", tmp_path / "a.json", answers=answers).output
    assert "there is no move 99" in shown and "no legal move is called 'no such move'" in shown
    assert shown.count("Your moves") == 2 and "q saves" in shown
    assert load_replay(tmp_path / "a.json").actions == replayed_until_first_question(NAME, 5)


def replayed_until_first_question(name, seed):
    """The moves agents make before the person in seat 0 is asked."""
    game = airenv.game(name)
    lines = seat_lines(game.players, 0, ["greedy"])
    agents = terminal.seat_agents(lines)
    state, actions = game.new(seed), []
    while (player := game.player(state)) in agents:
        match = terminal.Match(game, terminal.start_replay(game, seed, lines), None, state, agents)
        match.replay.actions = actions
        actions.append(agents[player].act(terminal.Seat(game, state), match.chance()))
        game.apply(state, actions[-1])
    return actions


@pytest.mark.parametrize("name", NAMES)
def test_moves_are_understood_by_number_name_and_beginning(name):
    game = airenv.game(name)
    state = game.new(1)
    legal = game.legal_actions(state)
    for number, action in enumerate(legal, 1):
        assert terminal.parse_move(game, legal, str(number)) == action
        assert terminal.parse_move(game, legal, game.action_name(action).upper()) == action
    with pytest.raises(BadOption, match="type 1 to"):
        terminal.parse_move(game, legal, "0")
    for odd in ("²", "9" * 5000):
        with pytest.raises(BadOption, match="no legal move"):
            terminal.parse_move(game, legal, odd)
    common = game.action_name(legal[0])[:1]
    if all(game.action_name(action).startswith(common) for action in legal) and len(legal) > 1:
        with pytest.raises(BadOption, match="could be"):
            terminal.parse_move(game, legal, common)


def test_nobody_else_is_told_secrets_in_the_story(tmp_path):
    """What a person is told of a move is what `describe` tells that seat, not the spectator."""
    game = airenv.game(NAME)
    match = terminal.new_match(game, 3, ["greedy"] * game.players, tmp_path / "a.json")
    while (player := game.player(match.state)) >= 0:
        before, action = game.clone(match.state), game.suggest(match.state)
        match.play(action)
        for seat in range(game.players):
            assert match.story[-1][seat].startswith(game.describe(before, action, seat))
        assert player == game.player(before)


@pytest.mark.parametrize(
    ("args", "kind", "says"),
    [
        (["play"], BadOption, "which game?"),
        (["play", "chess"], UnknownName, "Allowed"),
        (["play", NAME, "--vs", "gredy"], UnknownName, "Did you mean greedy"),
        (["play", NAME, "--vs", "greedy", "--vs", "random"], BadOption, "one --vs for all"),
        (["play", NAME, "--seat", 9], BadOption, "a seat is"),
        (["play", NAME, "--players", 99], BadOption, "players"),
        (["play", NAME, "--seed", -1], AirenvError, "2**63"),
        (["play", NAME, "--set", "colour"], BadOption, "key=value"),
        (["play", NAME, "--set", "colour=red"], UnknownName, "unknown option 'colour'"),
        (["play", NAME, "--set", "name=x"], BadOption, "a place of its own"),
        (["play", NAME, "--set", "players={"], BadOption, "is no value"),
        (["play", "[/red]"], UnknownName, "unknown game '[/red]'"),
        (["play", NAME, "--board", "moon"], UnknownName, "unknown board"),
        (["play", "--resume", "nowhere.json"], BadReplay, "there is no file"),
        (["play", NAME, "--resume", "nowhere.json"], BadOption, "leave the name out"),
        (["watch", NAME, "-a", "human"], BadOption, "airenv play"),
        (["watch", NAME, "-a", "greedy:epsilon=2"], BadOption, "from 0 to 1"),
        (["check", NAME, "--only", "no such law"], UnknownName, "Allowed"),
        (["check", NAME, "--players", 99], BadOption, "players"),
        (["bench", NAME, "--players", 99], BadOption, "players"),
        (["replay", "nowhere.json"], BadReplay, "there is no file"),
    ],
    ids=lambda part: " ".join(map(str, part)) if isinstance(part, list) else None,
)
def test_mistakes_are_refused_with_what_is_allowed(args, kind, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run(*args)
    assert isinstance(result.exception, kind) and says in str(result.exception)
    assert list(tmp_path.iterdir()) == [], "a refused command leaves nothing behind"


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["play", "chess"], "error: unknown game 'chess'"),
        (["play", "[/red]"], "error: unknown game '[/red]'"),
        (["watch", NAME, "--save", "/proc/x/y.json"], "error: "),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(args, says):
    done = script(*args)
    assert done.returncode == 2 and done.stderr.startswith(says)
    assert "Traceback" not in done.stderr


def test_a_saved_game_is_never_overwritten(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("play", NAME, "--seed", 6, answers="1\n1\nq\n")
    (first,) = (tmp_path / "runs" / "play").iterdir()
    before = first.read_bytes()
    run("play", NAME, "--seed", 6, answers="q\n")
    assert first.read_bytes() == before and len(list(first.parent.iterdir())) == 2
    result = run("play", NAME, "--save", first, answers="q\n")
    assert "there already" in str(result.exception) and first.read_bytes() == before


def test_the_command_to_go_on_can_be_pasted(tmp_path):
    path = tmp_path / "a b [x]" / "g.json"
    shown = run("play", NAME, "--seed", 6, "--save", path, answers="q\n").output
    assert f"--resume {shlex.quote(str(path))}" in shown


def test_people_at_one_screen_do_not_see_each_others_hands(tmp_path):
    players = min(airenv.facts(NAME).players)
    options = ["--players", players, "--vs", "human", "--seed", 6, "--save", tmp_path / "a.json"]
    shown = run("play", NAME, *options, answers="\n1\n\nq\n").output
    assert shown.count("press Enter when nobody else is looking") == 2


def test_a_watch_broken_off_says_where_the_replay_is(tmp_path):
    game = airenv.game(NAME)
    match = terminal.new_match(game, 1, ["greedy"] * game.players, tmp_path / "a.json")
    asked = []

    def interrupted(seat, rng):
        asked.append(seat)
        if len(asked) > 5:
            raise KeyboardInterrupt
        return seat.legal_actions[0]

    for agent in match.agents.values():
        agent.act = interrupted
    console = Console(record=True, width=200)
    assert not terminal.watch(console, match, 0.0, None)
    assert "Broken off after 5 moves" in console.export_text() and len(load_replay(match.path).actions) == 5


# -- watch and replay ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_watched_games_are_told_and_can_be_replayed(name, tmp_path):
    path = tmp_path / "watched.json"
    shown = run("watch", name, "--seed", 3, "--save", path, "--agent", "greedy")
    assert shown.exit_code == 0 and f"The replay is {path}" in shown.output.replace("\n", "")
    told = run("replay", path, "--svg", tmp_path / "end.svg")
    moves = len(load_replay(path).actions)
    assert told.exit_code == 0 and f"{moves} moves" in told.output and "verified, finished" in told.output
    assert (tmp_path / "end.svg").read_text().startswith("<svg")
    start = run("replay", path, "--move", 0, "--seat", 1)
    game = airenv.game(name)
    assert game.table(game.new(3), 1).splitlines()[0] in start.output


def test_a_living_table_is_shown_on_a_screen(tmp_path):
    game = airenv.game(NAME)
    match = terminal.new_match(game, 1, ["greedy"] * game.players, tmp_path / "a.json")
    console = Console(force_terminal=True, width=120, record=True)
    terminal.watch(console, match, 0.0, 0)
    assert "Last moves" in console.export_text() and match.replay.finished


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda data: data.update(digest="0" * 32), "does not lead to the state"),
        (lambda data: data["actions"].insert(0, 10**6), "action 0 of the replay"),
        (lambda data: data.update(actions=["draw"]), "actions.0: Input should be a valid integer"),
        (lambda data: data["actions"].append(2**70), "of the replay cannot be made"),
        (lambda data: data.update(options=None), "options"),
        (lambda data: data["options"].update(name="x"), "options of the replay"),
        (lambda data: data["options"].update(reward=[1]), "options of the replay"),
        (lambda data: data.update(agents=None), "agents"),
        (lambda data: data.update(agents=["greedy"]), "names 1 agents"),
        (lambda data: data.update(finished=True), "does not lead to the state"),
        (lambda data: data.update(seed=None), "seed"),
        (lambda data: data.update(seed=-1), "seed"),
        (lambda data: data.update(format=99), "is not a replay"),
        (lambda data: data.update(colour="red"), "is not a replay"),
        (lambda data: data.update(rules=99), "rules version 99"),
    ],
)
def test_a_damaged_replay_is_refused_and_left_alone(change, says, tmp_path):
    path = tmp_path / "a.json"
    run("play", NAME, "--seed", 5, "--save", path, answers="1\n1\n1\nq\n")
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))
    before = path.read_bytes()
    for command in (["replay", path], ["play", "--resume", path]):
        result = run(*command)
        assert isinstance(result.exception, BadReplay) and says in str(result.exception)
    assert path.read_bytes() == before


@pytest.mark.parametrize("text", ["{", "", "[]", "[" * 100_000, "\x00"])
def test_what_is_no_json_is_no_replay(text, tmp_path):
    path = tmp_path / "a.json"
    path.write_text(text)
    assert isinstance(run("replay", path).exception, BadReplay)
    assert isinstance(run("replay", tmp_path).exception, BadReplay)


def test_a_move_past_the_end_is_refused(tmp_path):
    path = tmp_path / "a.json"
    run("play", NAME, "--seed", 5, "--save", path, answers="q\n")
    assert "--move goes from 0 to" in str(run("replay", path, "--move", 9999).exception)


# -- check, bench ----------------------------------------------------------------------------


def test_check_runs_the_laws_it_is_asked_for():
    shown = run("check", NAME, "--only", "seeds_matter", "--only", "records_are_plain")
    assert shown.exit_code == 0 and "every law holds" in shown.output and shown.output.count("holds ") >= 2


def test_check_is_refused_where_assertions_are_off():
    command = [sys.executable, "-O", "-m", "experiments.cli", "check", NAME, "--only", "seeds_matter"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 2 and "PYTHONOPTIMIZE" in done.stderr


def test_a_law_that_needs_what_is_not_installed_is_not_called_broken(monkeypatch):
    monkeypatch.setattr(checking, "find_spec", lambda package: None)
    shown = run("check", NAME, "--only", "stable_baselines_checker", "--only", "seeds_matter", "--players", 2)
    assert shown.exit_code == 0 and "not run" in shown.output and "airenv[learn]" in shown.output


def test_check_lists_every_law():
    shown = CliRunner(env={"COLUMNS": "300"}).invoke(app, ["check", NAME, "--list"]).output
    assert all(check.name in shown for check in CHECKS)


def test_bench_prints_every_figure(tmp_path):
    players = min(airenv.facts(NAME).players)
    shown = run("bench", NAME, "--players", players, "--seconds", 0.02, "--json")
    found = json.loads(shown.output)[NAME]
    wanted = {"random_play", "random_play_all", "games", "games_all", "python_loop", "aec", "batch", "clones"}
    assert wanted | {"observations", "search", "search_all"} == set(found["figures"][str(players)])
    assert all(value > 0 for value in found["figures"][str(players)].values())
    assert set(found["start_up"]) == {"import", "warm_first_step", "cold_compile", "cold_compile_of_search"}
    assert len(found["signature"][str(players)]) == 12


def test_bench_prints_signatures_alone():
    shown = run("bench", NAME, "--signature").output
    pinned = json.loads((airenv.game(NAME).folder / "signature.json").read_text())
    assert all(signature in shown for signature in pinned.values())
