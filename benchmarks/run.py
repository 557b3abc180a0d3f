"""`make bench`: airenv and its peers in turns on one pinned core, and a page with the figures and ratios.

Machines are noisy, so nothing is compared with a figure from another day: every round measures airenv, then
OpenSpiel, then PettingZoo, and a ratio is the median of the ratios of the rounds. The exit code is 1 if a target
of targets.toml is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress

from airenv.core.files import write_text
from benchmarks.peers import environment
from experiments.bench import FIGURES

HERE = Path(__file__).resolve().parent
PEERS = ("open_spiel_rates.py", "pettingzoo_rates.py")


@dataclass(frozen=True)
class Result:
    """A target and what was measured for it."""

    work: str
    game: str
    own: float
    peer: str
    peer_figure: float | None
    ratio: float | None
    goal: str
    reached: bool


def run_json(command: list[str]) -> dict[str, Any]:
    """What a measuring process prints."""
    environment_ = {**os.environ, "PYTHONPATH": str(HERE.parent)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800, env=environment_, cwd=HERE.parent)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout)


def measure_own(targets: list[dict[str, Any]], seconds: float, core: int, first: bool) -> dict[str, dict[str, float]]:
    """A round of all airenv figures the targets ask for, by game."""
    found = {}
    for game in sorted({target["game"] for target in targets}):
        of_game = [target for target in targets if target["game"] == game]
        players = next(target["players"] for target in of_game if "players" in target)
        figures = sorted({target["own"] for target in of_game if target["own"] in FIGURES} | {"clones"})
        command = [sys.executable, "-m", "benchmarks.own", "--game", game, "--players", str(players), "--figures"]
        command += [*figures, "--seconds", str(seconds), "--core", str(core)]
        found[game] = run_json([*command, "--start-up"] if first else command)
    return found


def measure_peers(python: Path, seconds: float, core: int) -> dict[str, Any]:
    """A round of the peers: figures and package versions."""
    figures: dict[str, float] = {}
    packages: dict[str, str] = {}
    for script in PEERS:
        command = [str(python), str(HERE / "peers" / script), "--seconds", str(seconds / 3), "--core", str(core)]
        report = run_json(command)
        figures |= {name: figure["median"] for name, figure in report["figures"].items()}
        packages |= report["packages"]
    return {"figures": figures, "packages": packages}


def measure_learning(targets: list[dict[str, Any]], seconds: float, core: int) -> list[dict[str, Any]]:
    """A round of learning, ours and the stock route, for every game a target asks it for."""
    found = []
    for game, players in sorted({(t["game"], t["players"]) for t in targets if t.get("learning")}):
        command = [sys.executable, "-m", "benchmarks.learning", "--game", game, "--players", str(players)]
        found.append({"game": game, **run_json([*command, "--seconds", str(2 * seconds), "--core", str(core)])})
    return found


def judge(target: dict[str, Any], rounds: list[dict[str, Any]]) -> Result:
    """Whether a target is reached, by the medians over the rounds."""
    measured = [r["own"][target["game"]][target["own"]] for r in rounds if target["own"] in r["own"][target["game"]]]
    own = statistics.median(measured)
    title = f"{target['game']}, {target['players']} players" if "players" in target else target["game"]
    if "peers" in target:
        best = [max(r["peers"][name] for name in target["peers"]) for r in rounds]
        ratio = statistics.median(mine / theirs for mine, theirs in zip(measured, best, strict=True))
        goal = f"at least {target['times']:g} times"
        reached = ratio >= target["times"]
        return Result(target["work"], title, own, target["peer"], statistics.median(best), ratio, goal, reached)
    if "than" in target:
        other = [r["own"][target["game"]][target["than"]] for r in rounds]
        ratio = statistics.median(mine / alone for mine, alone in zip(measured, other, strict=True))
        goal, reached = f"at least {target['times']:g} times", ratio >= target["times"]
        return Result(target["work"], title, own, target["peer"], statistics.median(other), ratio, goal, reached)
    if "at_least" in target:
        goal, reached = f"at least {target['at_least']:,}", own >= target["at_least"]
    else:
        goal, reached = f"at most {target['at_most']:g}", own <= target["at_most"]
    return Result(target["work"], title, own, "", None, None, goal, reached)


def number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def rows(results: list[Result]) -> list[list[str]]:
    return [
        [
            *(r.work, r.game, number(r.own), r.peer, number(r.peer_figure)),
            *("" if r.ratio is None else f"{r.ratio:.2f}", r.goal, "yes" if r.reached else "NO"),
        ]
        for r in results
    ]


def line(result: Result) -> str:
    """A result in one line, for the terminal."""
    beside = f", {result.ratio:.2f} times {result.peer} ({number(result.peer_figure)})" if result.ratio else ""
    mark = "[green]reached[/green]" if result.reached else "[red]MISSED[/red]"
    return f"{mark} {result.work} ({result.game}): {number(result.own)}{beside}; goal: {result.goal}"


HEAD = ["work", "game", "airenv", "peer", "the peer's figure", "ratio", "goal", "reached"]


def page(results: list[Result], rounds: list[dict[str, Any]], packages: dict[str, str], seconds: float) -> str:
    """The results as a Markdown page."""
    lines = [
        "# airenv beside its peers",
        "",
        "Written by `make bench`. Every figure was measured in one run on one pinned core, airenv and its peers in "
        f"turns ({len(rounds)} rounds, {seconds:g} s a figure); a ratio is the median of the rounds' ratios. Figures "
        "are per second unless the row says seconds.",
        "",
        f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores; "
        + ", ".join(f"{name} {version}" for name, version in sorted(packages.items())),
        "",
        "| " + " | ".join(HEAD) + " |",
        "|" + "---|" * len(HEAD),
        *("| " + " | ".join(row) + " |" for row in rows(results)),
        "",
        "## All figures of the peers",
        "",
        "| figure | median of the rounds |",
        "|---|---|",
    ]
    names = sorted({name for r in rounds for name in r["peers"]})
    lines += [f"| {name} | {number(statistics.median(r['peers'][name] for r in rounds))} |" for name in names]
    lines += ["", "## All figures of airenv", "", "| game | figure | median of the rounds |", "|---|---|---|"]
    for game, figures in rounds[0]["own"].items():
        for name in figures:
            values = [r["own"][game][name] for r in rounds if name in r["own"][game]]
            lines.append(f"| {game} | {name.replace('_', ' ')} | {number(statistics.median(values))} |")
    lines += ["", NOTES]
    return "\n".join(lines)


NOTES = """What is compared:

- Search: decisions of 10,000 simulations on both sides, a world drawn and a full random rollout for every simulation,
  decisions in the tree and beyond it counted alike; `hearts_mcts_of_the_true_state` is OpenSpiel's search that sees
  the hidden cards.
- Learning: collecting and updating, the same network and epochs; the stock route is MaskablePPO over eight AEC
  environments in a DummyVecEnv, with SB3's minibatches and with ours.
- Rollouts: OpenSpiel's are timed through MCTSBot with a RandomRolloutEvaluator, without the dealing; airenv's include
  the set-up of every game.
- Python loops: legal actions, a random choice, apply. OpenSpiel's deals go through chance nodes, which take time and
  are not counted as decisions; `hearts_python_loop_after_deal` leaves the dealing out. The `as_documented` loop is
  that of OpenSpiel's examples, with numpy sampling the chance outcomes.
- AEC: `last()`, `action_space.sample(mask)`, `step()`; only steps that carry an action are counted, on both sides.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.5, help="how long each figure is measured in a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)), help="the core everything runs on")
    parser.add_argument("--out", type=Path, default=HERE / "RESULTS.md")
    arguments = parser.parse_args()
    console = Console(highlight=False)
    targets = tomllib.loads((HERE / "targets.toml").read_text())["target"]
    with console.status("installing the peers into an environment of their own ..."):
        python = environment.ensure(HERE.parent)
    rounds: list[dict[str, Any]] = []
    packages: dict[str, str] = {}
    with Progress(console=console, transient=True) as progress:
        bar = progress.add_task("measuring", total=3 * arguments.rounds)
        for count in range(arguments.rounds):
            own = measure_own(targets, arguments.seconds, arguments.core, first=count == 0)
            progress.advance(bar)
            peers = measure_peers(python, arguments.seconds, arguments.core)
            progress.advance(bar)
            for learned in measure_learning(targets, arguments.seconds, arguments.core):
                own[learned["game"]] |= learned["own"]
                peers["figures"] |= learned["peers"]
            progress.advance(bar)
            packages = peers["packages"]
            rounds.append({"own": own, "peers": peers["figures"]})
    results = [judge(target, rounds) for target in targets]
    write_text(arguments.out, page(results, rounds, packages, arguments.seconds))
    for result in results:
        console.print(line(result), soft_wrap=True)
    console.print(f"wrote {arguments.out}", soft_wrap=True)
    sys.exit(0 if all(result.reached for result in results) else 1)


if __name__ == "__main__":
    main()
