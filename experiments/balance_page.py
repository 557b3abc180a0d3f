"""How the balance of a game is shown: tables in the terminal, a page in Markdown, pictures, figures in JSON."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from airenv.core.files import write_bytes, write_text
from experiments.balance import DOMINANT, DOUBT, OFTEN, UNUSED, ActionFigures, Balance, Column, Figures, Spread

Rows: TypeAlias = list[tuple[str, list[str]]]  # what is told, and a cell for each agent

NAMED = 12  # actions that a list names
VERDICTS = ("dominant", "never used")
BINS = 40
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#999999")  # Okabe and Ito
NOTES = (
    "Each column is a table full of that agent, and all of them play the same deals.",
    "Wins have 95% intervals; a shared win counts in equal parts.",
    f"A seat is called better or worse if chance would bring any seat of these tables as far from a fair share in less "
    f"than {DOUBT:.0%} of runs where all seats are alike; p is that chance for the seat furthest off.",
    f"Of the actions that were legal beside others at least {OFTEN} times, dominant are those then taken in more than "
    f"{DOMINANT:.0%}, never used those taken in less than {UNUSED:.1%} and in less than a tenth of an even share.",
)


# -- words -----------------------------------------------------------------------------------------


def number(value: float) -> str:
    """Short, and as exact as it matters."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.1f}" if abs(value) >= 10 else f"{value:,.2f}"


def mean_cell(spread: Spread) -> str:
    return f"{number(spread.mean)} (sd {number(spread.sd)})"


def three_cell(spread: Spread) -> str:
    return " / ".join(map(number, (spread.low, spread.median, spread.high)))


def seat_cell(seat: int, figures: Figures) -> str:
    found = figures.seats[seat]
    return f"{found.wins:.1%} ({100 * found.low:.1f}-{100 * found.high:.1f})"


def chance_cell(figures: Figures) -> str:
    return f"{min(seat.chance for seat in figures.seats):.2g}"


def kind_cell(kind: str, figures: Figures) -> str:
    return f"{figures.kinds[kind] / max(figures.decisions, 1):.1%}"


def errors_cell(column: Column) -> str:
    return ", ".join(f"{count} {fault}" for fault, count in column.errors.items()) or "none"


def sections(columns: Sequence[Column]) -> list[Rows]:
    """The figures of a number of players, in the order of a designer's questions."""

    def row(label: str, cell: Callable[[Figures], str]) -> tuple[str, list[str]]:
        return label, ["-" if column.figures is None else cell(column.figures) for column in columns]

    kinds = next((list(column.figures.kinds) for column in columns if column.figures), [])
    return [
        [row("whole games", lambda f: f"{f.games:,}"), ("ended by errors", [errors_cell(c) for c in columns])],
        [
            row("decisions a game", lambda f: mean_cell(f.length)),
            row("decisions: 5 / 50 / 95%", lambda f: three_cell(f.length)),
            row("decisions a player", lambda f: number(f.decisions_a_player)),
            row("games cut off", lambda f: f"{f.cut_off:.1%}"),
        ],
        [
            *(row(f"seat {seat} wins", partial(seat_cell, seat)) for seat in range(columns[0].players)),
            row("seats", lambda f: f.verdict),
            row("seats: p", chance_cell),
        ],
        [
            row("score", lambda f: mean_cell(f.score)),
            row("score: 5 / 50 / 95%", lambda f: three_cell(f.score)),
            row("winning margin", lambda f: mean_cell(f.margin)),
            row("margin: 5 / 50 / 95%", lambda f: three_cell(f.margin)),
            row("draws", lambda f: f"{f.draws:.1%}"),
        ],
        [
            row("legal actions", lambda f: number(f.legal)),
            row("forced decisions", lambda f: f"{f.forced:.1%}"),
            *(row(f"{verdict} actions", partial(_how_many, verdict)) for verdict in VERDICTS),
            row("never legal actions", lambda f: f"{f.never_legal} of {len(f.actions)}"),
        ],
        [row(f"made: {kind}", partial(kind_cell, kind)) for kind in kinds],
    ]


