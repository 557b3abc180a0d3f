"""The command line: `airenv games | agents | play | watch | replay | analyse | match | tune | train | ...`."""

from __future__ import annotations

import signal
import sqlite3
import sys
import threading
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

import airenv
from airenv.byhand import fresh_seed
from airenv.core.errors import AirenvError, BadOption, one_of
from airenv.core.random import valid_seed

app = typer.Typer(
    name="airenv",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help="Board games about flying the mail, as fast and leak-free environments: play, watch, analyse, measure.",
)

GAME = Annotated[str, typer.Argument(help="The game's name; `airenv games` lists them.", show_default=False)]
PLAYERS = Annotated[
    int | None, typer.Option("--players", "-p", help="How many play; by default the game's own number.")
]
ONLY_PLAYERS = Annotated[int | None, typer.Option("--players", "-p", help="One number of players; by default all.")]
SEED = Annotated[int | None, typer.Option(help="Deal the game of this seed; by default a new one.")]
BOARD = Annotated[str | None, typer.Option(help="A board the game ships, or a TOML file of your own.")]
SET = Annotated[
    list[str] | None, typer.Option("--set", help="A further option of the game, as `key=value`; may be repeated.")
]
FILE = Annotated[Path, typer.Argument(help="The run's YAML file.", show_default=False)]
CHANGES = Annotated[list[str] | None, typer.Argument(help="Overrides, as `deals=200` or `budget.ms=50`.")]
DRY_RUN = Annotated[bool, typer.Option("--dry-run", help="Print the resolved configuration and stop.")]
SAVE = Annotated[Path | None, typer.Option(help="Where the replay goes; by default into `runs/`.")]


def console() -> Console:
    return Console(highlight=False, markup=False)


def read_value(text: str) -> Any:
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        raise BadOption(f"{text!r} is no value: a number, a word or true and false") from None


def open_game(name: str, players: int | None, board: str | None = None, settings: list[str] | None = None) -> Any:
    """A game with the options given on the command line."""
    return airenv.game(name, board=board, **game_options(settings), **({} if players is None else {"players": players}))


def game_options(settings: list[str] | None) -> dict[str, Any]:
    """The options of `--set key=value`."""
    options: dict[str, Any] = {}
    for setting in settings or []:
        key, equals, value = setting.partition("=")
        if not equals:
            raise BadOption(f"--set takes key=value, not {setting!r}")
        if key.strip() in ("name", "board"):
            raise BadOption(f"{key.strip()} has a place of its own on the command line: see --help")
        options[key.strip()] = read_value(value)
    return options


def replay_path(chosen: Path | None, kind: str, name: str, seed: int) -> Path:
    """Where a new game is kept: where it was asked for, else under a name nobody uses yet."""
    if chosen is not None:
        if chosen.exists():
            raise BadOption(f"{chosen} is there already: --resume goes on with a game, or save to another file")
        return chosen
    path, number = Path("runs") / kind / f"{name}-{seed}.json", 1
    while path.exists():
        number += 1
        path = path.with_name(f"{name}-{seed}-{number}.json")
    return path


@app.command()
def games() -> None:
    """List the games with their players and where they come from."""
    table = Table("game", "title", "by", "year", "players", "about")
    for name in airenv.game_names():
        facts = airenv.facts(name)
        players = f"{min(facts.players)}-{max(facts.players)}"
        table.add_row(name, facts.title, facts.author, facts.year, players, facts.summary)
    console().print(table)


@app.command()
def agents(
    name: Annotated[str | None, typer.Argument(help="An agent, to see what its line may set.")] = None,
) -> None:
    """List the agents, or what a line such as `mcts:sims=2000,threads=2` may set of one of them."""
    from agents.lines import AGENTS

    if name is None:
        table = Table("agent", "parameters", "how it plays")
        for known, agent in AGENTS.items():
            table.add_row(known, ", ".join(agent.parameters), agent.__doc__.strip().splitlines()[0])
    else:
        agent = AGENTS[one_of("agent", name, AGENTS)]
        table = Table("parameter", "allowed", "default", "what it does", title=agent.__doc__.strip().splitlines()[0])
        for key, parameter in agent.parameters.items():
            default = (
                f"{parameter.default:,}" if isinstance(parameter.default, int | float) else parameter.default or ""
            )
            table.add_row(key, parameter.allowed, default, parameter.says)
    console().print(table)


