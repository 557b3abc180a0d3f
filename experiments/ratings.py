"""Who is how strong: ratings, pairwise shares and seats, from the rankings of many games.

The rating is a Plackett-Luce fit. A game is a ranking of its seats, read from the best place down: at each stage the
next one is chosen from those left, an agent of strength t with a chance proportional to exp(t); an agent in several
seats counts as often. Four things go beyond the textbook:

- Ties. Every order of those who tie counts in part, 1 / m! for each of the m! orders. Those who tie for the last
  place are not compared with each other: the ranking only says who came before them. Where everybody ties it is a
  draw, and every order counts in part.
- Faults. Where a seat lost by its own fault, the game ended there: it says that every other came before that seat,
  one by one, and nothing of the others among themselves.
- A weak prior: strengths are normal about the mean of all agents, with a standard deviation of 1,000 points. It keeps
  an agent that always wins finite. Agents that no game connects are finite as well, but how two such groups compare
  is the prior's word alone: each group lies about the mean of all.
- The order of the games does not matter, nor the anchor: it only says which agent stands at 0.

Points are those of Elo: 400 more are odds of ten to one. Intervals hold 95%, by a bootstrap over deals, since the games
of a deal are not independent; an agent with the same result in every deal gets an interval without width.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from itertools import combinations, groupby
from math import comb, isfinite, log
from typing import Any, TypeAlias

import numpy as np

from airenv.core.errors import BadOption, one_of, positive

Array: TypeAlias = np.ndarray
Groups: TypeAlias = tuple[tuple[int, ...], ...]  # a ranking: the agents of each place, best first
Entry: TypeAlias = tuple[str, int, float]  # a deal, a cell of some table, and 1 for won, 0 for not, or between

POINTS = 400 / log(10)  # of rating, in a unit of strength
PRIOR = 1000.0  # points
CONFIDENCE = 0.95
PRIOR_REACH = 1.96 * PRIOR  # half of the interval of an agent of whom a single deal is known
ERRORS = ("", "crash", "illegal", "timeout")
CLOSE = 1e-7  # of strength: Newton's error after so short a step is about its square
ROUNDS = 100
HALVINGS = 40


@dataclass(frozen=True)
class Outcome:
    """How one game ended, by seat; an agent may sit in several seats."""

    agents: tuple[str, ...]
    ranks: tuple[float, ...]  # 1 is best, ties share the mean of their places: 1, 2.5, 2.5, 4
    scores: tuple[float, ...]
    deal: str  # games of the same deal are not independent
    errors: tuple[str, ...] = ()  # "", or why the seat lost: see ERRORS
    milliseconds: tuple[float, ...] = ()  # spent in all
    decisions: tuple[int, ...] = ()


@dataclass(frozen=True)
class Rating:
    """One agent's row in the table, with 95% intervals."""

    agent: str
    games: int  # seats filled
    rating: float
    low: float
    high: float
    wins: float  # the share of games won, a shared first place in part
    win_low: float
    win_high: float
    fair: float  # the share of wins where all play alike: the mean of 1 / players
    mean_rank: float
    mean_score: float
    ms_per_move: float
    errors: int


@dataclass(frozen=True)
class Pair:
    """How often an agent came before another, and how likely it is the better one."""

    agent: str
    other: str
    games: int  # with both of them
    share: float  # of the comparisons in which the agent ranked before the other, ties half
    low: float
    high: float
    superiority: float  # the share of bootstrap fits that rate the agent higher, ties half


@dataclass(frozen=True)
class SeatRow:
    """What a seat is worth, whoever sits in it."""

    players: int
    seat: int
    games: int
    wins: float
    low: float
    high: float
    fair: float


@dataclass(frozen=True)
class Fits:
    """The strengths that the games give, and those that resampled deals give."""

    agents: tuple[str, ...]
    strengths: Array  # [agents], mean 0
    draws: Array  # [resamples, agents]; not a number where an agent sits in none of the deals drawn
    counts: Array  # [resamples, deals]: how often each deal was drawn
    deals: Array  # [agents]: in how many deals each sat


