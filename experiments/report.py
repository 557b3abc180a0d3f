"""`airenv report RUN`: what a run came to, as one HTML page that can be mailed, with its figures and replays beside it.

Everything is computed from what the run's folder holds: results of games, metrics and evaluations of learning. All
files are ready before the first is written, and the page is written last.
"""

from __future__ import annotations

import json
import shlex
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from rich.console import Console

import airenv
from airenv.byhand import Game
from airenv.core.errors import AirenvError
from airenv.core.files import write_bytes, write_text
from airenv.replay import Replay, final_state, positions
from experiments import pages, plots
from experiments.configs import read_yaml
from experiments.pages import Html, Part
from experiments.playing import run_of
from experiments.plots import Curve, Ink
from experiments.populations import across_games
from experiments.ratings import Pair, Rating, SeatRow, bootstrap, matrix, pairwise, rate, seat_table
from experiments.results import Results
from experiments.tournament import outcomes
from experiments.units import Row

FOLDER, PAGE, REPLAYS = "report", "report.html", "replays"
CONFIG, RESULTS, METRICS, LOOKS = "config.yaml", "results.sqlite", "metrics.jsonl", "evaluations.jsonl"
COMMANDS = {"tournament": "tournament", "evaluate": "evaluate", "ppo": "train", "az": "train"}  # by kind of run
REMARKABLE = 3  # games of each sort that are linked
SAMPLE = 60  # games that are played again to see what agents do
LEAST_SAMPLE = 4  # of each table, however many tables there are


class BadRun(AirenvError):
    """A folder that is no run, or a run that nothing can be told of."""


# -- what a folder holds ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Learning:
    """A run of learning: its looks at itself, and what its updates reported."""

    folder: Path
    config: Mapping[str, Any]
    looks: Sequence[Mapping[str, Any]]
    metrics: Sequence[Mapping[str, Any]]

    @property
    def name(self) -> str:
        return str(self.config.get("name", self.folder.name))

    @property
    def curves(self) -> list[Curve]:
        """The scores of all looks, by opponent and number of players."""
        found: dict[tuple[int, str], list[tuple[float, ...]]] = defaultdict(list)
        for look in self.looks:
            for score in look["scores"]:
                row = (look["decisions"], score["share"], score["low"], score["high"])
                found[score["players"], score["field"]].append(row)
        return [Curve(field, players, *zip(*rows, strict=True)) for (players, field), rows in found.items()]

    @property
    def losses(self) -> dict[str, list[float]]:
        """What the updates reported of their losses; entropy is kept there with its sign turned."""
        names = dict.fromkeys(key for row in self.metrics for key in row if key.endswith("loss"))
        found = {key.replace("_", " "): [float(row.get(key, np.nan)) for row in self.metrics] for key in sorted(names)}
        if "entropy loss" in found:
            found = {"entropy": [-value for value in found.pop("entropy loss")], **found}
        return found


@dataclass(frozen=True)
class Run:
    """All that a report is made of."""

    folder: Path
    config: Mapping[str, Any]
    versions: Mapping[str, str]
    rows: Sequence[Row]
    alarms: int
    learning: Sequence[Learning]
    missing: Sequence[Path]  # runs of learning the configuration names that are not there

    @property
    def name(self) -> str:
        return str(self.config.get("name", self.folder.resolve().name))

    @property
    def anchor(self) -> str:
        return str(self.config.get("anchor", "random"))


def read_run(folder: Path) -> Run:
    """A run's folder; a BadRun says what it lacks."""
    if not folder.is_dir():
        raise BadRun(f"there is no folder {folder}")
    holds = [name for name in (CONFIG, RESULTS, METRICS, LOOKS) if (folder / name).exists()]
    if not holds:
        raise BadRun(f"{folder} is no run: it holds none of {CONFIG}, {RESULTS}, {METRICS} and {LOOKS}")
    config = read_yaml(folder / CONFIG) if CONFIG in holds else {}
    rows, alarms = _games(folder, config)
    named = [Path(str(path)) for path in config.get("learning") or []]
    learning = [found for path in (folder, *named) if (found := _learning(path))]
    if not rows and not learning:
        name = config.get("name", folder.name)
        raise BadRun(f"{folder} has nothing to report yet: no game of {name} was played, and nothing was learned")
    versions = _read_json(folder / "versions.json") if (folder / "versions.json").exists() else {}
    missing = [path for path in named if path not in [found.folder for found in learning]]
    return Run(folder, config, versions, rows, alarms, learning, missing)