@app.command()
def play(
    game: Annotated[str | None, typer.Argument(help="The game's name.", show_default=False)] = None,
    players: PLAYERS = None,
    vs: Annotated[
        list[str] | None,
        typer.Option(
            help="Who plays against you: an agent line (`greedy`, `mcts:ms=500`, `human`; `airenv agents` lists them) "
            "for all, or one for each seat after yours."
        ),
    ] = None,
    seat: Annotated[int, typer.Option(help="Your seat.")] = 0,
    seed: SEED = None,
    board: BOARD = None,
    settings: SET = None,
    save: SAVE = None,
    resume: Annotated[Path | None, typer.Option(help="Go on with a saved game.")] = None,
) -> None:
    """Play a game in the terminal.

    The game is saved after every move: leave with `q` (or Ctrl-C) and go on with `--resume FILE`.

    `airenv play aviation --players 3 --vs greedy --vs random`
    """
    from airenv.replay import load_replay
    from experiments import terminal

    if resume is not None:
        if game is not None:
            raise BadOption("--resume FILE knows its game: leave the name out")
        match = terminal.continued_match(load_replay(resume), resume)
    else:
        if game is None:
            raise BadOption(f"which game? One of: {', '.join(airenv.game_names())}")
        opened = open_game(game, players, board, settings)
        chosen = fresh_seed() if seed is None else valid_seed(seed)
        lines = seat_lines(opened.players, opened.valid_seat(seat), vs or ["greedy"])
        match = terminal.new_match(opened, chosen, lines, replay_path(save, "play", game, chosen))
    terminal.play(console(), match)


def seat_lines(players: int, seat: int, others: list[str]) -> list[str]:
    """The agent lines of all seats, with the person in one of them."""
    if len(others) == 1:
        others = others * (players - 1)
    if len(others) != players - 1:
        raise BadOption(f"{players} players need one --vs for all or {players - 1}, not {len(others)}")
    lines = [""] * players
    lines[seat] = "human"
    for left, line in enumerate(others, 1):
        lines[(seat + left) % players] = line
    return lines


@app.command()
def watch(
    game: GAME,
    agents: Annotated[
        list[str] | None, typer.Option("--agent", "-a", help="An agent line for all seats, or one for each in turn.")
    ] = None,
    players: PLAYERS = None,
    seed: SEED = None,
    board: BOARD = None,
    settings: SET = None,
    delay: Annotated[float, typer.Option(help="Seconds between moves.", min=0.0)] = 0.4,
    seat: Annotated[int | None, typer.Option(help="Look through a seat's eyes; by default all hands are open.")] = None,
    save: SAVE = None,
) -> None:
    """Watch agents play.

    `airenv watch aviation -a greedy -a random -a random -a random --delay 0.2`
    """
    from experiments import terminal

    opened = open_game(game, players, board, settings)
    lines = agents or ["greedy"]
    lines = lines * opened.players if len(lines) == 1 else lines
    if "human" in lines:
        raise BadOption("people play with `airenv play`")
    chosen = fresh_seed() if seed is None else valid_seed(seed)
    match = terminal.new_match(opened, chosen, lines, replay_path(save, "watch", game, chosen))
    if not terminal.watch(console(), match, delay, None if seat is None else opened.valid_seat(seat)):
        raise typer.Exit(130)


@app.command()
def replay(
    file: Annotated[Path, typer.Argument(help="A replay, as `play` and `watch` save them.", show_default=False)],
    move: Annotated[int | None, typer.Option(help="Show the table before this move (0 is the deal).", min=0)] = None,
    seat: Annotated[int | None, typer.Option(help="Look through a seat's eyes; by default all hands are open.")] = None,
    svg: Annotated[Path | None, typer.Option(help="Write the picture of that table to a file.")] = None,
) -> None:
    """Verify a replay and tell it move by move, or show one of its positions.

    `airenv replay runs/watch/aviation-7.json --move 40 --svg table.svg`
    """
    from experiments import replaying

    replaying.show(console(), file, move, seat, svg)