def _how_many(verdict: str, figures: Figures) -> str:
    return str(len(figures.called(verdict)))


def heading(found: Balance, players: int) -> str:
    return (
        f"{found.title}, {players} players: {found.games:,} games an agent, a fair share of wins is {1 / players:.1%}"
    )


def listed(actions: Sequence[ActionFigures]) -> str:
    """The first actions of a list by name, and how many more there are."""
    named = [f"{action.name} ({action.taken:,} of {action.offered:,})" for action in actions[:NAMED]]
    more = len(actions) - len(named)
    return ", ".join(named) + (f" and {more} more" if more else "")


def remarks(column: Column) -> Iterator[tuple[str, str]]:
    """What is told of an agent below its table: lists of actions, the first error."""
    for verdict in VERDICTS:
        if column.figures and (actions := column.figures.called(verdict)):
            yield verdict, listed(actions)
    if column.message:
        yield "first error", column.message


# -- the terminal ----------------------------------------------------------------------------------


def show(console: Console, found: Balance) -> None:
    """A table for each number of players, and below it the actions worth a look."""
    for players, columns in found.tables().items():
        console.print(as_table(found, players, columns))
        for column in columns:
            for what, told in remarks(column):
                console.print(Text(f"{column.agent}, {what}: {told}"))
        console.print()
    for note in NOTES:
        console.print(Text(note, style="dim"))


def as_table(found: Balance, players: int, columns: Sequence[Column]) -> Table:
    table = Table(title=Text(heading(found, players)))
    table.add_column("")
    for column in columns:
        table.add_column(Text(column.agent), justify="right", overflow="fold")
    for rows in sections(columns):
        for label, cells in rows:
            table.add_row(Text(label), *map(Text, cells))
        table.add_section()
    return table


# -- files -----------------------------------------------------------------------------------------


def write(found: Balance, folder: Path) -> Path:
    """Write the figures, the pictures and last the page that shows them; returns where the page is."""
    write_text(folder / "balance.json", json.dumps(asdict(found), indent=2) + "\n")
    for name, (_, picture) in PICTURES.items():
        write_bytes(folder / name, picture(found))
    write_text(folder / "balance.md", page(found))
    return folder / "balance.md"


def page(found: Balance) -> str:
    """The same as the terminal shows, as Markdown with pictures."""
    lines = [f"# {found.title}: balance", "", f"Made by `{found.command}`.", "", *NOTES, ""]
    for players, columns in found.tables().items():
        lines += [f"## {heading(found, players)}", "", *_markdown_table(columns), ""]
        told = [f"- {_code(c.agent)}, {what}: {_plain(text)}" for c in columns for what, text in remarks(c)]
        lines += [*told, ""] if told else []
    lines += ["## Pictures", ""]
    for name, (title, _) in PICTURES.items():
        lines += [f"![{title}]({name})", ""]
    return "\n".join(lines)


def _markdown_table(columns: Sequence[Column]) -> list[str]:
    rows = [("", [_code(column.agent) for column in columns]), ("---", ["---:" for _ in columns])]
    rows += [(_plain(label), cells) for section in sections(columns) for label, cells in section]
    return [f"| {' | '.join([label, *cells])} |" for label, cells in rows]


def _plain(text: str) -> str:
    """A text that Markdown takes as it is, on one line."""
    for mark in "\\|*_<`[":
        text = text.replace(mark, f"\\{mark}")
    return " ".join(text.split())


def _code(text: str) -> str:
    return f"`{text.replace('|', chr(92) + '|')}`"


# -- pictures --------------------------------------------------------------------------------------


def _panels(found: Balance, title: str, height: float) -> tuple[Any, dict[int, Any]]:
    """A figure, with a panel for each number of players."""
    from matplotlib.figure import Figure

    tables = list(found.tables())
    figure = Figure(figsize=(7.2, height * len(tables) + 1.0), layout="constrained")
    figure.suptitle(f"{found.title}: {title}")
    panels = figure.subplots(len(tables), 1, squeeze=False)[:, 0]
    for players, axes in zip(tables, panels, strict=True):
        axes.set_title(f"{players} players", fontsize="medium")
    return figure, dict(zip(tables, panels, strict=True))


