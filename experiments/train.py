"""`airenv train`: a run of learning, from one YAML file, that can be stopped at any moment and gone on with.

A run is a folder: the resolved configuration, versions, metrics, evaluations, TensorBoard events, the best and the last
checkpoint, and the state to go on from, written whole after every round.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

from pydantic import Field
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

import airenv
from agents import make_agent
from agents.checkpoints import load_checkpoint, save_checkpoint
from agents.executors import Executor, Kind, make_executor
from agents.expert import ExpertIteration, ExpertSettings
from agents.policy import PolicyAgent
from agents.ppo import PpoSettings, PpoTrainer
from agents.weights import Weights
from airenv.byhand import Game
from airenv.core.errors import BadOption
from airenv.core.files import write_text
from experiments.configs import NAME_PATTERN, BadConfig, Config, as_yaml, load_config, read_yaml, versions
from experiments.matches import Score, play_match

if TYPE_CHECKING:
    from torch.utils.tensorboard.writer import SummaryWriter


class Trainer(Protocol):
    """Something that learns in rounds and can be saved between them."""

    @property
    def decisions(self) -> int: ...
    def advance(self) -> dict[str, float]: ...
    def weights(self) -> Weights: ...
    def save(self, folder: Path) -> None: ...
    def load(self, folder: Path) -> None: ...


class Evaluation(Config):
    """How a run looks at itself: matches on fixed deals, each seat in turn."""

    every: int = Field(default=2_000_000, ge=1, description="decisions between two looks")
    games: int = Field(default=120, ge=2, description="games of each match")
    against: list[str] = Field(default=["random", "greedy", "mcts:sims=100"], description="agent lines")
    seed: int = Field(default=900_000, ge=0, description="the first deal")


class TrainConfig(Config):
    """A run of learning."""

    kind: Literal["ppo", "az"] = Field(default="ppo", description="self-play PPO, or expert iteration by search")
    name: str = Field(min_length=1, pattern=NAME_PATTERN, description="of the run, and of its folder")
    game: str
    players: list[int] = Field(default=[], description="numbers of players to learn at; none: all there are")
    options: dict[str, Any] = Field(default={}, description="of the game: board, variants ...")
    seed: int = Field(default=1, ge=0, lt=2**31)
    decisions: int = Field(ge=1, description="to learn from in all")
    trunk: list[Annotated[int, Field(ge=1, le=4096)]] = Field(default=[128, 128], min_length=1)
    start: str | None = Field(default=None, description="a checkpoint to start from")
    executor: Kind = Field(default="inline", description="where the games are played: here, in processes or by Ray")
    workers: int | None = Field(default=None, ge=1, description="of the executor; none: as many as there are cores")
    address: str | None = Field(default=None, description="of a Ray cluster; none: one is started here")
    ppo: PpoSettings = PpoSettings()
    az: ExpertSettings = ExpertSettings()
    evaluation: Evaluation = Evaluation()
    out: str = Field(default="runs", description="the folder of runs")

    @property
    def folder(self) -> Path:
        return Path(self.out) / self.name

    @property
    def shards(self) -> int:
        return (self.az if self.kind == "az" else self.ppo).shards


def open_games(config: TrainConfig) -> list[Game]:
    """The game at every number of players of a run."""
    counts = config.players or list(airenv.facts(config.game).players)
    return [airenv.game(config.game, players=number, **config.options) for number in counts]


def open_executor(config: TrainConfig) -> Executor:
    """Where the shards of a run are played."""
    if config.executor != "inline" and config.shards == 1:
        key = f"{config.kind}.shards"
        raise BadOption(
            f"executor {config.executor} has nothing to share out: set {key} to the workers, or some times as many"
        )
    return make_executor(config.executor, config.workers, config.address)


def make_trainer(config: TrainConfig, games: list[Game], executor: Executor) -> Trainer:
    start = load_checkpoint(config.start).fit(games[0]) if config.start else None
    if config.kind == "az":
        return ExpertIteration(games, config.az, config.trunk, config.seed, start, executor)
    return PpoTrainer(games, config.ppo, config.trunk, config.seed, config.decisions, start, executor)


class Run:
    """A folder that a trainer's rounds are kept in."""

    def __init__(self, config: TrainConfig, console: Console, executor: Executor) -> None:
        self.config, self.folder, self.console = config, config.folder, console
        for line in config.evaluation.against:
            make_agent(line)
        self.games = open_games(config)
        self.trainer = make_trainer(config, self.games, executor)
        self.best = -1.0  # the mean of the shares won over a fair share, against all opponents
        self.seconds = 0.0  # of learning, without looking at itself
        self.standing = ""

    @property
    def state(self) -> Path:
        return self.folder / "state"

    def begin(self) -> None:
        """A new run; its folder must not be there yet."""
        if self.folder.exists():
            raise BadOption(f"{self.folder} is there already: go on with --resume {self.folder}, or set another name=")
        self.folder.mkdir(parents=True)
        write_text(self.folder / "config.yaml", as_yaml(self.config))
        write_text(self.folder / "versions.json", json.dumps(versions(), indent=2) + "\n")
        self.keep()

    def keep(self) -> None:
        """Write the state whole: beside the old one, then in its place."""
        fresh = self.folder / "state.new"
        shutil.rmtree(fresh, ignore_errors=True)
        self.trainer.save(fresh)
        facts = {"best": self.best, "seconds": self.seconds, "decisions": self.trainer.decisions}
        write_text(fresh / "run.json", json.dumps(facts) + "\n")
        old = self.folder / "state.old"
        shutil.rmtree(old, ignore_errors=True)
        if self.state.exists():
            self.state.rename(old)
        fresh.rename(self.state)
        shutil.rmtree(old, ignore_errors=True)

    def go_on(self) -> None:
        """Take up the newest whole state; rows of rounds that were not kept are dropped."""
        kept = next((f for f in (self.state, self.folder / "state.old") if (f / "run.json").exists()), None)
        if kept is None:
            raise BadOption(f"{self.folder} holds no state to go on from")
        self.trainer.load(kept)
        facts = json.loads((kept / "run.json").read_text())
        self.best, self.seconds = facts["best"], facts["seconds"]
        for name in ("metrics.jsonl", "evaluations.jsonl"):
            path = self.folder / name
            rows = [json.loads(row) for row in path.read_text().splitlines()] if path.exists() else []
            kept_rows = [row for row in rows if row["decisions"] <= facts["decisions"]]
            write_text(path, "".join(json.dumps(row) + "\n" for row in kept_rows))

    def note(self, name: str, row: dict[str, Any]) -> None:
        with (self.folder / name).open("a") as file:
            file.write(json.dumps({"decisions": self.trainer.decisions, **row}) + "\n")

    def train(self) -> bool:
        """Learn to the end; False if it was stopped before."""
        from torch.utils.tensorboard.writer import SummaryWriter

        columns = ("{task.description}", "{task.fields[rate]}", "{task.fields[standing]}")
        bars = (TextColumn(columns[0]), BarColumn(), TextColumn("{task.percentage:.1f}%"), TimeElapsedColumn())
        bars += (TimeRemainingColumn(), *(TextColumn(text) for text in columns[1:]))  # type: ignore[assignment]
        total = self.config.decisions
        with (
            SummaryWriter(str(self.folder / "tensorboard")) as board,
            Progress(*bars, console=self.console) as progress,
        ):
            bar = progress.add_task(
                self.config.name, total=total, completed=self.trainer.decisions, rate="", standing=""
            )
            try:
                while self.trainer.decisions < total:
                    rate = self.round(board)
                    shown = {"completed": self.trainer.decisions, "rate": f"{rate:,.0f} decisions/s"}
                    progress.update(bar, standing=self.standing, **shown)  # type: ignore[arg-type]
            except KeyboardInterrupt:
                return False
        return True

    def round(self, board: SummaryWriter) -> float:
        """Learn, look at itself if it is time to, keep everything; returns the decisions a second."""
        before, start = self.trainer.decisions, time.perf_counter()
        told = self.trainer.advance()
        spent = time.perf_counter() - start
        self.seconds += spent
        rate = (self.trainer.decisions - before) / spent
        self.note("metrics.jsonl", {"seconds": round(self.seconds, 3), **told})
        for key, value in told.items():
            board.add_scalar(f"train/{key}", value, self.trainer.decisions)
        every, now = self.config.evaluation.every, self.trainer.decisions
        if now // every > before // every or now >= self.config.decisions:
            self.evaluate(board)
        self.keep()
        return rate

    def evaluate(self, board: SummaryWriter) -> None:
        """Play matches against the fixed opponents; keep the network as the last, and as the best if it is."""
        scores = evaluate(self.trainer.weights(), self.games, self.config.evaluation)
        over_fair = sum(score.share / score.fair for score in scores) / len(scores) if scores else 0.0
        rows = [{key: value for key, value in vars(s).items() if key != "shares"} for s in scores]
        self.note("evaluations.jsonl", {"scores": rows})
        for s in scores:
            board.add_scalar(f"wins_of_{s.players}/{s.field.replace(':', ' ')}", s.share, self.trainer.decisions)
        self.standing = ", ".join(f"{line} {_mean_share(scores, line):.2f}" for line in self.config.evaluation.against)
        self.save("last")
        if over_fair > self.best:
            self.best = over_fair
            self.save("best")

    def save(self, name: str) -> None:
        facts = {"run": self.config.name, "kind": self.config.kind, "seed": self.config.seed}
        facts |= {"decisions": self.trainer.decisions, "minutes": round(self.seconds / 60, 1)}
        save_checkpoint(self.folder / name, self.trainer.weights(), self.games, facts)