def rate(
    outcomes: Sequence[Outcome],
    anchor: str = "random",
    resamples: int = 400,
    seed: int = 1,
    fits: Fits | None = None,
) -> list[Rating]:
    """The table, best first, with the anchor at 0, or the mean of all agents if the anchor did not play.

    `fits` saves the bootstrap where one was made already. An agent seen in a single deal gets the widest interval.
    """
    fits = fits or bootstrap(outcomes, resamples, seed)
    ratings, draws = POINTS * fits.strengths, POINTS * fits.draws
    if anchor in fits.agents:
        zero = fits.agents.index(anchor)
        ratings, draws = ratings - ratings[zero], draws - draws[:, [zero]]
    low, high = _interval(draws, ratings)
    lone = (fits.deals < 2) & (np.array(fits.agents) != anchor)
    low[lone], high[lone] = ratings[lone] - PRIOR_REACH, ratings[lone] + PRIOR_REACH
    wins = _won(outcomes, fits)
    totals = _totals(outcomes)
    rows = [
        Rating(agent, rating=float(ratings[i]), low=float(low[i]), high=float(high[i]), **wins[i], **totals[agent])
        for i, agent in enumerate(fits.agents)
    ]
    return sorted(rows, key=lambda row: (-round(row.rating, 6), row.agent))


def pairwise(outcomes: Sequence[Outcome], resamples: int = 400, seed: int = 1, fits: Fits | None = None) -> list[Pair]:
    """Every ordered pair of agents that met in a game."""
    fits = fits or bootstrap(outcomes, resamples, seed)
    games, before = _meetings(outcomes, fits.agents)
    shares = _resampled_shares(before, _deals(outcomes), fits.counts)
    better = _superiority(fits.draws)
    pairs = []
    for i, j in sorted(games):
        share, low, high, _ = shares[i * len(fits.agents) + j]
        pairs.append(Pair(fits.agents[i], fits.agents[j], games[i, j], share, low, high, float(better[i, j])))
    return pairs


def matrix(pairs: Sequence[Pair], value: str = "share", agents: Sequence[str] = ()) -> tuple[list[str], Array]:
    """A heat map's names and cells [agent, other], not a number for those that never met; `agents` gives the order."""
    one_of("value of a pair", value, [field.name for field in fields(Pair)][2:])
    names = list(agents) or sorted({pair.agent for pair in pairs})
    cells = np.full((len(names), len(names)), np.nan)
    for pair in pairs:
        if pair.agent in names and pair.other in names:
            cells[names.index(pair.agent), names.index(pair.other)] = getattr(pair, value)
    return names, cells


def seat_table(outcomes: Sequence[Outcome], resamples: int = 400, seed: int = 1) -> list[SeatRow]:
    """The share of wins of every seat, for each number of players."""
    deals = _checked(outcomes)
    seats = sorted({(len(o.agents), seat) for o in outcomes for seat in range(len(o.agents))})
    place = {seat: i for i, seat in enumerate(seats)}
    entries = [
        (o.deal, place[len(o.agents), seat], won) for o in outcomes for seat, won in enumerate(won_by_seat(o.ranks))
    ]
    counts = _resample(len(deals), positive("the number of resamples", resamples), seed)
    rows = zip(seats, _resampled_shares(entries, deals, counts), strict=True)
    return [
        SeatRow(players, seat, int(games), wins, low, high, 1 / players)
        for (players, seat), (wins, low, high, games) in rows
    ]


def strengths(outcomes: Sequence[Outcome], prior: float | None = PRIOR) -> dict[str, float]:
    """Each agent's strength on the scale of the model, mean 0; `prior` in points, or None for maximum likelihood."""
    _checked(outcomes)
    if prior is not None and not (isfinite(prior) and prior > 0):
        raise BadOption(f"a prior is a positive number of points, or None for none at all, not {prior!r}")
    agents = _agents(outcomes)
    stages = _Stages(outcomes, agents)
    weights, chosen = stages.drawn(np.ones(len(stages.chosen)))
    found = _fit(stages.sets, weights, chosen, _precision(prior), np.zeros(len(agents)))
    return dict(zip(agents, found.tolist(), strict=True))


def bootstrap(outcomes: Sequence[Outcome], resamples: int = 400, seed: int = 1) -> Fits:
    """Fit the games, then as often again with whole deals drawn with replacement, each from the full fit on."""
    deals = _checked(outcomes)
    agents = _agents(outcomes)
    stages = _Stages(outcomes, agents)
    counts = _resample(len(deals), positive("the number of resamples", resamples), seed)
    precision = _precision(PRIOR)
    full = _fit(stages.sets, *stages.drawn(np.ones(len(deals))), precision, np.zeros(len(agents)))
    draws = np.array([_fit(stages.sets, *stages.drawn(row), precision, full) for row in counts])
    place = {deal: i for i, deal in enumerate(deals)}
    present = np.zeros((len(deals), len(agents)))
    for outcome in outcomes:
        present[place[outcome.deal], [agents.index(agent) for agent in outcome.agents]] = 1
    draws[counts @ present == 0] = np.nan
    return Fits(tuple(agents), full, draws, counts, present.sum(0))