def _png(figure: Any, legend: Any) -> bytes:
    """The picture, with a legend below it that all panels share."""
    handles, labels = legend.get_legend_handles_labels()
    if labels:
        figure.legend(handles, labels, loc="outside lower center", ncols=min(3, len(labels)), fontsize="small")
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=120)
    return out.getvalue()


def length_picture(found: Balance) -> bytes:
    """How long games are, by agent."""
    figure, panels = _panels(found, "length of a game", 2.2)
    for players, columns in found.tables().items():
        axes = panels[players]
        axes.set(xlabel="decisions", ylabel="share of games")
        known = [length for column in columns if column.figures for length in column.figures.lengths]
        if not known:
            continue
        step = max(1, -(-(max(known) - min(known) + 1) // BINS))  # whole decisions, or bars would differ for no reason
        edges = np.arange(min(known), max(known) + step + 1, step) - 0.5
        for place, column in enumerate(columns):
            if column.figures:
                games = np.array(list(column.figures.lengths.values()))
                style = {"histtype": "step", "linewidth": 1.6, "color": _colour(place), "label": column.agent}
                axes.hist(list(column.figures.lengths), edges, weights=games / games.sum(), **style)
    return _png(figure, _fullest(panels))


def seats_picture(found: Balance) -> bytes:
    """What each seat wins, by agent, beside a fair share."""
    figure, panels = _panels(found, "wins by seat, with 95% intervals", 2.2)
    for players, columns in found.tables().items():
        axes = panels[players]
        axes.axhline(1 / players, color="gray", linestyle=":")
        axes.set(ylabel="share of wins", xlim=(-0.6, players - 0.4))
        axes.set_xticks(range(players), [f"seat {seat}" for seat in range(players)])
        for place, column in enumerate(columns):
            for seat in column.figures.seats if column.figures else ():
                x = seat.seat + 0.6 * ((place + 0.5) / len(columns) - 0.5)
                reach = [[max(0.0, seat.wins - seat.low)], [max(0.0, seat.high - seat.wins)]]
                label = column.agent if seat.seat == 0 else None
                axes.errorbar(x, seat.wins, yerr=reach, fmt="o", capsize=4, color=_colour(place), label=label)
    return _png(figure, _fullest(panels))


def kinds_picture(found: Balance) -> bytes:
    """What sorts of decisions are made, by agent."""
    from matplotlib import colormaps

    figure, panels = _panels(found, "decisions by kind of action", 0.5 + 0.4 * len(found.columns) / len(found.tables()))
    for players, columns in found.tables().items():
        axes = panels[players]
        axes.set(xlim=(0, 1), xlabel="share of decisions")
        axes.set_yticks(range(len(columns)), [column.agent for column in columns])
        axes.invert_yaxis()  # the first agent on top
        whole = [(place, column.figures) for place, column in enumerate(columns) if column.figures]
        left = np.zeros(len(whole))
        for number_of_kind, kind in enumerate(whole[0][1].kinds if whole else ()):
            shares = np.array([figures.kinds[kind] / max(figures.decisions, 1) for _, figures in whole])
            colour = colormaps["tab20"](number_of_kind % 20)
            axes.barh([place for place, _ in whole], shares, left=left, color=colour, label=kind)
            left += shares
    return _png(figure, _fullest(panels))


def _fullest(panels: dict[int, Any]) -> Any:
    """The panel that names most, for the legend: an agent may have failed at some tables."""
    return max(panels.values(), key=lambda axes: len(axes.get_legend_handles_labels()[1]))


def _colour(place: int) -> str:
    return COLOURS[place % len(COLOURS)]


PICTURES: dict[str, tuple[str, Callable[[Balance], bytes]]] = {
    "length.png": ("length of a game by agent", length_picture),
    "seats.png": ("wins by seat with intervals", seats_picture),
    "kinds.png": ("decisions by kind of action", kinds_picture),
}