def _mean_share(scores: list[Score], line: str) -> float:
    """Wins over a fair share against one opponent, over all numbers of players."""
    found = [s.share / s.fair for s in scores if s.field == line]
    return sum(found) / len(found)


def evaluate(weights: Weights, games: list[Game], how: Evaluation) -> list[Score]:
    """Matches of a network against fixed opponents, at every number of players."""
    agent = PolicyAgent(weights=weights, name="learner")
    return [play_match(game, agent, line, how.games, how.seed) for game in games for line in how.against]


def start(
    console: Console, file: Path | None, changes: list[str], resume: Path | None = None, dry_run: bool = False
) -> bool:
    """Begin a run or go on with one; False if it was stopped before its end."""
    if (file is None) == (resume is None):
        raise BadConfig("name a configuration, or a run to go on with: airenv train FILE or airenv train --resume RUN")
    if resume is not None and changes:
        raise BadConfig("a run goes on as it was begun: no key=value with --resume")
    config = load_config(TrainConfig, file if resume is None else resume / "config.yaml", changes)  # type: ignore[arg-type]
    if resume is not None:
        config = config.model_copy(update={"out": str(resume.parent), "name": resume.resolve().name})
    if dry_run:
        console.print(as_yaml(config), soft_wrap=True)
        return True
    return carry_out(console, config, going_on=resume is not None)


