"""`airenv train`: configurations, folders, stopping and going on."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
import yaml
from rich.console import Console
from typer.testing import CliRunner

import airenv
from agents.checkpoints import load_checkpoint
from experiments import train
from experiments.cli import app
from experiments.configs import BadConfig, load_config, override

NAMES = airenv.game_names()
NAME = NAMES[0]
ROOT = train.Path(airenv.__file__).parents[1]
SMALL = {
    "name": "small",
    "game": NAME,
    "players": [min(airenv.facts(NAME).players)],
    "decisions": 1600,
    "trunk": [16],
    "ppo": {"games": 20, "steps": 10, "batch": 100, "epochs": 1, "pool_every": 2},
    "evaluation": {"every": 800, "games": 4, "against": ["random", "mcts:sims=3"]},
}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "small.yaml"
    path.write_text(yaml.safe_dump({**SMALL, "out": str(tmp_path)}))
    return path


def run(*args):
    return CliRunner().invoke(app, ["train", *map(str, args)], catch_exceptions=False)


def network(folder, name="last"):
    return {key: array.tolist() for key, array in load_checkpoint(folder / name).weights.arrays().items()}


def test_a_run_keeps_its_configuration_metrics_evaluations_and_checkpoints(file, tmp_path):
    done = run(file)
    assert done.exit_code == 0 and "learned" in done.output
    folder = tmp_path / "small"
    rows = [json.loads(row) for row in (folder / "metrics.jsonl").read_text().splitlines()]
    assert [row["decisions"] for row in rows] == [200 * n for n in range(1, 9)]
    assert all("decisions_per_second" in row and "entropy_loss" in row for row in rows)
    looks = [json.loads(row) for row in (folder / "evaluations.jsonl").read_text().splitlines()]
    assert [look["decisions"] for look in looks] == [800, 1600]
    for score in looks[0]["scores"]:
        assert score["low"] <= score["share"] <= score["high"] and score["field"] in ("random", "mcts:sims=3")
    assert load_checkpoint(folder / "last").manifest.training["decisions"] == 1600
    assert load_checkpoint(folder).manifest.game == NAME  # the best
    assert any((folder / "tensorboard").iterdir()) and "numba" in json.loads((folder / "versions.json").read_text())
    assert load_config(train.TrainConfig, folder / "config.yaml").ppo.games == 20


def test_a_run_stopped_by_ctrl_c_and_gone_on_with_is_the_run_left_alone(file, tmp_path, monkeypatch):
    run(file)
    whole = network(tmp_path / "small")
    advance, made = train.PpoTrainer.advance, []

    def interrupted(self):
        made.append(1)
        if len(made) == 4:
            raise KeyboardInterrupt
        return advance(self)

    monkeypatch.setattr(train.PpoTrainer, "advance", interrupted)
    left = run(file, "name=parts")
    assert left.exit_code == 130 and f"airenv train --resume {tmp_path / 'parts'}" in left.output.replace("\n", "")
    monkeypatch.undo()
    assert run("--resume", tmp_path / "parts").exit_code == 0
    assert network(tmp_path / "parts") == whole
    rows = [json.loads(row)["decisions"] for row in (tmp_path / "parts" / "metrics.jsonl").read_text().splitlines()]
    assert rows == [200 * n for n in range(1, 9)]
    assert "all its 1,600 decisions" in run("--resume", tmp_path / "parts").output


def test_a_run_killed_at_any_moment_goes_on_to_the_same_end(file, tmp_path):
    run(file)
    whole = network(tmp_path / "small")
    command = [sys.executable, "-m", "experiments.train"]
    first = subprocess.Popen([*command, str(file), "name=killed"], cwd=ROOT, stdout=subprocess.DEVNULL)
    metrics = tmp_path / "killed" / "metrics.jsonl"
    until = time.monotonic() + 120
    while not metrics.exists() and time.monotonic() < until and first.poll() is None:
        time.sleep(0.01)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    done = subprocess.run([*command, "--resume", str(tmp_path / "killed")], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert network(tmp_path / "killed") == whole


def test_a_state_half_written_is_never_taken(file, tmp_path):
    run(file)
    folder = tmp_path / "small"
    (folder / "state").rename(folder / "state.old")  # killed between two renames
    assert run("--resume", folder).exit_code == 0
    train.shutil.rmtree(folder / "state.old", ignore_errors=True)
    train.shutil.rmtree(folder / "state", ignore_errors=True)
    with pytest.raises(Exception, match="no state to go on from"):
        run("--resume", folder)


def test_a_run_is_never_overwritten(file):
    run(file, "decisions=200")
    with pytest.raises(Exception, match="is there already"):
        run(file)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (["decision=5"], "Did you mean decisions"),
        (["ppo.game=5"], "Did you mean games"),
        (["ppo.games=many"], "ppo.games: .*integer"),
        (["ppo.games=0"], "greater than or equal to 1"),
        (["name=a/b"], "name"),
        (["trunk=[]"], "trunk"),
        (["nonsense"], "key=value"),
        (["game.x=1"], "no keys of its own"),
        (["ppo={]"], "is no value"),
        (["kind=sarsa"], "kind"),
    ],
)
def test_mistakes_in_a_configuration_are_told(file, changes, says):
    with pytest.raises(BadConfig, match=says):
        train.start(Console(quiet=True), file, changes)


def test_all_mistakes_are_told_at_once(file):
    with pytest.raises(BadConfig) as error:
        train.start(Console(quiet=True), file, ["decision=5", "ppo.game=5", "seed=-1"])
    assert len(str(error.value).splitlines()) == 4


@pytest.mark.parametrize(
    ("text", "says"), [("[1, 2]", "holds no keys"), ("a: [", "is no YAML"), (None, "there is no file")]
)
def test_a_file_that_is_no_configuration_is_refused(tmp_path, text, says):
    path = tmp_path / "bad.yaml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(BadConfig, match=says):
        train.start(Console(quiet=True), path, [])


def test_opponents_that_do_not_exist_are_told_before_anything_is_learned(file, tmp_path):
    with pytest.raises(Exception, match="Did you mean greedy"):
        run(file, "evaluation.against=[gredy]")
    assert not (tmp_path / "small").exists()


def test_dry_run_prints_the_resolved_configuration(file, tmp_path):
    done = run(file, "ppo.games=33", "--dry-run")
    assert yaml.safe_load(done.output)["ppo"]["games"] == 33 and not (tmp_path / "small").exists()


def test_overrides_reach_any_depth_and_leave_the_file_alone():
    values = {"a": {"b": 1}, "c": 2}
    assert override(values, ["a.b=3", "d.e=[1, 2]"]) == {"a": {"b": 3}, "c": 2, "d": {"e": [1, 2]}}
    assert values == {"a": {"b": 1}, "c": 2}


def test_either_a_file_or_a_run(file):
    for arguments in ((None, [], None), (file, [], file)):
        with pytest.raises(BadConfig, match="FILE or"):
            train.start(Console(quiet=True), *arguments)
    with pytest.raises(BadConfig, match="as it was begun"):
        train.start(Console(quiet=True), None, ["seed=1"], file)


LEARNING = [path for kind in ("ppo", "az") for path in sorted((ROOT / "configs" / kind).glob("*.yaml"))]


@pytest.mark.parametrize("path", LEARNING, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_configuration_of_learning_can_be_read(path):
    config = load_config(train.TrainConfig, path)
    assert config.game == path.stem and train.open_games(config)
