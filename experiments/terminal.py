"""A game in the terminal: a person among agents (`airenv play`), or agents alone (`airenv watch`)."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from rich.columns import Columns
from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.text import Text

from agents import make_agent
from airenv.byhand import Game
from airenv.core.errors import AirenvError, BadOption
from airenv.replay import Replay, final_state, finish_replay, save_replay, start_replay
from airenv.seat import Agent, Seat
from experiments.thinking import think

HUMAN = "human"
HELP = (
    "Type a move's number, its name, or the beginning of its name.\n"
    "t shows the table again, n the news since your last move, ? this help, q saves the game and leaves."
)


class Quit(Exception):
    """The person wants to stop here."""


@dataclass
class Match:
    """A game under way: who sits where, what was played, where it is kept."""

    game: Game
    replay: Replay
    path: Path
    state: np.ndarray
    agents: dict[int, Agent]
    story: list[tuple[str, ...]] = field(default_factory=list)  # each move as each seat saw it, spectators last

    @property
    def humans(self) -> list[int]:
        return [seat for seat in range(self.game.players) if seat not in self.agents]

    def play(self, action: int) -> None:
        """Make a move and keep it, so that nothing is lost whatever happens next."""
        action = self.game.valid_action(action)
        self.story.append(move_and_tell(self.game, self.state, action))
        self.replay.actions.append(action)
        save_replay(finish_replay(self.replay, self.game, self.state), self.path)

    def chance(self) -> np.random.Generator:
        """A generator for the move at hand: a game continued later goes on as it would have."""
        return np.random.default_rng([self.replay.seed, len(self.replay.actions)])


def move_and_tell(game: Game, state: np.ndarray, action: int) -> tuple[str, ...]:
    """Make a move; returns it with what came of it, as each seat and then a spectator saw it."""
    told = [game.describe(state, action, seat) for seat in (*range(game.players), None)]
    before = game.clone(state)
    game.apply(state, action)
    came = game.happenings(before, state)
    return tuple("; ".join([text, *came]) for text in told)


def seat_agents(lines: Sequence[str]) -> dict[int, Agent]:
    return {seat: make_agent(line) for seat, line in enumerate(lines) if line != HUMAN}


def new_match(game: Game, seed: int, lines: Sequence[str], path: Path) -> Match:
    if len(lines) != game.players:
        raise BadOption(f"{game.players} players need {game.players} agents, not {len(lines)}: {', '.join(lines)}")
    agents = seat_agents(lines)
    return Match(game, start_replay(game, seed, list(lines)), path, game.new(seed), agents)


def continued_match(replay: Replay, path: Path) -> Match:
    """Take up a saved game where it was left; one that does not replay exactly is refused."""
    game, _ = final_state(replay)
    if replay.finished:
        raise BadOption(f"{path} is a finished game: `airenv replay {path}` shows it")
    state = game.new(replay.seed)
    story = [move_and_tell(game, state, action) for action in replay.actions]
    return Match(game, replay, path, state, seat_agents(replay.agents), story)


# -- a person's move ---------------------------------------------------------------------------------


def parse_move(game: Game, legal: Sequence[int], answer: str) -> int:
    """The legal move that a number, a name or the beginning of a name means."""
    if answer.isdecimal() and len(answer) < 9:
        number = int(answer)
        if not 1 <= number <= len(legal):
            raise BadOption(f"there is no move {number}: type 1 to {len(legal)}")
        return legal[number - 1]
    wanted = " ".join(answer.lower().split())
    names = {action: game.action_name(action).lower() for action in legal}
    exact = [action for action, name in names.items() if name == wanted]
    found = exact or [action for action, name in names.items() if name.startswith(wanted)]
    found = found or [action for action, name in names.items() if wanted in name]
    if len(found) == 1:
        return found[0]
    if found:
        raise BadOption(f"{answer!r} could be {', '.join(game.action_name(a) for a in found)}")
    raise BadOption(f"no legal move is called {answer!r}; ? for help")


def show_table(console: Console, match: Match, seat: int | None) -> None:
    console.print(Panel(Text(match.game.table(match.state, seat)), title=match.game.facts.title))


def show_moves(console: Console, match: Match, seat: int, legal: Sequence[int]) -> None:
    console.print(Panel(Text(match.game.hand(match.state, seat)), title="Your hand", border_style="green"))
    moves = [Text(f"{number:2d}  {match.game.action_name(action)}") for number, action in enumerate(legal, 1)]
    console.print(Panel(Columns(moves, padding=(0, 4)), title="Your moves", border_style="cyan"))


def show_news(console: Console, match: Match, seat: int, since: int) -> None:
    for told in match.story[since:]:
        console.print(Text(f"  {told[seat]}", style="dim"))


def hand_over(console: Console, seat: int, ask: Callable[[str], str]) -> None:
    """Several people at one screen: nobody sees another's hand."""
    console.clear()
    try:
        ask(f"Player {seat}: press Enter when nobody else is looking ")
    except (EOFError, KeyboardInterrupt):
        raise Quit from None


