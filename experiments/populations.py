"""Agents compared over several games: alpha-rank, and the lottery nobody would vote down.

Ratings of different games cannot be averaged. Two ways around it need no common scale: each game votes on every two
agents and a maximal lottery settles the votes; and a population of agents, in which one that does better takes over,
is followed to where it spends its time (alpha-rank). Both name a mixture where agents beat each other in a circle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from airenv.core.errors import BadOption
from experiments.ratings import CLOSE, Outcome, bootstrap, matrix, pairwise

Array: TypeAlias = np.ndarray

LEAST_AGENTS = 3
LEAST_GAMES = 2
SAME = 1e-12  # payoffs that differ by no more are equal


@dataclass(frozen=True)
class Across:
    """What several games say together of the agents that played in all of them."""

    agents: tuple[str, ...]
    games: tuple[str, ...]
    margins: Array  # [agent, other]: games that rate the agent higher, less those that rate the other higher
    shares: Array  # [agent, other]: how often the agent came before the other, as a mean over games
    lottery: Array  # [agents]
    alpha_rank: Array  # [agents]


def across_games(
    outcomes_by_game: Mapping[str, Sequence[Outcome]], alpha: float | None = None, population: int = 50
) -> tuple[Across | None, str]:
    """Both verdicts and no reason, or None and the reason why there are none.

    A game votes for the agent it rates higher, however little. Only agents that played in every game take part: one
    that stayed away from its bad games would otherwise gain by it. Two that never met share evenly.
    """
    games = tuple(sorted(game for game, outcomes in outcomes_by_game.items() if outcomes))
    if len(games) < LEAST_GAMES:
        return None, f"games must be {LEAST_GAMES} at least to compare agents across them, not {len(games)}"
    fits = {game: bootstrap(outcomes_by_game[game], resamples=1) for game in games}
    agents = tuple(sorted(set.intersection(*(set(fit.agents) for fit in fits.values()))))
    if len(agents) < LEAST_AGENTS:
        return None, f"agents that played in every game must be {LEAST_AGENTS} at least, not {len(agents)}"
    margins = np.zeros((len(agents), len(agents)))
    shares = []
    for game, fit in fits.items():
        strength = fit.strengths[[fit.agents.index(agent) for agent in agents]]
        gap = strength[:, None] - strength
        margins += np.where(np.abs(gap) < CLOSE, 0.0, np.sign(gap))
        shares.append(matrix(pairwise(outcomes_by_game[game], fits=fit), "share", agents)[1])
    mean = _mean_known(np.array(shares))
    return Across(agents, games, margins, mean, maximal_lottery(margins), alpha_rank(mean, alpha, population)), ""


def _mean_known(shares: Array) -> Array:
    """The mean over games of those in which a pair met, or a half."""
    known = ~np.isnan(shares)
    mean = np.full(shares.shape[1:], 0.5)
    np.divide(np.nansum(shares, axis=0), known.sum(0), out=mean, where=known.any(0))
    return mean


def alpha_rank(payoffs: Array, alpha: float | None = None, population: int = 50) -> Array:
    """How much of the time a population plays each agent, given what each is paid against each, [agent, other].

    Everybody plays the same agent; now and then one tries another at random, which then dies out or takes over,
    the likelier the better it is paid against the old one. `alpha` says how strictly payoffs select. None is the limit
    of ever stricter selection: an agent that is paid more always takes over, one that is paid less never does, and
    an equal one does by luck, once in `population`. The limit is exact: of any two agents one can replace the other,
    so the population cannot end in two places.
    """
    payoffs = _square(payoffs, "payoffs")
    if population < 2:
        raise BadOption(f"a population has 2 members at least, not {population!r}")
    if alpha is not None and not (np.isfinite(alpha) and alpha >= 0):
        raise BadOption(f"alpha is a number of at least 0, or None for its limit, not {alpha!r}")
    gain = payoffs.T - payoffs  # [old, new]: what the new one is paid against the old one, less the reverse
    if alpha is None:
        takes_over = np.where(np.abs(gain) <= SAME, 1 / population, (gain > 0).astype(np.float64))
    else:
        takes_over = _fixation(alpha * gain, population)
    np.fill_diagonal(takes_over, 0.0)
    return _stationary(takes_over)


def _fixation(pressure: Array, population: int) -> Array:
    """The chance that one newcomer takes over a population, (1 - exp(-u)) / (1 - exp(-m u)), without overflow."""
    size = np.abs(pressure)
    even = size < SAME
    size = np.where(even, 1.0, size)
    upward = np.expm1(-size) / np.expm1(-population * size)
    chance = np.where(pressure > 0, upward, upward * np.exp(-(population - 1) * size))
    return np.where(even, 1 / population, chance)


def _stationary(rates: Array) -> Array:
    """Where a chain with these rates from row to column spends its time: state by state is taken out and put back.

    No two numbers are ever subtracted, so shares as small as 1e-300 come out right.
    """
    lasting = np.flatnonzero(_lasting(rates > 0))
    found = np.zeros(len(rates))
    rates = rates[np.ix_(lasting, lasting)]
    for state in range(len(lasting) - 1, 0, -1):
        rates[:state, state] /= rates[state, :state].sum()
        rates[:state, :state] += np.outer(rates[:state, state], rates[state, :state])
    time = np.ones(len(lasting))
    for state in range(1, len(lasting)):
        time[state] = time[:state] @ rates[:state, state]
    found[lasting] = time / time.sum()
    return found


def _lasting(leads: Array) -> Array:
    """The states a chain comes back to for ever: all that can be reached from them leads back."""
    reach = leads | np.eye(len(leads), dtype=bool)
    for middle in range(len(leads)):
        reach |= np.outer(reach[:, middle], reach[middle])
    return np.array((reach <= reach.T).all(1))


def maximal_lottery(margins: Array) -> Array:
    """The chances of drawing each agent such that no other agent is preferred to the draw by a majority.

    `margins[a, b]`, the votes for a over b less those for b over a, is a zero-sum game that both sides play alike,
    and this is an optimal way to play it: unique if all margins are odd. Where there are several, it is the mean of
    those best for each agent that is in any, so that agents tied all around share evenly. Computed in fractions: exact.
    """
    margins = _square(margins, "margins")
    if not np.array_equal(margins, -margins.T):
        raise BadOption("margins must be the negative of each other: margins[a, b] = -margins[b, a]")
    return np.array([float(share) for share in exact_lottery(margins)])


def exact_lottery(margins: Array) -> list[Fraction]:
    """The maximal lottery in fractions.

    With every entry raised by c to be above 0, the game is worth c, and its optimal strategies are, up to scale, what
    makes sum(y) greatest while (margins + c) y <= 1: a linear program that starts at y = 0.
    """
    number = len(margins)
    raised = [[Fraction(float(value)) for value in row] for row in margins]
    above = max(abs(value) for row in raised for value in row) + 1
    # the columns are y, the slacks and the right side; the last row holds what is made greatest, negated
    table = np.full((number + 1, 2 * number + 1), Fraction(0), dtype=object)
    for i in range(number):
        table[i, :number] = [value + above for value in raised[i]]
        table[i, number + i] = table[i, -1] = Fraction(1)
    table[-1, :number] = Fraction(-1)
    basis = list(range(number, 2 * number))
    _climb(table, basis, range(2 * number))
    level = [column for column in range(2 * number) if table[-1, column] == 0]  # moving along these loses nothing
    total = [Fraction(0)] * number
    for agent in range(number):
        table[-1] = Fraction(0)
        table[-1, agent] = Fraction(-1)
        if agent in basis:
            table[-1] += table[basis.index(agent)]
        _climb(table, basis, level)
        if table[-1, -1] > 0:  # else the agent is in no optimal lottery, and has none that is best for it
            for row, column in enumerate(basis):
                if column < number:
                    total[column] += table[row, -1]
    return [share / sum(total) for share in total]


def _climb(table: Array, basis: list[int], columns: Sequence[int]) -> None:
    """The simplex method, always by the first column that gains and the first row that binds: it cannot go around.

    That is Bland's rule; only the given columns may enter the basis.
    """
    while True:
        column = next((c for c in columns if table[-1, c] < 0), None)
        if column is None:
            return
        binding = [row for row in range(len(basis)) if table[row, column] > 0]
        row = min(binding, key=lambda r: (table[r, -1] / table[r, column], basis[r]))
        table[row] = table[row] / table[row, column]
        for other in range(len(table)):
            if other != row and table[other, column] != 0:
                table[other] = table[other] - table[other, column] * table[row]
        basis[row] = column


def _square(values: Array, name: str) -> Array:
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 2 or found.shape[0] != found.shape[1] or not len(found):
        raise BadOption(f"{name} are a square table, a row and a column for each agent, not of shape {found.shape}")
    if not np.isfinite(found).all():
        raise BadOption(f"{name} must all be finite numbers")
    return found
