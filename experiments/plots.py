"""The figures of a report, as PNG: plain axes, colours that colour-blind readers tell apart, one colour an agent.

Figures are narrow, so that their words can still be read on a telephone.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec

import matplotlib
import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator, PercentFormatter

from experiments.ratings import Rating, SeatRow

P = ParamSpec("P")

WIDTH = 5.2  # inches; with the dots below, as wide as the text of the page
DOTS = 200
LONGEST_NAME = 26
ROOMY = 9  # agents of a heat map whose cells hold all there is to say
# Okabe and Ito's colours without the two that vanish on white or look like text, then some of Tol's
COLOURS = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"),
    *("#332288", "#882255", "#999933", "#117733", "#7F7F7F"),
)
MARKERS = "osD^vP"  # the next one whenever the colours are used up
INK, FAINT = "#2b3440", "#8b949e"
HEAT = LinearSegmentedColormap.from_list("shares", ["#D55E00", "#f6f6f4", "#0072B2"])
STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 10.0,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "axes.titlecolor": INK,
    "figure.constrained_layout.h_pad": 0.1,
    "figure.constrained_layout.w_pad": 0.12,
    "grid.color": "#e3e6e9",
    "legend.frameon": False,
    "legend.fontsize": 9.0,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


@dataclass(frozen=True)
class Ink:
    """How an agent is drawn, in every figure and beside its name."""

    colour: str
    marker: str


Inks = Mapping[str, Ink]


@dataclass(frozen=True)
class Curve:
    """Shares of wins against one opponent over the decisions learned from, with 95% intervals."""

    opponent: str
    players: int
    decisions: Sequence[float]
    shares: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]


def inks(agents: Iterable[str]) -> dict[str, Ink]:
    """A colour for each agent, in the order given; after the last colour they begin again with another marker."""
    found: dict[str, Ink] = {}
    for agent in agents:
        turn, place = divmod(len(found), len(COLOURS))
        found.setdefault(agent, Ink(COLOURS[place], MARKERS[turn % len(MARKERS)]))
    return found


def short(name: str) -> str:
    """A name that fits beside an axis, taken as it is: a dollar sign begins no formula."""
    name = " ".join(name.split())
    if len(name) > LONGEST_NAME:
        half = LONGEST_NAME // 2 - 1
        name = f"{name[:half]}…{name[-half:]}"
    return name.replace("$", r"\$")


def _drawn(draw: Callable[P, Figure]) -> Callable[P, bytes]:
    """Let a function that draws a figure return it as a PNG."""

    @wraps(draw)
    def picture(*args: P.args, **kwargs: P.kwargs) -> bytes:
        out = io.BytesIO()
        with matplotlib.rc_context(STYLE):
            draw(*args, **kwargs).savefig(out, format="png", dpi=DOTS)
        return out.getvalue()

    return picture


def _figure(height: float, rows: int = 1, width: float = WIDTH) -> tuple[Figure, list[Any]]:
    """A figure of some axes under each other with the same scale along the bottom."""
    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    return figure, list(figure.subplots(rows, 1, sharex=True, squeeze=False)[:, 0])


def _name_rows(axes: Any, names: Sequence[str]) -> None:
    """Names down the left side, the first on top."""
    axes.set_yticks(range(len(names)), [short(name) for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x")


@_drawn
def ladder(ratings: Sequence[Rating], inks: Inks) -> Figure:
    """Ratings with their intervals, best on top."""
    figure, (axes,) = _figure(0.34 * len(ratings) + 0.9)
    axes.axvline(0.0, color=FAINT, linestyle=":")
    for row, r in enumerate(ratings):
        ink = inks[r.agent]
        axes.plot([r.low, r.high], [row, row], color=ink.colour, linewidth=2.5, alpha=0.55, solid_capstyle="butt")
        axes.plot(r.rating, row, ink.marker, color=ink.colour, markersize=8)
    _name_rows(axes, [r.agent for r in ratings])
    axes.set_xlabel("rating in points, with 95% interval")
    return figure


@_drawn
def heat_map(names: Sequence[str], shares: np.ndarray, games: np.ndarray, superiority: np.ndarray) -> Figure:
    """How often each agent of a row came before each of a column; cells hold as many figures as have room."""
    number = len(names)
    cell = 0.9 if number <= 4 else 0.66 if number <= ROOMY else 0.5
    room = 0.085 * max(len(short(name)) for name in names) + 0.3
    figure, (axes,) = _figure(cell * number + 0.75 * room, width=max(WIDTH, cell * number + room))
    axes.imshow(shares, cmap=HEAT, vmin=0, vmax=1, aspect="equal")
    for row, column in np.argwhere(~np.isnan(shares)):
        lines = [f"{shares[row, column]:.0%}", f"{games[row, column]:.0f}" + (" games" if number <= ROOMY else "")]
        lines += [f"p {superiority[row, column]:.2f}"] if number <= ROOMY else []
        dark = abs(shares[row, column] - 0.5) > 0.36
        size = 8.5 if number <= 4 else 7.0
        colour = "white" if dark else INK
        axes.text(column, row, "\n".join(lines), ha="center", va="center", fontsize=size, color=colour)
    labels = [short(name) for name in names]
    axes.set_xticks(range(number), labels, rotation=40, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(number), labels)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    return figure


@_drawn
def seats(rows: Sequence[SeatRow]) -> Figure:
    """What each seat won, beside what is fair."""
    figure, (axes,) = _figure(0.34 * len(rows) + 0.9)
    for place, row in enumerate(rows):
        axes.plot([row.fair, row.fair], [place - 0.5, place + 0.5], color=FAINT, linestyle=":")
        axes.plot([row.low, row.high], [place, place], color=INK, linewidth=2.5, alpha=0.45, solid_capstyle="butt")
        axes.plot(row.wins, place, "o", color=INK, markersize=8)
    _name_rows(axes, [f"seat {row.seat}" for row in rows])
    axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.set_xlim(left=0.0)
    axes.set_xlabel("wins, with 95% interval (dotted: a fair share)")
    return figure


@_drawn
def lengths(decisions: Sequence[int]) -> Figure:
    """How long games were."""
    figure, (axes,) = _figure(2.3)
    axes.hist(decisions, bins=_bins(decisions), color=FAINT, edgecolor="white", linewidth=0.6)
    axes.axvline(float(np.median(decisions)), color=INK, linestyle=":")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(axis="y")
    axes.set_xlabel("decisions in a game (dotted: the median)")
    axes.set_ylabel("games")
    return figure


@_drawn
def scores(by_agent: Mapping[str, Sequence[float]], inks: Inks) -> Figure:
    """A histogram of final scores for each agent, all on one scale."""
    figure, rows = _figure(0.62 * len(by_agent) + 0.7, len(by_agent))
    bins = _bins([score for found in by_agent.values() for score in found])
    for axes, (agent, found) in zip(rows, by_agent.items(), strict=True):
        weights = np.full(len(found), 1 / len(found))
        axes.hist(found, bins=bins, weights=weights, color=inks[agent].colour, edgecolor="white", linewidth=0.6)
        axes.axvline(float(np.mean(found)), color=INK, linestyle=":")
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.set_ylabel(short(agent), rotation=0, ha="right", va="center")
    rows[-1].xaxis.set_major_locator(MaxNLocator(integer=_whole(bins[:-1] + 0.5)))
    rows[-1].set_xlabel("score (dotted: the mean)")
    return figure


def _bins(values: Sequence[float]) -> np.ndarray:
    """Edges of at most 30 bins; whole numbers get a bin each, or each some."""
    found = np.asarray(values, dtype=np.float64)
    low, high = float(found.min()), float(found.max())
    if _whole(found):
        step = max(1.0, np.ceil((high - low + 1) / 30))
        return np.arange(low - 0.5, high + step, step)
    return np.linspace(low, high if high > low else low + 1, 31)


def _whole(values: np.ndarray) -> bool:
    return np.array_equal(values, np.round(values))


@_drawn
def actions(usage: Mapping[str, Mapping[str, float]], inks: Inks) -> Figure:
    """The share of each agent's decisions by kind of action: a row a kind, a mark an agent."""
    kinds = list(dict.fromkeys(kind for shares in usage.values() for kind in shares))
    figure, (axes,) = _figure(0.42 * len(kinds) + 0.28 * -(-len(usage) // 2) + 0.9)
    spread = np.linspace(-0.24, 0.24, len(usage)) if len(usage) > 1 else [0.0]
    for offset, (agent, shares) in zip(spread, usage.items(), strict=True):
        ink = inks[agent]
        places = np.arange(len(kinds)) + offset
        values = [shares.get(kind, 0.0) for kind in kinds]
        axes.plot(values, places, ink.marker, color=ink.colour, markersize=6, alpha=0.9, label=short(agent))
    _name_rows(axes, kinds)
    axes.set_yticks(np.arange(len(kinds) - 1) + 0.5, minor=True)
    axes.grid(axis="y", which="minor")
    axes.tick_params(axis="y", which="minor", length=0)
    axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.set_xlim(left=min(0.0, axes.get_xlim()[0]))
    axes.set_xlabel("share of the agent's decisions")
    figure.legend(loc="outside upper center", ncols=2)
    return figure


@_drawn
def learning(curves: Sequence[Curve], inks: Inks) -> Figure:
    """Wins against fixed opponents as a network learned, one axes a number of players."""
    counts = sorted({curve.players for curve in curves})
    figure, rows = _figure(1.9 * len(counts) + 0.8, len(counts))
    for axes, players in zip(rows, counts, strict=True):
        for curve in (c for c in curves if c.players == players):
            ink = inks[curve.opponent]
            axes.fill_between(curve.decisions, curve.low, curve.high, color=ink.colour, alpha=0.15, linewidth=0)
            label = f"against {short(curve.opponent)}"
            axes.plot(curve.decisions, curve.shares, color=ink.colour, marker=ink.marker, markersize=4, label=label)
        axes.axhline(1 / players, color=FAINT, linestyle=":")
        axes.set_ylim(-0.02, 1.02)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        axes.grid(axis="y")
        axes.set_title(f"{players} players (dotted: a fair share)")
    handles, labels = rows[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2)
    _label_decisions(rows[-1])
    return figure


@_drawn
def losses(decisions: Sequence[float], series: Mapping[str, Sequence[float]]) -> Figure:
    """What an update reported of itself, one axes a quantity."""
    figure, rows = _figure(1.25 * len(series) + 0.5, len(series))
    for axes, (name, values) in zip(rows, series.items(), strict=True):
        axes.plot(decisions, values, color=INK, linewidth=1.2)
        axes.set_title(name)
        axes.grid(axis="y")
        axes.yaxis.set_major_locator(MaxNLocator(4))
    _label_decisions(rows[-1])
    return figure


def _label_decisions(axes: Any) -> None:
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.set_xlabel("decisions learned from")
