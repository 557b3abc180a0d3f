"""`airenv replay`: verify a saved game, tell it, show one of its positions."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from airenv.core.errors import BadOption
from airenv.core.files import write_text
from airenv.replay import final_state, load_replay
from experiments.terminal import move_and_tell


def show(console: Console, file: Path, move: int | None, seat: int | None, svg: Path | None) -> None:
    """Verify the whole replay first: nothing is shown of one that does not hold."""
    replay = load_replay(file)
    game, _ = final_state(replay)
    who = None if seat is None else game.valid_seat(seat)
    last = len(replay.actions)
    if move is not None and move > last:
        raise BadOption(f"{file} has {last} moves: --move goes from 0 to {last}")
    state, shown = game.new(replay.seed), last if move is None else move
    for number, action in enumerate(replay.actions[:shown]):
        told = move_and_tell(game, state, action)[-1 if who is None else who]
        if move is None:
            console.print(Text(f"{number:4d}  {told}"), soft_wrap=True)
    console.print(Panel(Text(game.table(state, who)), title=f"{game.facts.title}, after {shown} of {last} moves"))
    if svg is not None:
        write_text(svg, game.svg(state, who))
        console.print(f"wrote {svg}", soft_wrap=True)
    end = "finished" if replay.finished else "not finished: `airenv play --resume` goes on with it"
    console.print(f"{file}: {last} moves, {', '.join(replay.agents)}; verified, {end}", soft_wrap=True)
