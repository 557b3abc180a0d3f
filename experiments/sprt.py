"""Is an agent better by so much? A test that looks after every deal and stops as soon as it knows.

Each deal gives one number in [0, 1]: the agent's share of what there was to win in it. The test weighs two claims
about the mean of such shares, "it is fair" and "it is fair + gain", by the likelihood ratio of the normal law with
the variance seen so far, as chess engines are tested on pairs of games: a generalised sequential probability ratio
test. Playing on until it stops costs about half the deals of a fixed number with the same chances of error.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import log
from typing import Literal, TypeAlias

from airenv.core.errors import BadOption

Verdict: TypeAlias = Literal["better", "not better"]

WIDEST = 0.25  # the greatest variance of a number in [0, 1]


@dataclass
class Sprt:
    """A running test; `add` a deal's share at a time until there is a decision, which then stands."""

    fair: float
    gain: float
    alpha: float = 0.05  # how often an agent that is only fair may be called better
    beta: float = 0.05  # how often one that gains as much may be called not better
    least: int = 16  # deals before any decision: the variance of a few says little
    deals: int = field(default=0, init=False)
    mean: float = field(default=0.0, init=False)
    decision: Verdict | None = field(default=None, init=False)
    _squares: float = field(default=0.0, init=False, repr=False)  # of the distances from the mean

    def __post_init__(self) -> None:
        if not 0 < self.fair < 1:
            raise BadOption(f"fair is a share between 0 and 1, not {self.fair}")
        if not 0 < self.gain <= 1 - self.fair:
            raise BadOption(f"gain is above 0 and leads to a share of 1 at most, not {self.fair} + {self.gain}")
        for name, chance in (("alpha", self.alpha), ("beta", self.beta)):
            if not 0 < chance < 0.5:
                raise BadOption(f"{name} is a chance of error between 0 and 0.5, not {chance}")
        if self.least < 2:
            raise BadOption(f"the least number of deals is 2 or more, not {self.least}")

    def add(self, share: float) -> None:
        """Count a deal; deals that were under way when the test stopped may still be added and change no decision."""
        if not 0 <= share <= 1:
            raise BadOption(f"a deal's share is a number from 0 to 1, not {share}")
        self.deals += 1
        away = share - self.mean
        self.mean += away / self.deals
        self._squares += away * (share - self.mean)
        if self.decision is None and self.deals >= self.least:
            self.decision = self._judge()

    def _judge(self) -> Verdict | None:
        if self.llr >= self.upper:
            return "better"
        return "not better" if self.llr <= self.lower else None

    @property
    def variance(self) -> float:
        """Of a deal's share, as if one more deal had been seen as far out as can be.

        It keeps the test from rushing while the deals seen happen to be alike, and from dividing by nothing.
        """
        return (self._squares + WIDEST) / max(self.deals, 1)

    @property
    def llr(self) -> float:
        """The log of how much likelier the deals are if the agent gains as much than if it is fair."""
        middle = self.fair + self.gain / 2
        return self.deals * self.gain * (self.mean - middle) / self.variance

    @property
    def lower(self) -> float:
        """Where the test stops with "not better"."""
        return log(self.beta / (1 - self.alpha))

    @property
    def upper(self) -> float:
        """Where the test stops with "better"."""
        return log((1 - self.beta) / self.alpha)