def _games(folder: Path, config: Mapping[str, Any]) -> tuple[list[Row], int]:
    """The games of a run, and how many of its file did not repeat; several runs may share a file."""
    path = Path(str(config["results"])) if config.get("results") else folder / RESULTS
    if not path.exists():
        return [], 0
    with Results(path, create=False) as results:
        return list(results.rows(run_of(config) if "name" in config else None)), results.alarms()


def _learning(folder: Path) -> Learning | None:
    looks, metrics = _json_lines(folder / LOOKS), _json_lines(folder / METRICS)
    if not looks and not metrics:
        return None
    config = read_yaml(folder / CONFIG) if (folder / CONFIG).exists() else {}
    return Learning(folder, config, looks, metrics)


def _json_lines(path: Path) -> list[dict[str, Any]]:
    """The rows of a file, if it is there; the last one may be cut short where a run was killed, and is left out."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    found = []
    for number, line in enumerate(lines, 1):
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError as error:
            if number < len(lines):
                raise BadRun(f"{path}, line {number}: {error}") from None
    return found


def _read_json(path: Path) -> dict[str, str]:
    try:
        return {str(key): str(value) for key, value in json.loads(path.read_text(encoding="utf-8")).items()}
    except (ValueError, AttributeError) as error:
        raise BadRun(f"{path} cannot be read: {error}") from None


# -- what there is to say of it ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Table:
    """The games played with the same game, number of players and options."""

    game: str
    title: str
    slug: str
    rows: Sequence[Row]

    @property
    def sound(self) -> list[Row]:
        """Those that no agent's fault cut short."""
        return [row for row in self.rows if not any(row.errors)]


def tables_of(rows: Sequence[Row]) -> list[Table]:
    found: dict[tuple[str, int, str], list[Row]] = defaultdict(list)
    for row in rows:
        others = ", ".join(f"{key} {value}" for key, value in sorted(row.options.items()) if key != "players")
        found[row.game, row.players, others].append(row)
    return [
        Table(game, ", ".join(filter(None, [title_of(game), f"{players} players", others])), slug, same)
        for (game, players, others), same in sorted(found.items())
        if (slug := pages.slug(f"{game} {players} {others}"))
    ]


def title_of(game: str) -> str:
    """A game's title, or its name where it is not installed."""
    return airenv.facts(game).title if game in airenv.game_names() else game