def won_by_seat(ranks: Sequence[float]) -> list[float]:
    """Each seat's part of the win, a shared first place in equal parts."""
    best = min(ranks)
    return [1 / ranks.count(best) if rank == best else 0.0 for rank in ranks]


class _Stages:
    """The choices of all games, as little as a fit needs: sets of those left, and how often each agent was chosen.

    Which agent was chosen from which set does not matter to the likelihood, only the two totals do.
    """

    def __init__(self, outcomes: Sequence[Outcome], agents: Sequence[str]) -> None:
        index = {agent: i for i, agent in enumerate(agents)}
        deals = _deals(outcomes)
        place = {deal: i for i, deal in enumerate(deals)}
        self.chosen = np.zeros((len(deals), len(agents)))  # [deals, agents]
        found: dict[tuple[tuple[int, ...], int], float] = defaultdict(float)
        for outcome in outcomes:
            deal = place[outcome.deal]
            for groups in _rankings(outcome, index):
                left, chosen = _stages(groups)
                for members, weight in left:
                    found[members, deal] += weight
                for agent, weight in chosen:
                    self.chosen[deal, agent] += weight
        sets = sorted({members for members, _ in found})
        self.sets = np.zeros((len(sets), len(agents)))  # [sets, agents]: in how many seats each is left
        for row, members in enumerate(sets):
            np.add.at(self.sets[row], list(members), 1.0)
        rows = {members: row for row, members in enumerate(sets)}
        # a sparse matrix [deals, sets] of weights
        self.row = np.array([rows[members] for members, _ in found], dtype=np.int64)
        self.deal = np.array([deal for _, deal in found], dtype=np.int64)
        self.weight = np.array(list(found.values()), dtype=np.float64)

    def drawn(self, counts: Array) -> tuple[Array, Array]:
        """The weight of each set, and of each agent's choices, with each deal counted so often."""
        weights = np.bincount(self.row, self.weight * counts[self.deal], minlength=len(self.sets))
        return weights, counts @ self.chosen


def _rankings(outcome: Outcome, index: Mapping[str, int]) -> list[Groups]:
    """What a game says: one ranking; if somebody lost by a fault, one of two for everybody else."""
    if not any(outcome.errors):
        return [_groups(outcome, index)]
    seats = list(zip((index[agent] for agent in outcome.agents), outcome.errors, strict=True))
    losers = [agent for agent, error in seats if error]
    return [((agent,), (loser,)) for agent, error in seats if not error for loser in losers]


def _groups(outcome: Outcome, index: Mapping[str, int]) -> Groups:
    seats = sorted(zip(outcome.ranks, (index[agent] for agent in outcome.agents), strict=True))
    return tuple(tuple(agent for _, agent in group) for _, group in groupby(seats, key=lambda seat: seat[0]))


@lru_cache(maxsize=1 << 16)
def _stages(groups: Groups) -> tuple[list[tuple[tuple[int, ...], float]], list[tuple[int, float]]]:
    """A ranking's choices: the sets chosen from, and the agents chosen, each with a weight.

    Of the m! orders of a tie, a share of 1 / comb(m, size) passes through each subset of that size.
    """
    left: dict[tuple[int, ...], float] = defaultdict(float)
    chosen: dict[int, float] = defaultdict(float)
    for place, group in enumerate(groups):
        behind = tuple(agent for later in groups[place + 1 :] for agent in later)
        if place and not behind:
            break  # the last place: nobody is left to compare with
        for size in range(1, len(group) + 1):
            weight = 1 / comb(len(group), size)
            for tied in combinations(group, size):
                members = tuple(sorted(tied + behind))
                if members[0] == members[-1]:
                    continue  # one agent in all the seats left: certain, whatever its strength
                left[members] += weight
                for agent in tied:
                    chosen[agent] += weight / size
    return list(left.items()), list(chosen.items())


