"""Errors a user can act on: each says what is wrong and what is allowed."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import SupportsIndex


class AirenvError(ValueError):
    """The base of every error airenv raises for bad input."""


class UnknownName(AirenvError):
    """A game, option, board or agent that does not exist."""


class BadGame(AirenvError):
    """A folder among the games that is none."""


class BadOption(AirenvError):
    """An option with a value that is not allowed."""


class BadSeed(AirenvError):
    """A seed outside 0 .. 2**63 - 1, or not an integer."""


class BoardError(AirenvError):
    """A board file with mistakes; the message lists all of them."""


class IllegalAction(AirenvError):
    """An action that is not legal now; the state is untouched."""


ILLEGAL_MODES = ("raise", "random")  # what an environment may do with one: refuse it, or play a legal one


class GameOver(AirenvError):
    """A move was asked of, or made in, a finished game."""


class BadState(AirenvError):
    """Bytes or an array that is not a state of this game."""


class BadReplay(AirenvError):
    """A replay file that cannot be read or does not replay to the state it promises."""


def one_of(kind: str, value: str, allowed: Iterable[str]) -> str:
    """A value that must be one of a few names."""
    if value not in allowed:
        raise unknown(kind, value, allowed)
    return value


def positive(kind: str, value: object) -> int:
    """A number of something: an integer of at least 1."""
    if isinstance(value, bool) or not isinstance(value, SupportsIndex) or value.__index__() < 1:
        raise BadOption(f"{kind} is a positive integer, not {value!r}")
    return value.__index__()


def unknown(kind: str, name: str, allowed: Iterable[str], titles: dict[str, str] | None = None) -> UnknownName:
    """An UnknownName that suggests the nearest names and lists what is allowed."""
    names = sorted(allowed)
    plain = {n.replace("_", "").lower(): n for n in names}
    wanted = str(name).replace("_", "").replace("-", "").replace(" ", "").lower()
    near = [plain[p] for p in get_close_matches(wanted, plain, n=3, cutoff=0.6)]
    near += [n for p, n in plain.items() if wanted and wanted in p and n not in near]
    shown = [f"{n} ({titles[n]})" if titles and n in titles else n for n in near]
    hint = f" Did you mean {' or '.join(shown)}?" if near else ""
    return UnknownName(f"unknown {kind} {name!r}.{hint} Allowed: {', '.join(names) or 'none'}.")
