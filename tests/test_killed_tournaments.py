"""A tournament killed at any moment goes on: no game is lost, none is counted twice; two at once are safe."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

import airenv
from experiments.configs import load_config
from experiments.results import Results
from experiments.tournament import TournamentConfig, plan
from experiments.units import play_unit

NAME = airenv.game_names()[0]
FEWEST = min(airenv.facts(NAME).players)
KILLS = 20
DEALS = 400


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "t.yaml"
    values = {"name": "t", "agents": ["random", "greedy", "mcts:sims=30"], "deals": DEALS, "out": str(tmp_path)}
    path.write_text(yaml.safe_dump({**values, "tables": [{"game": NAME, "players": [FEWEST]}], "workers": 1}))
    return path


def begin(file, *changes):
    command = [sys.executable, "-m", "experiments.tournament", str(file), *changes]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)


def rows_of(path, run):
    with Results(path) as results:
        assert results.alarms() == 0
        return list(results.rows(str(run)))


def check(file, rows):
    """Every game of the plan is there once, and some played again here end in the same state."""
    units = plan(load_config(TournamentConfig, file))
    assert sorted(row.unit for row in rows) == sorted(unit.id for unit in units)
    found = {row.unit: row for row in rows}
    for unit in random.Random(1).sample(units, 12):
        assert play_unit(unit).digest == found[unit.id].digest


def test_killed_at_random_again_and_again_nothing_is_lost_or_counted_twice(file, tmp_path):
    """The driver alone is killed: its workers must notice and end by themselves."""
    numbers, seen, workers = random.Random(2), [], set()
    for kill in range(KILLS):
        running = begin(file, f"executor={'inline' if kill % 4 else 'processes'}")
        if kill % 5:  # now and then it is killed before it has played anything
            wait_for_more(tmp_path / "t/results.sqlite", seen[-1] if seen else 0)
        time.sleep(numbers.uniform(0.0, 0.6))
        workers |= children(running.pid)
        os.kill(running.pid, signal.SIGKILL)
        running.wait()
        if (tmp_path / "t/results.sqlite").exists():
            seen.append(len(rows_of(tmp_path / "t/results.sqlite", tmp_path / "t")))
    assert seen == sorted(seen), "rows were lost"
    assert len(set(seen)) >= KILLS // 2, "it was hardly ever killed while it played"
    last = begin(file, "executor=inline")
    assert last.wait(timeout=300) == 0
    check(file, rows_of(tmp_path / "t/results.sqlite", tmp_path / "t"))
    assert workers, "no worker was ever seen"
    deadline = time.monotonic() + 30
    while alive(workers) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not alive(workers), "workers outlive their driver"


def wait_for_more(path, before):
    """Until a run has kept another game."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if path.exists() and len(rows_of(path, path.parent)) > before:
            return
        time.sleep(0.05)
    raise AssertionError("nothing was played in a minute")


def children(parent):
    """The processes a driver has started."""
    command = ["ps", "--ppid", str(parent), "-o", "pid="]
    found = subprocess.run(command, capture_output=True, text=True)
    return {int(word) for word in found.stdout.split()}


def alive(processes):
    """Those that still run; one that only waits to be counted as dead does not."""
    found = set()
    for process in processes:
        status = Path(f"/proc/{process}/stat")
        if status.exists() and status.read_text().rsplit(")", 1)[1].split()[0] != "Z":
            found.add(process)
    return found


def test_two_runs_into_one_file_at_once_are_safe(file, tmp_path):
    shared = f"results={tmp_path / 'all.sqlite'}"
    two = [begin(file, "executor=inline", shared, "deals=60", f"name={name}") for name in ("one", "two")]
    assert [process.wait(timeout=300) for process in two] == [0, 0]
    for name in ("one", "two"):
        rows = rows_of(tmp_path / "all.sqlite", tmp_path / name)
        assert len(rows) == len({row.unit for row in rows}) == 60 * 3 * FEWEST
    with Results(tmp_path / "all.sqlite") as results:
        assert len(list(results.rows())) == 60 * 3 * FEWEST


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_tournament_at_once_though_its_workers_think(file, tmp_path, number, code):
    """Games that would take hours: nobody waits for the decision under way."""
    running = begin(file, "executor=processes", "agents=[random, 'mcts:sims=100000000']", "timeout=null", "name=long")
    deadline = time.monotonic() + 60
    while not children(running.pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(6.0)
    workers = children(running.pid)
    os.kill(running.pid, number)
    assert running.wait(timeout=20) == code
    time.sleep(1.0)
    assert workers and not alive(workers)
