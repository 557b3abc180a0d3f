"""Executors: the same work, the same results, in this process, in several, on a Ray cluster; workers may die."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import yaml

import airenv
from agents.executors import Inline, Processes, WorkersDied, WorkFailed, make_executor
from airenv.core.errors import BadOption
from experiments.configs import load_config
from experiments.playing import Play
from experiments.results import Results
from experiments.tournament import TournamentConfig, plan
from experiments.units import Unit, play_unit

NAME = airenv.game_names()[0]
FEWEST = min(airenv.facts(NAME).players)
WORKERS = 2


def double(shared, task):
    return shared * task, os.getpid()


def fail(shared, task):
    raise ValueError(f"task {task} cannot be done")


def die_once(shared, task):
    """The first worker that takes the deadly task is killed in the middle of it."""
    if task == shared["deadly"] and not (mark := Path(shared["mark"])).exists():
        mark.write_text("dead")
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.02)
    return task * task


def die_always(shared, task):
    os.kill(os.getpid(), signal.SIGKILL)


def note(path):
    with open(path, "a") as file:
        file.write("warm\n")


class Warm:
    def __init__(self, path):
        self.path = path

    def __call__(self):
        note(self.path)


@pytest.fixture(scope="module")
def cluster():
    import ray

    ray.init(num_cpus=WORKERS, include_dashboard=False, log_to_driver=False, logging_level="error")
    yield ray
    ray.shutdown()


@pytest.fixture(params=["inline", "processes", "ray"])
def executor(request):
    if request.param == "ray":
        request.getfixturevalue("cluster")
    made = make_executor(request.param, None if request.param == "inline" else WORKERS)
    yield made
    made.close()


def test_every_task_is_done_once_and_comes_with_its_result(executor):
    found = dict(executor.results(double, range(30), shared=3))
    assert {task: result for task, (result, _) in found.items()} == {task: 3 * task for task in range(30)}
    workers = {process for _, process in found.values()}
    assert (os.getpid() in workers) == isinstance(executor, Inline)


def test_tasks_are_taken_as_workers_get_free(executor):
    taken = []
    work = executor.results(double, (taken.append(n) or n for n in range(100)), shared=1)
    next(work)
    assert len(taken) <= 2 * executor.workers + 1
    work.close()


def test_a_mistake_in_the_work_is_the_callers(executor):
    with pytest.raises(ValueError, match="cannot be done"):
        list(executor.results(fail, [1]))


def test_warming_happens_once_a_machine(executor, tmp_path):
    executor.warm(Warm(tmp_path / "warm"))
    expected = "" if isinstance(executor, Inline) else "warm\n"
    assert ((tmp_path / "warm").read_text() if expected else "") == expected


@pytest.mark.parametrize("kind", ["processes", "ray"])
def test_a_killed_worker_costs_time_not_results(kind, request, tmp_path):
    if kind == "ray":
        request.getfixturevalue("cluster")
    made = make_executor(kind, WORKERS)
    shared = {"deadly": 7, "mark": str(tmp_path / "dead")}
    found = sorted(made.results(die_once, range(20), shared))
    made.close()
    assert (tmp_path / "dead").exists() and found == [(task, task * task) for task in range(20)]


def test_work_that_kills_every_worker_is_given_up_and_named():
    made = Processes(1)
    with pytest.raises(WorkersDied, match="died 3 times") as told:
        list(made.results(die_always, [1]))
    made.close()
    assert told.value.tasks == [1]


class Unsendable(Exception):
    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


def fail_unsendably(shared, task):
    raise Unsendable("this", "that")


@pytest.mark.parametrize("kind", ["processes", "ray"])
def test_an_error_that_cannot_be_sent_is_told_in_words(kind, request):
    if kind == "ray":
        request.getfixturevalue("cluster")
    made = make_executor(kind, WORKERS)
    with pytest.raises(WorkFailed, match="Unsendable: this and that"):
        list(made.results(fail_unsendably, [1]))
    made.close()


def sleep_long(shared, task):
    time.sleep(600)


def test_closing_ends_workers_whatever_they_do():
    made = Processes(1)
    work = made.results(sleep_long, [1])
    starter = threading.Thread(target=lambda: next(work, None), daemon=True)
    starter.start()
    while made._pool is None or not made._pool._processes:
        time.sleep(0.05)
    (process,) = made._pool._processes.values()
    made.close()
    process.join(20)
    assert not process.is_alive()


def test_executors_that_make_no_sense_are_refused():
    with pytest.raises(BadOption, match="positive integer"):
        make_executor("processes", 0)
    with pytest.raises(BadOption, match="Ray cluster"):
        make_executor("inline", None, "auto")


# -- a tournament on every executor ------------------------------------------------------------------


def tournament(tmp_path, name, **changes):
    """Play a small tournament; what every row says but for the time it took."""
    path = tmp_path / f"{name}.yaml"
    values = {
        "name": name,
        "tables": [{"game": NAME, "players": [FEWEST]}],
        "agents": ["random", "greedy", "mcts:sims=4"],
        "deals": 5,
        "out": str(tmp_path),
    }
    path.write_text(yaml.safe_dump({**values, **changes}))
    config = load_config(TournamentConfig, path)
    with Results(config.results_file) as results:
        for _ in Play(config, plan(config), results).rows():
            pass
        assert results.alarms() == 0
        return [{k: v for k, v in vars(row).items() if k != "milliseconds"} for row in results.rows(config.run)]


@pytest.fixture(scope="module")
def inline_rows(tmp_path_factory):
    return tournament(tmp_path_factory.mktemp("inline"), "inline", executor="inline")


def test_processes_play_the_same_rows(tmp_path, inline_rows):
    assert len(inline_rows) == 3 * 5 * FEWEST
    assert tournament(tmp_path, "processes", executor="processes", workers=WORKERS) == inline_rows


def test_a_ray_cluster_plays_the_same_rows(tmp_path, inline_rows, cluster):
    assert tournament(tmp_path, "ray", executor="ray") == inline_rows


def test_a_worker_of_the_cluster_killed_in_the_middle_costs_no_row(tmp_path, inline_rows, cluster):
    """Workers are found by what Ray calls their processes and killed while the games are played."""
    killed = []

    def kill_some():
        deadline = time.monotonic() + 20
        while len(killed) < 2 and time.monotonic() < deadline:
            time.sleep(0.3)
            killed.extend(kill_a_worker())

    killer = threading.Thread(target=kill_some)
    killer.start()
    rows = tournament(tmp_path, "killed", executor="ray", deals=60)
    killer.join()
    assert killed, "no worker was found to kill"
    assert [row for row in rows if row["deal"] < 5] == inline_rows
    assert len(rows) == 3 * 60 * FEWEST


def kill_a_worker():
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                command = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if command.startswith(b"ray::_do"):
                os.kill(int(folder.name), signal.SIGKILL)
                return [int(folder.name)]
    return []


DEADLY = """
import os, sys, time
from agents import lines
from agents.basic import RandomAgent
from numba import njit