def _fit(sets: Array, weights: Array, chosen: Array, precision: float, start: Array) -> Array:
    """The most likely strengths, by Newton's method; the likelihood is concave, so there is one answer."""
    strength = start
    value = _likelihood(sets, weights, chosen, precision, strength)
    for _ in range(ROUNDS):
        step = _newton_step(sets, weights, chosen, precision, strength)
        if np.abs(step).max() < CLOSE:
            found = strength + step
            return found - found.mean()
        for _ in range(HALVINGS):
            better = _likelihood(sets, weights, chosen, precision, strength + step)
            if better >= value - 1e-12 * abs(value):
                break
            step = step / 2
        strength, value = strength + step, better
    raise _boundless()


def _likelihood(sets: Array, weights: Array, chosen: Array, precision: float, strength: Array) -> float:
    odds = weights @ np.log(sets @ np.exp(strength))
    return float(chosen @ strength - odds - precision / 2 * (strength @ strength))


def _newton_step(sets: Array, weights: Array, chosen: Array, precision: float, strength: Array) -> Array:
    odds = sets * np.exp(strength)
    odds /= odds.sum(1, keepdims=True)
    expected = weights @ odds
    gradient = chosen - expected - precision * strength
    curvature = np.diag(expected + precision) - (odds * weights[:, None]).T @ odds
    # Adding to all strengths alike changes no likelihood: this fixes their mean.
    number = len(strength)
    curvature += max(float(curvature.trace()), 1.0) / number**2
    if not precision and np.linalg.eigvalsh(curvature)[0] < 1e-12 * weights.sum():
        raise _boundless()
    return np.linalg.solve(curvature, gradient)


def _boundless() -> BadOption:
    return BadOption(
        "these games have no finite fit without a prior: some agents won, or lost, all their comparisons with the "
        "others, or had none; give a prior in points"
    )


def _precision(prior: float | None) -> float:
    return (POINTS / prior) ** 2 if prior else 0.0


def _resample(deals: int, resamples: int, seed: int) -> Array:
    """How often each deal is drawn, [resamples, deals]."""
    rng = np.random.default_rng(seed)
    drawn = (rng.integers(deals, size=deals) for _ in range(resamples))
    return np.array([np.bincount(row, minlength=deals) for row in drawn], dtype=np.float64)


