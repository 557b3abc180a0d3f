"""Learning on executors: shards are played anywhere, and what is learned is the same to the bit."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import yaml
from rich.console import Console
from typer.testing import CliRunner

import airenv
from agents.checkpoints import load_checkpoint
from agents.executors import Inline, make_executor
from agents.expert import ExpertIteration, ExpertSettings
from agents.ppo import PpoSettings, PpoTrainer
from agents.rollouts import collect_shard
from agents.selfplay import LEARNER
from agents.shards import Shard, shard_seed, shard_size
from airenv.core.errors import BadOption
from experiments import train
from experiments.cli import app

NAME = airenv.game_names()[0]
ROOT = Path(airenv.__file__).parents[1]
GAMES = [airenv.game(NAME, players=players) for players in airenv.facts(NAME).players]
WORKERS, ROUNDS = 2, 3
PPO = PpoSettings(games=24, shards=2, steps=250, batch=500, epochs=1, pool_every=1, pool_games=0.9)
EXPERT = ExpertSettings(games=24, shards=2, steps=200, sims=4, batch=64, window=5000)
RUN = {
    "name": "sharded",
    "game": NAME,
    "players": [min(airenv.facts(NAME).players)],
    "decisions": 1600,
    "trunk": [16],
    "ppo": {"games": 20, "shards": 2, "steps": 10, "batch": 100, "epochs": 1, "pool_every": 2},
    "evaluation": {"every": 1600, "games": 4, "against": ["random"]},
}
TIMES = ("decisions_per_second", "environment_share", "search_share")


def make_trainer(kind, executor=None, seed=5):
    if kind == "az":
        return ExpertIteration(GAMES, EXPERT, [16], seed, executor=executor)
    return PpoTrainer(GAMES, PPO, [16], seed, 10**5, executor=executor)


def advance(trainer, rounds):
    """What the rounds told, but for how fast they were."""
    told = [trainer.advance() for _ in range(rounds)]
    return [{key: value for key, value in row.items() if key not in TIMES} for row in told]


def state(trainer, folder):
    """All that a trainer would go on from."""
    trainer.save(folder)
    return (folder / "arrays.safetensors").read_bytes(), json.loads((folder / "facts.json").read_text())


@pytest.fixture(scope="module")
def inline(tmp_path_factory):
    """What comes of some rounds in this process, by the kind of learning."""
    found = {}
    for kind in ("ppo", "az"):
        trainer = make_trainer(kind)
        found[kind] = advance(trainer, ROUNDS), *state(trainer, tmp_path_factory.mktemp(kind))
    return found


@pytest.fixture(scope="module", params=["processes", "ray"])
def executor(request):
    if request.param == "ray":
        import ray

        ray.init(num_cpus=WORKERS, include_dashboard=False, log_to_driver=False, logging_level="error")
        request.addfinalizer(ray.shutdown)
    made = make_executor(request.param, WORKERS)
    yield made
    made.close()


@pytest.mark.parametrize("kind", ["ppo", "az"])
def test_every_executor_learns_the_same_to_the_bit(kind, executor, inline, tmp_path):
    trainer = make_trainer(kind, executor)
    told = advance(trainer, ROUNDS)
    arrays, facts = state(trainer, tmp_path)
    assert told == inline[kind][0] and facts == inline[kind][2]
    assert arrays == inline[kind][1]


def test_the_rounds_compared_learn_end_games_and_meet_past_selves(inline):
    """Otherwise, that they are the same would say little."""
    for kind, (told, _, facts) in inline.items():
        assert all(row["games"] > 0 for row in told), kind
        if kind == "ppo":
            assert set(facts["scores"]) - {0.5} and told[0]["value_loss"] != told[1]["value_loss"]
        else:
            assert all(row["updates"] > 0 for row in told)


@pytest.mark.parametrize("kind", ["ppo", "az"])
def test_shards_go_on_from_what_was_saved_to_the_bit(kind, inline, tmp_path):
    first = make_trainer(kind)
    first.advance()
    first.save(tmp_path / "half")
    second = make_trainer(kind, seed=6)
    second.advance()
    second.load(tmp_path / "half")
    assert advance(second, ROUNDS - 1) == inline[kind][0][1:]
    arrays, facts = state(second, tmp_path / "whole")
    assert arrays == inline[kind][1] and facts == inline[kind][2]


# -- what a shard is ---------------------------------------------------------------------------------


def test_a_shard_is_a_piece_of_work_without_side_effects():
    trainer = make_trainer("ppo")
    trainer.advance()
    shared, task = trainer._round(100), Shard(1, *trainer.shards[1].snapshot())
    scores, facts = list(shared.pool.scores), json.dumps(task.facts)
    once, again = collect_shard(shared, task), collect_shard(shared, task)
    assert shared.pool.scores == scores and json.dumps(task.facts) == facts
    assert once.results == again.results and once.facts == again.facts != task.facts
    for name, array in vars(once.rollout).items():
        if isinstance(array, np.ndarray):
            assert array.tobytes() == getattr(again.rollout, name).tobytes(), name


def test_what_shards_bring_stands_side_by_side_in_their_order():
    """The later shard is done first, as a faster worker might have it."""

    class Backwards(Inline):
        def results(self, function, tasks, shared=None):
            return super().results(function, reversed(list(tasks)), shared)

    trainer = make_trainer("ppo", Backwards())
    trainer.add_to_pool(trainer.weights())
    shared = trainer._round(PPO.steps)
    alone = [collect_shard(shared, Shard(n, *shard.snapshot())).rollout for n, shard in enumerate(trainer.shards)]
    trainer._collect_shards()
    buffer, each = trainer.model.rollout_buffer, PPO.games // PPO.shards
    for number, rollout in enumerate(alone):
        columns = slice(each * number, each * (number + 1))
        assert (buffer.observations[:, columns] == rollout.observations).all()
        assert (buffer.actions[:, columns, 0] == rollout.actions).all()
        assert (buffer.seat_rewards[:, columns] == rollout.seat_rewards).all()
    assert trainer.decisions == PPO.steps * PPO.games
    seen = np.argwhere(buffer.watching >= 0)
    onlookers = buffer.rows().observations[-len(seen) :].numpy()
    for row in (0, 1, len(seen) // 2, len(seen) - 1):  # what an onlooker saw is in the place of its game
        step, game = seen[row]
        rollout, slot = alone[game // each], game % each
        among = np.flatnonzero(rollout.watching[step] >= 0).tolist().index(slot)
        assert (onlookers[row] == rollout.onlookers[step][among]).all()


def test_shards_play_other_games_than_each_other():
    trainer = make_trainer("ppo")
    first, second = (shard.batches[0].states() for shard in trainer.shards)
    assert len({record.tobytes() for record in [*first, *second]}) == len(first) + len(second)
    assert shard_seed(7, 0) == 7 and len({shard_seed(7, number) for number in range(50)}) == 50


def test_a_past_self_that_leaves_the_pool_leaves_every_shard():
    trainer = PpoTrainer(GAMES, PPO.model_copy(update={"pool_size": 1}), [16], 1, 10**5)
    trainer.advance()
    assert any((shard.who != LEARNER).any() for shard in trainer.shards)
    trainer.add_to_pool(trainer.weights())
    assert all((shard.who == LEARNER).all() for shard in trainer.shards)


# -- runs --------------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "sharded.yaml"
    path.write_text(yaml.safe_dump({**RUN, "out": str(tmp_path)}))
    return path


def run(*args):
    return CliRunner().invoke(app, ["train", *map(str, args)], catch_exceptions=False)


def lines_of(path):
    """Whole lines of a file; it may be there before anything is in it."""
    return path.read_text().count("\n") if path.exists() else 0


def network(folder):
    return {key: array.tolist() for key, array in load_checkpoint(folder / "last").weights.arrays().items()}


def test_a_run_on_processes_killed_at_any_moment_ends_as_one_played_here(file, tmp_path):
    decisions, rounds = "decisions=6000", 30
    assert run(file, decisions).exit_code == 0
    command = [sys.executable, "-m", "experiments.train"]
    changes = [decisions, "name=killed", "executor=processes", f"workers={WORKERS}"]
    first = subprocess.Popen([*command, str(file), *changes], cwd=ROOT, stdout=subprocess.DEVNULL)
    metrics = tmp_path / "killed" / "metrics.jsonl"
    until = time.monotonic() + 120
    while not lines_of(metrics) and time.monotonic() < until and first.poll() is None:
        time.sleep(0.01)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    assert 0 < lines_of(metrics) < rounds, "it was not in the middle"
    done = subprocess.run([*command, "--resume", str(tmp_path / "killed")], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert network(tmp_path / "killed") == network(tmp_path / "sharded")


@pytest.mark.parametrize("error", [None, KeyboardInterrupt, BadOption])
def test_the_executor_is_closed_however_a_run_ends(file, monkeypatch, error):
    closed = []

    class Watched(Inline):
        def results(self, function, tasks, shared=None):
            if error is not None:
                raise error("stopped")
            return super().results(function, tasks, shared)

        def close(self):
            closed.append(True)

    monkeypatch.setattr(train, "make_executor", lambda *how: Watched())
    if error is BadOption:
        with pytest.raises(BadOption, match="stopped"):
            train.start(Console(quiet=True), file, [])
    else:
        assert train.start(Console(quiet=True), file, []) == (error is None)
    assert closed == [True]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (["ppo.shards=3"], "20 games cannot be split into 3 equal shards; 1, 2 would do"),
        (["kind=az", "az.games=10", "az.shards=4"], "10 games cannot be split into 4 equal shards"),
        (["players=[2, 3, 4]", "ppo.shards=10"], "2 games cannot be shared out among 3 numbers of players"),
        (["ppo.shards=1", "executor=processes"], r"nothing to share out: set ppo\.shards"),
        (["kind=az", "executor=processes"], r"nothing to share out: set az\.shards"),
        (["executor=threads"], "executor: .*'inline', 'processes' or 'ray'"),
        (["workers=0"], "workers: .*greater than or equal to 1"),
        (["address=auto"], "address is that of a Ray cluster"),
    ],
)
def test_executors_and_shards_that_do_not_fit_are_told_before_anything_is_learned(file, tmp_path, changes, says):
    with pytest.raises(Exception, match=says):
        train.start(Console(quiet=True), file, changes)
    assert not (tmp_path / "sharded").exists()


def test_dry_run_shows_where_the_games_would_be_played(file):
    shown = yaml.safe_load(run(file, "executor=ray", "workers=3", "--dry-run").output)
    assert (shown["executor"], shown["workers"], shown["address"]) == ("ray", 3, None)
    assert (shown["ppo"]["shards"], shown["az"]["shards"]) == (2, 1)


def test_shards_are_of_one_size():
    assert shard_size(12, 4) == 3
    with pytest.raises(BadOption, match="1, 2, 3, 4 would do"):
        shard_size(12, 5)