@njit(nogil=True)
def for_ever(n):
    while n > 0:
        n += 1 if n < 1000 else -1
    return n

class Deadly(RandomAgent):
    kind = name = "deadly"
    def act(self, seat, rng):
        os._exit(7)

class Endless(RandomAgent):
    kind = name = "endless"
    def act(self, seat, rng):
        return for_ever(5)

lines.AGENTS |= {"deadly": Deadly, "endless": Endless}
"""


@pytest.mark.parametrize("agent, fault", [("deadly", "crash"), ("endless", "timeout")])
def test_an_agent_that_takes_its_worker_down_loses_its_games_and_stops_nothing(tmp_path, agent, fault):
    """Agents of the tournament's own process and its workers alike, by the main module that both load."""
    (tmp_path / "deadly_agents.py").write_text(DEADLY)
    path = tmp_path / "t.yaml"
    values = {"name": "t", "agents": ["random", "greedy", agent], "deals": 1, "timeout": 0.5, "workers": 1}
    path.write_text(yaml.safe_dump({**values, "out": str(tmp_path), "tables": [{"game": NAME, "players": [FEWEST]}]}))
    for line in ("random", "greedy"):  # compiled now, so that little patience is enough
        play_unit(Unit(NAME, (("players", FEWEST),), (line,) * FEWEST, 1))
    start = "import deadly_agents, sys\nfrom experiments import playing, units\nfrom experiments.cli import main\n"
    start += "playing.WARM_SECONDS, units.GRACE = 10.0, 1.0\n"
    script = tmp_path / "start.py"
    script.write_text(start + "if __name__ == '__main__':\n    main(['tournament', sys.argv[1]])\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, script, path], capture_output=True, text=True, timeout=200, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    with Results(tmp_path / "t/results.sqlite") as results:
        rows = list(results.rows(str(tmp_path / "t")))
    assert len(rows) == 3 * FEWEST
    for row in rows:
        lost = [error for line, error in zip(row.agents, row.errors, strict=True) if line == agent]
        assert lost == [fault] * row.agents.count(agent)


def test_a_cluster_is_joined_by_its_address(tmp_path):
    """As a user would: a cluster that runs already, and a tournament in a process of its own that joins it."""
    code = (
        "import ray, sys, subprocess\n"
        "context = ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level='error')\n"
        "address = context.address_info['address']\n"
        "done = subprocess.run([sys.executable, '-m', 'experiments.tournament', sys.argv[1], f'address={address}'])\n"
        "ray.shutdown(); sys.exit(done.returncode)\n"
    )
    path = tmp_path / "joined.yaml"
    values = {"name": "joined", "agents": ["random", "greedy"], "deals": 3, "executor": "ray", "out": str(tmp_path)}
    path.write_text(yaml.safe_dump({**values, "tables": [{"game": NAME, "players": [FEWEST]}]}))
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    with Results(tmp_path / "joined/results.sqlite") as results:
        assert len(list(results.rows(str(tmp_path / "joined")))) == 3 * FEWEST
