"""`python -m experiments.zoo RUN`: ship a run's best network, with a card that says what it is and how it plays."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from agents.checkpoints import load_checkpoint, paths_of
from agents.policy import ZOO
from airenv.core.errors import BadOption
from airenv.core.files import write_bytes, write_text
from experiments.configs import as_yaml, load_config
from experiments.matches import Score, report
from experiments.train import TrainConfig, open_games

AGAINST = ("random", "greedy", "mcts:sims=100")
LARGEST = 2_000_000  # bytes


def card(run: Path, config: TrainConfig, training: dict[str, object], command: str, scores: list[Score]) -> str:
    """The card of a network, as Markdown."""
    lines = [
        f"# A network for {config.game}",
        "",
        f"Written by `{command}`. Play against it: `airenv play {config.game} --vs ppo`.",
        "",
        f"Learned by self-play ({config.kind}, seed {config.seed}): {training['decisions']:,} decisions in "
        f"{training['minutes']} minutes of one core, without any other player's help.",
        "",
        "One of it against a field of others: duplicate deals, every seat in turn; 95% intervals over deals.",
        "",
        "| players | against | games | wins | 95% interval | fair share | |",
        "|---|---|---|---|---|---|---|",
    ]
    for s in scores:
        span = f"{s.low:.1%} - {s.high:.1%}"
        lines.append(f"| {s.players} | `{s.field}` | {s.games} | {s.share:.1%} | {span} | {s.fair:.1%} | {s.verdict} |")
    beaten = [s for s in scores if s.field == "greedy" and s.verdict == "better"]
    if len(beaten) < len(open_games(config)):
        lines += ["", "It does not beat `greedy` clearly at every number of players yet."]
    return "\n".join([*lines, "", "## Configuration", "", "```yaml", as_yaml(config).strip(), "```", ""])


def main(
    run: Annotated[Path, typer.Argument(help="The folder of a finished run.")],
    games: Annotated[int, typer.Option(min=2, help="Games of each match.")] = 400,
    seed: Annotated[int, typer.Option(min=0, help="The first deal.")] = 700_000,
) -> None:
    """Copy the best network of a run into agents/zoo and write its card."""
    console = Console(highlight=False)
    config = load_config(TrainConfig, run / "config.yaml")
    checkpoint = load_checkpoint(run / "best")
    sources = paths_of(run / "best")
    if sources[0].stat().st_size > LARGEST:
        raise BadOption(
            f"{sources[0]} is too large to ship: {sources[0].stat().st_size:,} bytes of at most {LARGEST:,}"
        )
    pairs = [(f"ppo:{run / 'best'}", line) for line in AGAINST]
    scores = report(console, open_games(config), pairs, games, seed)
    for source, target in zip(sources, paths_of(ZOO / config.game), strict=True):
        write_bytes(target, source.read_bytes())
    command = f"python -m experiments.zoo runs/{config.name} --games {games} --seed {seed}"
    config = config.model_copy(update={"out": "runs"})
    write_text(ZOO / f"{config.game}.md", card(run, config, checkpoint.manifest.training, command, scores))
    console.print(f"wrote {ZOO / config.game}.safetensors and its card", soft_wrap=True)


if __name__ == "__main__":
    typer.run(main)
