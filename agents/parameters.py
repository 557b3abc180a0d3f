"""What an agent line may set: each parameter with its range, a default and a word on what it does."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from airenv.core.errors import BadOption, unknown

Value = int | float | str


@dataclass(frozen=True)
class Parameter:
    """One thing an agent line may set; `None` as default means that the agent decides."""

    says: str
    default: Value | None = None
    whole: bool = False
    low: float = 0.0
    high: float = 1.0
    names: tuple[str, ...] = ()

    @property
    def allowed(self) -> str:
        if self.names:
            return f"one of {', '.join(self.names)}"
        return f"{'a whole number' if self.whole else 'a number'} from {self.low:,.10g} to {self.high:,.10g}"

    def read(self, what: str, given: object) -> Value:
        """The value a text or a number means; an error says what is allowed."""
        wrong = BadOption(f"{what} is {self.allowed}, not {given!r}")
        if self.names:
            if given not in self.names:
                raise wrong
            return str(given)
        if isinstance(given, bool) or not isinstance(given, (str, int, float)):
            raise wrong
        try:
            number = float(given)
        except ValueError:
            raise wrong from None
        if not math.isfinite(number) or not self.low <= number <= self.high or (self.whole and number % 1):
            raise wrong
        return int(number) if self.whole else number


def read_parameters(agent: str, known: Mapping[str, Parameter], given: Mapping[str, object]) -> dict[str, Any]:
    """Every parameter of an agent: as given, else its default."""
    for key in given:
        if key not in known:
            raise unknown(f"parameter of {agent}", key, known)
    found: dict[str, Any] = {key: parameter.default for key, parameter in known.items()}
    return found | {key: known[key].read(f"{key} of {agent}", value) for key, value in given.items()}