def ask_person(console: Console, match: Match, ask: Callable[[str], str], since: int) -> int:
    """A person's move; asks again until it is one."""
    seat = match.game.player(match.state)
    legal = match.game.legal_actions(match.state)
    if len(match.humans) > 1:
        hand_over(console, seat, ask)
    show_news(console, match, seat, since)
    show_table(console, match, seat)
    show_moves(console, match, seat, legal)
    while True:
        try:
            answer = ask(f"Player {seat}, your move (? for help): ").strip()
        except (EOFError, KeyboardInterrupt):
            raise Quit from None
        if answer.lower() in ("q", "quit", "exit"):
            raise Quit
        if answer.lower() in ("", "?", "h", "help"):
            console.print(Text(HELP))
        elif answer.lower() == "t":
            show_table(console, match, seat)
            show_moves(console, match, seat, legal)
        elif answer.lower() == "n":
            show_news(console, match, seat, since)
        else:
            try:
                return parse_move(match.game, legal, answer)
            except AirenvError as error:
                console.print(Text(str(error), style="red"))


def ask_agent(console: Console, match: Match, player: int) -> int:
    """An agent's move."""
    agent, seat = match.agents[player], Seat(match.game, match.state)
    label = f"Player {player} ({agent.name}) is thinking"
    return think(console, agent, label, lambda: agent.act(seat, match.chance()))


def play(console: Console, match: Match, ask: Callable[[str], str] = input) -> None:
    """Play on until the end or until the person leaves; the game is saved after every move."""
    save_replay(finish_replay(match.replay, match.game, match.state), match.path)
    since = dict.fromkeys(range(match.game.players), max(0, len(match.story) - match.game.players))
    while (player := match.game.player(match.state)) >= 0:
        try:
            if player in match.agents:
                action = ask_agent(console, match, player)
            else:
                action = ask_person(console, match, ask, since[player])
                since[player] = len(match.story) + 1
        except (Quit, KeyboardInterrupt):
            console.print(f"Saved. Go on with:  airenv play --resume {shlex.quote(str(match.path))}", soft_wrap=True)
            return
        match.play(action)
    for seat in match.humans:
        show_news(console, match, seat, since[seat])
    show_result(console, match)


def show_result(console: Console, match: Match) -> None:
    show_table(console, match, None)
    names = [match.agents[s].name if s in match.agents else HUMAN for s in range(match.game.players)]
    cut = " (cut off)" if match.game.is_truncated(match.state) else ""
    for seat, (name, score) in enumerate(zip(names, match.game.scores(match.state), strict=True)):
        console.print(f"Player {seat} ({name}): {score:g}{cut}")
    console.print(f"The replay is {match.path}", soft_wrap=True)


# -- agents alone ------------------------------------------------------------------------------------


def watch(console: Console, match: Match, delay: float, seat: int | None) -> bool:
    """Show agents playing: a living table on a screen, a line a move elsewhere. False if it was broken off."""
    try:
        if console.is_terminal:
            with Live(console=console, auto_refresh=False, transient=True) as live:
                run_agents(match, lambda: live.update(picture(match, seat), refresh=True), delay)
        else:
            run_agents(match, lambda: print_last(console, match, seat), 0.0)
    except KeyboardInterrupt:
        console.print(f"Broken off after {len(match.story)} moves; the replay is {match.path}", soft_wrap=True)
        return False
    show_result(console, match)
    return True


def run_agents(match: Match, show: Callable[[], None], delay: float) -> None:
    while (player := match.game.player(match.state)) >= 0:
        match.play(match.agents[player].act(Seat(match.game, match.state), match.chance()))
        show()
        time.sleep(delay)


def told_to(match: Match, number: int, seat: int | None) -> str:
    return match.story[number][-1 if seat is None else seat]


def picture(match: Match, seat: int | None) -> Group:
    recent = "\n".join(told_to(match, n, seat) for n in range(max(0, len(match.story) - 6), len(match.story)))
    table = Text(match.game.table(match.state, seat))
    return Group(Panel(table, title=match.game.facts.title), Panel(Text(recent), title="Last moves"))


def print_last(console: Console, match: Match, seat: int | None) -> None:
    console.print(Text(f"{len(match.story):4d}  {told_to(match, len(match.story) - 1, seat)}"))