def remarkable(rows: Sequence[Row]) -> tuple[str, list[Row], list[Row]]:
    """What games are compared by, the closest and the most lopsided of them, never the same in both.

    By the winner's lead in score; where it is always the same, a long game is close and a short one lopsided.
    """
    leads = [_lead(row) for row in rows]
    by_lead = len(set(leads)) > 1
    keys = {row.unit: (lead if by_lead else 0.0, -sum(row.decisions)) for row, lead in zip(rows, leads, strict=True)}
    ordered = sorted(rows, key=lambda row: (keys[row.unit], row.unit))
    number = min(REMARKABLE, len(ordered) // 2) or len(ordered)
    return "lead" if by_lead else "length", ordered[:number], ordered[number:][: -number - 1 : -1]


def _lead(row: Row) -> float:
    best, *others = sorted(row.scores, reverse=True)
    return round(best - others[0], 9) if others else 0.0


def usage(rows: Sequence[Row], limit: int) -> tuple[dict[str, Counter[str]], int]:
    """How often each agent chose each kind of action in some games, and how many of them cannot be played again."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    failed = 0
    for row in rows[:limit]:  # ordered by their hashes, so any part of them is a fair one
        try:
            replay = Replay.model_validate_json(row.replay)
            steps = zip(positions(replay), replay.actions, strict=False)  # there is one more position than actions
            chosen = [(game.player(state), game.action_kind(action)) for (game, state), action in steps]
        except ValueError:  # of other rules, of a game that is not installed, or no replay at all
            failed += 1
            continue
        for seat, kind in chosen:
            found[row.agents[seat]][kind] += 1
    return found, failed


# -- the parts of the page -----------------------------------------------------------------------------------


@dataclass
class Desk:
    """What the parts of a page share: colours, the files to be written, how many games to play again."""

    folder: Path
    anchor: str
    inks: dict[str, Ink]
    sample: int
    files: dict[str, bytes] = field(default_factory=dict)

    def picture(self, name: str, png: bytes, alt: str, caption: str = "", wide: bool = False) -> Html:
        self.files[f"{name}.png"] = png
        return pages.picture(png, alt, caption, wide)


def table_part(desk: Desk, table: Table) -> Part:
    """All about one game with one number of players."""
    games = outcomes(table.rows)
    fits = bootstrap(games)
    ratings = rate(games, desk.anchor, fits=fits)
    order = [rating.agent for rating in ratings]
    parts = [
        Part("Ladder", _ladder(desk, table.slug, table.title, ratings, True)),
        Part("Pairs", _pairs(desk, table, pairwise(games, fits=fits), order)),
        Part("Seats", _seats(desk, table, seat_table(games))),
    ]
    if table.sound:
        parts += [Part("Length and scores", _distributions(desk, table, order))]
    parts += [Part("Actions", _actions(desk, table, order)), Part("Games to look at", _games_to_look_at(desk, table))]
    told = pages.paragraph(f"{len(table.rows):,} games of {len(order)} agents.")
    return Part(table.title, told, tuple(parts), table.slug)


def _ladder(desk: Desk, slug: str, title: str, ratings: Sequence[Rating], with_scores: bool) -> Html:
    image = plots.ladder(ratings, desk.inks)
    known = desk.anchor in [rating.agent for rating in ratings]
    zero = f"{desk.anchor} stands at 0" if known else "the mean of all agents is 0"
    caption = f"Points as in Elo: {zero}, and 400 more are odds of ten to one."
    shown = desk.picture(f"ladder-{slug}", image, f"Rating ladder with intervals: {title}", caption)
    return pages.joined(shown, pages.ladder_table(ratings, desk.inks, with_scores))


def _pairs(desk: Desk, table: Table, pairs: Sequence[Pair], order: Sequence[str]) -> Html:
    if not pairs:
        return pages.paragraph("No two different agents met.")
    cells = [matrix(pairs, value, order)[1] for value in ("share", "games", "superiority")]
    roomy = len(order) <= plots.ROOMY
    caption = "How often the agent of a row came before the agent of a column, ties half, and in how many games."
    caption += " p: how likely it is the better one." if roomy else ""
    image, alt = plots.heat_map(order, *cells), f"Pairwise shares: {table.title}"
    shown = desk.picture(f"pairs-{table.slug}", image, alt, caption, wide=not roomy)
    told = "The likelihood of superiority is the share of resampled ladders in which the agent stands higher."
    figures = pages.joined(pages.paragraph(told), pages.pair_table(pairs, order, desk.inks))
    return pages.joined(shown, pages.folded("All pairs in figures", figures))


def _seats(desk: Desk, table: Table, rows: Sequence[SeatRow]) -> Html:
    unfair = [f"seat {row.seat}" for row in rows if not row.low <= row.fair <= row.high]
    told = f"Not at a fair share: {', '.join(unfair)}." if unfair else "A fair share is within every seat's interval."
    image = desk.picture(f"seats-{table.slug}", plots.seats(rows), f"Wins by seat: {table.title}")
    return pages.joined(pages.paragraph(told), image, pages.seats_table(rows))


def _distributions(desk: Desk, table: Table, order: Sequence[str]) -> Html:
    """Histograms, over the games that went to their end."""
    decisions = [sum(row.decisions) for row in table.sound]
    scores: dict[str, list[float]] = {agent: [] for agent in order}
    for row in table.sound:
        for agent, score in zip(row.agents, row.scores, strict=True):
            scores[agent].append(score)
    scores = {agent: found for agent, found in scores.items() if found}
    middle = f"Half of the games took {np.median(decisions):,.0f} decisions or fewer; "
    alt = f"Histograms of scores by agent: {table.title}"
    ends = f"the shortest {min(decisions):,}, the longest {max(decisions):,}."
    return pages.joined(
        pages.paragraph(middle + ends),
        desk.picture(f"length-{table.slug}", plots.lengths(decisions), f"Histogram of game lengths: {table.title}"),
        desk.picture(
            f"scores-{table.slug}", plots.scores(scores, desk.inks), alt, "Height: share of the agent's games."
        ),
    )


def _actions(desk: Desk, table: Table, order: Sequence[str]) -> Html:
    counts, failed = usage(table.rows, desk.sample)
    number = min(desk.sample, len(table.rows))
    told = f"What agents did in {number - failed:,} of the games, played again from their replays."
    told += f" {failed:,} others could not be played again with the rules as they are now." if failed else ""
    totals = {agent: counts[agent].total() for agent in order if agent in counts}
    if not totals:
        return pages.paragraph(told)
    kinds = [kind for kind, _ in sum(counts.values(), Counter[str]()).most_common()]
    shares = {agent: {kind: counts[agent][kind] / total for kind in kinds} for agent, total in totals.items()}
    alt = f"Kinds of actions by agent: {table.title}"
    shown = desk.picture(f"actions-{table.slug}", plots.actions(shares, desk.inks), alt)
    figures = pages.folded("The same in figures", pages.usage_table(shares, totals, desk.inks))
    return pages.joined(pages.paragraph(told), shown, figures)


def _games_to_look_at(desk: Desk, table: Table) -> Html:
    """Replays of the closest and the most lopsided games, and how one of them ended."""
    how, closest, lopsided = remarkable(table.sound)
    named = [("closest", n, row) for n, row in enumerate(closest, 1)]
    named += [("lopsided", n, row) for n, row in enumerate(lopsided, 1)]
    if not named:
        return pages.paragraph("Every game was cut short by an agent's fault.")
    rows, drawn = [], Html("")
    for sort, number, row in named:
        ended = _ended(row)
        if ended and not drawn:
            who = ", ".join(row.agents)
            caption = f"How the closest game ended, all hands shown. By seat: {who}."
            drawn = pages.drawing(ended[0].svg(ended[1], None), f"The table at its end: {who}", caption, table.slug)
        where = _keep_replay(desk, f"{table.slug}-{sort}-{number}", row) if ended else "cannot be played again"
        players = Html("<br>").join(pages.agent(agent, desk.inks) for agent in row.agents)
        scores = Html("<br>").join(f"{score:g}" for score in row.scores)
        rows.append([sort, Html(players), Html(scores), f"{sum(row.decisions):,}", str(row.deal), where])
    by = "the winner's lead in score" if how == "lead" else "their length, since the winner's lead is always the same"
    columns = ["game", "agents by seat", "scores", "decisions", "deal", "replay"]
    listed = pages.table("games to look at", columns, rows, words=(0, 1, 5))
    return pages.joined(pages.paragraph(f"The closest and the most lopsided games, by {by}."), listed, drawn)


def _ended(row: Row) -> tuple[Game, np.ndarray] | None:
    """The verified end of a game, or None where it cannot be played again."""
    try:
        return final_state(Replay.model_validate_json(row.replay))
    except ValueError:
        return None


def _keep_replay(desk: Desk, name: str, row: Row) -> Html:
    """Put a replay among the files; returns a link to it and the command that tells it."""
    file = f"{REPLAYS}/{name}.json"
    desk.files[file] = (row.replay + "\n").encode()
    command = f"airenv replay {shlex.quote(str(desk.folder / FOLDER / file))}"
    return Html(f"{pages.link(file, f'{name}.json')}<br>{pages.code(command)}")


def all_part(desk: Desk, tables: Sequence[Table], ratings: Sequence[Rating]) -> Part:
    """The ladder over all tables, and what they say together where ratings cannot be averaged."""
    several = len({table.game for table in tables}) > 1
    voters: dict[str, list[Row]] = defaultdict(list)
    for table in tables:
        voters[title_of(table.game) if several else table.title] += table.rows
    ladder = _ladder(desk, "all", "all games", ratings, not several)
    found, reason = across_games({name: outcomes(rows) for name, rows in voters.items()})
    told = (
        f"Each {'game' if several else 'table'} votes on every two agents. The maximal lottery is the mixture that no "
        "agent beats by a majority of these votes; alpha-rank is how much of the time a population would play each "
        "agent if one that does better takes over. All on one agent: it is the best whichever way one looks."
        if found
        else f"There is no lottery and no alpha-rank: {reason}."
    )
    verdict = pages.joined(pages.paragraph(told), pages.chances_table(found, desk.inks) if found else "")
    parts = (Part("Ladder", ladder), Part("Lottery and alpha-rank", verdict))
    return Part("All tables together", Html(""), parts, "all")


def learning_part(desk: Desk, learning: Learning, number: int) -> Part:
    """How a network learned."""
    config, rows, slug, shown = learning.config, learning.metrics or learning.looks, f"learning-{number}", []
    known = {"game": title_of(str(config["game"])) if "game" in config else "", "kind": config.get("kind", "")}
    known |= {"decisions": f"{rows[-1]['decisions']:,}", "folder": pages.code(learning.folder)}
    if "seconds" in rows[-1]:
        known["minutes of learning"] = f"{rows[-1]['seconds'] / 60:.1f}"
    if curves := learning.curves:
        alt = f"Wins over decisions learned from: {learning.name}"
        caption = "Matches on the same deals at every look; the bands are 95% intervals."
        shown.append(desk.picture(slug, plots.learning(curves, desk.inks), alt, caption))
    if losses := learning.losses:
        decisions = [row["decisions"] for row in learning.metrics]
        alt = f"Losses over decisions learned from: {learning.name}"
        shown.append(desk.picture(f"{slug}-losses", plots.losses(decisions, losses), alt))
    facts = pages.facts({name: value for name, value in known.items() if value != ""})
    return Part(f"Learning: {learning.name}", pages.joined(facts, *shown), anchor=slug)


def errors_part(desk: Desk, rows: Sequence[Row]) -> Part:
    """Who lost games by a fault, which, and what it said."""
    counts: Counter[tuple[str, str, str, str]] = Counter()
    for row in rows:
        for agent, error in zip(row.agents, row.errors, strict=True):
            if error:
                counts[agent, error, title_of(row.game), row.message] += 1
    if not counts:
        return Part("Errors", pages.paragraph("No agent crashed, made an illegal move or ran out of time."))
    told = pages.paragraph("An agent that crashes, makes an illegal move or runs out of time has lost that game.")
    return Part("Errors", pages.joined(told, pages.errors_table(counts, desk.inks)))


def about_part(run: Run) -> Part:
    """What it takes to make the run again."""
    shown: list[Html] = []
    if run.versions:
        rows = [[pages.code(name), version] for name, version in run.versions.items()]
        shown.append(pages.table("versions", ["package", "version"], rows, words=(0, 1)))
    if run.alarms:
        told = f"{run.alarms:,} games of the results must repeat exactly and did not: see the table alarms in them."
        shown.append(pages.paragraph(told))
    if run.missing:
        names = ", ".join(map(str, run.missing))
        shown.append(pages.paragraph(f"The configuration names runs of learning that hold nothing to show: {names}."))
    if run.config:
        text = yaml.safe_dump(dict(run.config), sort_keys=False, allow_unicode=True)
        shown.append(pages.folded("The configuration", pages.block(text, "configuration")))
    return Part("About this run", pages.joined(*shown))


def repeat_command(run: Run) -> str:
    """The command that makes the run again, under another name since this one is taken."""
    kind = str(run.config.get("kind", "tournament" if run.rows else "ppo"))
    words = ["airenv", COMMANDS.get(kind, kind), str(run.folder / CONFIG), f"name={run.name}-again"]
    return shlex.join([*words, *(["results=null"] if run.config.get("results") else [])])


def top(run: Run, ratings: Sequence[Rating]) -> Html:
    """The first lines: who leads, and the facts."""
    known: dict[str, object] = {"report written": f"{datetime.now().astimezone():%d %B %Y, %H:%M %Z}"}
    lead = Html("")
    if ratings:
        best = ratings[0]
        words = f"leads with {pages.points(best.rating)} points (95%: {pages.span(best.low, best.high, pages.points)}),"
        number = f"{len(run.rows):,} games, {len(ratings)} agents."
        lead = pages.paragraph(pages.code(best.agent), words, number, kind="lead")
        known |= {"games": f"{len(run.rows):,}", "decisions": f"{sum(sum(row.decisions) for row in run.rows):,}"}
    if "airenv" in run.versions:
        known["airenv"] = f"{run.versions['airenv']}, commit {run.versions.get('git', 'unknown')[:12]}"
    if run.config:
        known["to repeat it"] = pages.code(repeat_command(run))
    return pages.joined(lead, pages.facts(known))


# -- the whole of it -------------------------------------------------------------------------------------------


def write_report(console: Console, run: Path) -> Path:
    """Write the report of a run's folder into it; returns the page."""
    page, files = compose(console, read_run(run))
    folder = run / FOLDER
    for name, data in files.items():
        write_bytes(folder / name, data)
    write_text(folder / PAGE, page)
    for old in (*folder.glob("*.png"), *(folder / REPLAYS).glob("*.json")):  # of an earlier report
        if old.relative_to(folder).as_posix() not in files:
            old.unlink()
    return folder / PAGE


def compose(console: Console, run: Run) -> tuple[str, dict[str, bytes]]:
    """The page, and the files that belong beside it by name."""
    tables = tables_of(run.rows)
    ratings = rate(outcomes(run.rows), run.anchor) if run.rows else []
    opponents = [curve.opponent for learning in run.learning for curve in learning.curves]
    inks = plots.inks([*(rating.agent for rating in ratings), *opponents])
    desk = Desk(run.folder, run.anchor, inks, max(SAMPLE // max(len(tables), 1), LEAST_SAMPLE))
    parts = [all_part(desk, tables, ratings)] if len(tables) > 1 else []
    with console.status("the report is being written") as status:
        for table in tables:
            status.update(f"{table.title}, {len(table.rows):,} games")
            parts.append(table_part(desk, table))
        parts += [learning_part(desk, learning, number) for number, learning in enumerate(run.learning, 1)]
    parts += [errors_part(desk, run.rows)] if run.rows else []
    parts.append(about_part(run))
    return pages.page(f"airenv: {run.name}", top(run, ratings), parts), desk.files