@app.command()
def analyse(
    file: Annotated[Path, typer.Argument(help="A replay, as `play` and `watch` save them.", show_default=False)],
    move: Annotated[int, typer.Option(help="Search the position before this move (0 is the deal).", min=0)],
    agent: Annotated[
        str, typer.Option(help="The agent line of a search: `mcts`, `az`, `flat` or `pimc`.")
    ] = "mcts:sims=20000",
    lines: Annotated[int, typer.Option(help="For how many of the moves the main line is told.", min=0)] = 3,
    seed: Annotated[int, typer.Option(help="Of the search's random numbers.", min=0)] = 0,
) -> None:
    """Search a position of a saved game: the moves with visits and values, and the lines thought of.

    The search knows what the player to move knew. Ctrl-C ends it early and tells what it has found so far.

    `airenv analyse runs/watch/aviation-7.json --move 17 --agent mcts:sims=20000`
    """
    from experiments import analysing

    analysing.analyse(console(), file, move, agent, lines, valid_seed(seed))


@app.command()
def match(
    game: GAME,
    agent: Annotated[str, typer.Argument(help="An agent line.", show_default=False)],
    field: Annotated[str, typer.Argument(help="The agent line of all the others.", show_default=False)],
    players: ONLY_PLAYERS = None,
    games: Annotated[int, typer.Option(help="How many games, for each number of players.", min=2)] = 400,
    seed: Annotated[int, typer.Option(help="The first deal.", min=0)] = 0,
    board: BOARD = None,
    settings: SET = None,
) -> None:
    """Play an agent against a field of another: duplicate deals, every seat in turn, with an interval.

    `airenv match aviation mcts:sims=1000 greedy --players 4 --games 400`
    """
    from experiments import matches

    tables = [players] if players is not None else list(airenv.facts(game).players)
    opened = [open_game(game, number, board, settings) for number in tables]
    matches.report(console(), opened, [(agent, field)], games, valid_seed(seed))


@app.command()
def check(
    game: GAME,
    players: ONLY_PLAYERS = None,
    only: Annotated[list[str] | None, typer.Option(help="Run only this law; may be repeated.")] = None,
    laws: Annotated[bool, typer.Option("--list", help="List the laws and stop.")] = False,
) -> None:
    """Run the conformance suite on a game, also on one you write yourself.

    Put the folder of your game into a folder of games and name that one in `AIRENV_GAMES`:

    `AIRENV_GAMES=my_games airenv check my_game`
    """
    from experiments import checking

    if laws:
        checking.show_laws(console())
    elif not checking.run(console(), game, players, only):
        raise typer.Exit(1)


@app.command()
def tournament(
    file: FILE,
    changes: CHANGES = None,
    sprt: Annotated[
        tuple[str, str, float] | None,
        typer.Option(
            metavar="AGENT AGAINST GAIN",
            help="Stop as soon as it is decided whether AGENT is better than AGAINST by GAIN "
            "(of their comparisons, a half being even).",
        ),
    ] = None,
    dry_run: DRY_RUN = False,
) -> None:
    """Let agents meet at any tables and rate them, as a YAML file says.

    Every game is kept when it is played: after Ctrl-C, or a kill, the same command goes on. `deals=` may be raised
    later; `executor=ray address=auto` plays on a cluster.

    `airenv tournament configs/tournament/aviation.yaml deals=50`
    """
    from experiments import tournament as tournaments

    asked = tournaments.question(*sprt) if sprt else []
    if not tournaments.start(console(), file, [*(changes or []), *asked], dry_run):
        raise typer.Exit(130)


@app.command()
def evaluate(file: FILE, changes: CHANGES = None, dry_run: DRY_RUN = False) -> None:
    """Measure one agent against fields of others, as a YAML file says; killed, the same command goes on.

    `airenv evaluate configs/evaluate/aviation.yaml agent=ppo:runs/aviation games=200`
    """
    from experiments import evaluate as evaluating

    if not evaluating.start(console(), file, changes or [], dry_run):
        raise typer.Exit(130)


@app.command()
def report(
    run: Annotated[Path, typer.Argument(help="The folder of a run of any kind.", show_default=False)],
) -> None:
    """Write a page about a run: ladder, pairs, seats, learning curves, lengths, actions, replays.

    One HTML file that opens without a network, and the plots beside it as PNGs, in `RUN/report`.
    """
    from experiments import report as reporting

    path = reporting.write_report(console(), run)
    console().print(f"wrote {path}", soft_wrap=True)