def begin_or_go_on(console: Console, config: TrainConfig) -> bool:
    """Begin a run, or go on with it if it was begun with this configuration; False if it was stopped before its end."""
    begun = config.folder / "config.yaml"
    if begun.exists() and read_yaml(begun) != config.model_dump(mode="json"):
        raise BadConfig(f"{config.folder} is a run with another configuration: remove it, or set another name")
    going_on = (config.folder / "state").exists()
    if begun.exists() and not going_on:
        shutil.rmtree(config.folder)  # killed before there was anything to go on from
    return carry_out(console, config, going_on)


def carry_out(console: Console, config: TrainConfig, going_on: bool) -> bool:
    """Learn to the end; False if it was stopped before."""
    with closing(open_executor(config)) as executor:
        run = Run(config, console, executor)
        if going_on:
            run.go_on()
        else:
            run.begin()
        return finish(run)


def finish(run: Run) -> bool:
    """Learn to the end and say what can be done now; False if it was stopped before."""
    config, console = run.config, run.console
    if run.trainer.decisions >= config.decisions:
        console.print(f"{run.folder} has learned from all its {config.decisions:,} decisions", soft_wrap=True)
        return True
    done = run.train()
    if done:
        console.print(
            f"learned; play against it: airenv play {config.game} --vs ppo:{run.folder / 'best'}", soft_wrap=True
        )
    else:
        console.print(f"stopped; go on with: airenv train --resume {run.folder}", soft_wrap=True)
    return done


if __name__ == "__main__":
    from experiments.cli import main

    main(["train", *sys.argv[1:]])