def _interval(draws: Array, otherwise: Array) -> tuple[Array, Array]:
    """The middle 95% of each column, over the draws that know it, or a column's other value if none does."""
    known = ~np.isnan(draws).all(0)
    low, high = otherwise.astype(np.float64), otherwise.astype(np.float64)
    if known.any():
        low[known], high[known] = np.nanquantile(draws[:, known], [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=0)
    return low, high


def _resampled_shares(entries: Sequence[Entry], deals: Sequence[str], counts: Array) -> list[list[float]]:
    """Each cell's share, the ends of its interval, and the number of its entries; not a number without any."""
    place = {deal: i for i, deal in enumerate(deals)}
    merged: dict[tuple[int, int], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for deal, cell, won in entries:
        total = merged[place[deal], cell]
        total[0] += won
        total[1] += 1
    where, which = np.array(list(merged), dtype=np.int64).reshape(-1, 2).T
    values = np.array(list(merged.values()), dtype=np.float64).reshape(-1, 2).T
    cells = int(which.max(initial=-1)) + 1

    def shares(counts: Array) -> tuple[Array, Array]:
        won, all_of_it = (np.bincount(which, counts[where] * part, minlength=cells) for part in values)
        return np.divide(won, all_of_it, out=np.full(cells, np.nan), where=all_of_it > 0), all_of_it

    share, number = shares(np.ones(len(deals)))
    low, high = _interval(np.array([shares(row)[0] for row in counts]), share)
    lone = np.bincount(which, minlength=cells) < 2  # a single deal says nothing of how much deals differ
    low[lone], high[lone] = 0.0, 1.0
    return np.array([share, low, high, number]).T.tolist()


def _won(outcomes: Sequence[Outcome], fits: Fits) -> list[dict[str, Any]]:
    """The wins of every agent, in the words of a Rating."""
    index = {agent: i for i, agent in enumerate(fits.agents)}
    entries = [
        (o.deal, index[agent], won) for o in outcomes for agent, won in zip(o.agents, won_by_seat(o.ranks), strict=True)
    ]
    shares = _resampled_shares(entries, _deals(outcomes), fits.counts)
    return [{"wins": wins, "win_low": low, "win_high": high} for wins, low, high, _ in shares]


def _totals(outcomes: Sequence[Outcome]) -> dict[str, dict[str, Any]]:
    """What needs no interval, in the words of a Rating."""
    rows: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    for o in outcomes:
        nothing = (0,) * len(o.agents)
        spent = (o.milliseconds, o.decisions) if o.milliseconds and o.decisions else (nothing, nothing)
        failed = [error != "" for error in o.errors] or nothing
        for agent, *row in zip(o.agents, o.ranks, o.scores, failed, *spent, strict=True):
            rows[agent].append((1 / len(o.agents), *row))
    return {agent: _totals_of(np.array(found, dtype=np.float64)) for agent, found in rows.items()}


def _totals_of(rows: Array) -> dict[str, Any]:
    fair, rank, score = rows[:, :3].mean(0).tolist()
    errors, spent, moves = rows[:, 3:].sum(0).tolist()
    return {
        "games": len(rows),
        "fair": fair,
        "mean_rank": rank,
        "mean_score": score,
        "ms_per_move": spent / moves if moves else 0.0,
        "errors": int(errors),
    }


def _meetings(outcomes: Sequence[Outcome], agents: Sequence[str]) -> tuple[dict[tuple[int, int], int], list[Entry]]:
    """In how many games each ordered pair met, and who came before whom, as entries of _resampled_shares."""
    index = {agent: i for i, agent in enumerate(agents)}
    games: Counter[tuple[int, int]] = Counter()
    entries = []
    for o in outcomes:
        met = set()
        faults = o.errors or ("",) * len(o.agents)
        seats = [(index[agent], rank, fault) for agent, rank, fault in zip(o.agents, o.ranks, faults, strict=True)]
        for i, rank, fault in seats:
            for j, other, others_fault in seats:
                if i != j and (fault or others_fault or not any(faults)):
                    met.add((i, j))
                    before = 0.5 if rank == other else float(rank < other)
                    entries.append((o.deal, i * len(agents) + j, before))
        games.update(met)
    return games, entries


def _superiority(draws: Array) -> Array:
    """How often each agent's draw is above each other's, ties half; half where no draw knows both."""
    better = np.full((draws.shape[1], draws.shape[1]), 0.5)
    for i in range(draws.shape[1]):
        gap = draws[:, [i]] - draws
        known = ~np.isnan(gap)
        gap = np.where(np.abs(gap) < CLOSE, 0.0, np.nan_to_num(gap))
        wins = np.where(known, (np.sign(gap) + 1) / 2, 0.0).sum(0)
        np.divide(wins, known.sum(0), out=better[i], where=known.any(0))
    return better


def _agents(outcomes: Sequence[Outcome]) -> list[str]:
    return sorted({agent for outcome in outcomes for agent in outcome.agents})


def _deals(outcomes: Sequence[Outcome]) -> list[str]:
    return sorted({outcome.deal for outcome in outcomes})


def _checked(outcomes: Sequence[Outcome]) -> list[str]:
    """The deals, in order, of outcomes that make sense; a BadOption says which one does not."""
    if not outcomes:
        raise BadOption("there are no games to rate: give at least one outcome")
    fine: set[tuple[float, ...]] = set()
    for number, outcome in enumerate(outcomes):
        where = f"outcome {number} (deal {outcome.deal!r})"
        seats = len(outcome.agents)
        if not seats:
            raise BadOption(f"{where} has no seats: name an agent for each")
        for name in ("ranks", "scores", "errors", "milliseconds", "decisions"):
            given = len(getattr(outcome, name))
            if given != seats and (given or name in ("ranks", "scores")):
                raise BadOption(f"{where} has {seats} agents but {given} {name}: give one for each seat")
        if outcome.ranks not in fine:
            _check_ranks(outcome.ranks, where)
            fine.add(outcome.ranks)
        for error in outcome.errors:
            one_of("error of a seat", error, ERRORS)
    return _deals(outcomes)


def _check_ranks(ranks: tuple[float, ...], where: str) -> None:
    meant = tuple(sum(other < rank for other in ranks) + (ranks.count(rank) + 1) / 2 for rank in ranks)
    if ranks != meant:
        raise BadOption(f"{where} has ranks {ranks}; 1 is best and ties share the mean of their places: {meant}")