@app.command()
def balance(
    game: GAME,
    players: ONLY_PLAYERS = None,
    agents: Annotated[
        list[str] | None,
        typer.Option("--agent", "-a", help="An agent line that fills the table; may be repeated."),
    ] = None,
    games: Annotated[int, typer.Option(help="Games for each agent and number of players.", min=2)] = 200,
    seed: Annotated[int, typer.Option(help="The first deal.", min=0)] = 0,
    board: BOARD = None,
    settings: SET = None,
    executor: Annotated[str, typer.Option(help="Where games are played: inline, processes or ray.")] = "processes",
    workers: Annotated[int | None, typer.Option(help="By default as many as there are cores.", min=1)] = None,
    out: Annotated[Path | None, typer.Option(help="Its folder; by default `runs/balance-GAME`.")] = None,
) -> None:
    """Tell what a designer asks of a game: length, seats, kinds of decisions, actions nobody uses, score spread.

    `airenv balance aviation --players 4 -a random -a greedy --games 400`
    """
    from agents.executors import KINDS, make_executor
    from experiments import balance as balancing

    chosen = make_executor(one_of("executor", executor, KINDS), workers)  # type: ignore[arg-type]
    options = {**game_options(settings), **({} if board is None else {"board": board})}
    numbers = None if players is None else [players]
    try:
        balancing.run(console(), game, numbers, options, agents or [], games, valid_seed(seed), chosen, out)
    finally:
        chosen.close()


@app.command()
def bench(
    game: Annotated[
        str | None, typer.Argument(help="One game, or a YAML file; by default all games.", show_default=False)
    ] = None,
    changes: CHANGES = None,
    players: ONLY_PLAYERS = None,
    seconds: Annotated[float, typer.Option(help="How long each figure is measured.", min=0.01)] = 0.5,
    signature: Annotated[bool, typer.Option("--signature", help="Print the behaviour signatures alone.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    dry_run: DRY_RUN = False,
) -> None:
    """Measure the speed of a game and print the signature of its behaviour.

    The signature is a hash over a fixed set of games: it changes when the rules do, and only then. A YAML file, with
    overrides, keeps the figures in a run's folder: `airenv bench configs/bench/aviation.yaml seconds=2`
    """
    from experiments import bench as measuring

    if game is not None and Path(game).suffix in (".yaml", ".yml"):
        measuring.start(console(), Path(game), changes or [], dry_run)
        return
    if changes or dry_run:
        raise BadOption("overrides and --dry-run go with a YAML file: airenv bench FILE key=value")
    measuring.report(console(), [game] if game else airenv.game_names(), players, seconds, signature, as_json)


@app.command()
def train(
    file: Annotated[Path | None, typer.Argument(help="The run's YAML file.", show_default=False)] = None,
    changes: CHANGES = None,
    resume: Annotated[Path | None, typer.Option(help="Go on with the run in this folder.")] = None,
    dry_run: DRY_RUN = False,
) -> None:
    """Learn by self-play, as a YAML file says.

    Everything is kept after every round: Ctrl-C, or a kill, loses seconds, and `--resume RUN` goes on bit for bit.

    `airenv train configs/ppo/aviation.yaml decisions=2000000 name=small`
    """
    from experiments import train as training

    if not training.start(console(), file, changes or [], resume, dry_run):
        raise typer.Exit(130)


@app.command()
def tune(
    game: GAME,
    games: Annotated[int, typer.Option(help="Games each candidate plays.", min=2)] = 300,
    ms: Annotated[float, typer.Option(help="Milliseconds a decision that all candidates get.", min=0.1)] = 4.0,
    seed: Annotated[int, typer.Option(help="The first deal.", min=0)] = 1000,
    out: Annotated[Path | None, typer.Option(help="Where it goes; by default `search.toml` of the game.")] = None,
) -> None:
    """Measure which search settings are best in a game and keep them in its folder.

    Takes a while: some twenty matches for every number of players. `mcts` uses what is found.
    """
    from experiments import tuning

    tuning.run(console(), game, games, ms, valid_seed(seed), out)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; mistakes in what was typed are told in one line."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that everything is put away
    try:
        app(arguments, standalone_mode=True)
    except (AirenvError, OSError, sqlite3.Error) as error:
        Console(stderr=True, highlight=False, markup=False).print(f"error: {error}", style="red", soft_wrap=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
