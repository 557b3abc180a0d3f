"""The registry: every folder in airenv/games, and in the folders of AIRENV_GAMES, is a game."""

from __future__ import annotations

import importlib
import pkgutil
import warnings
from dataclasses import dataclass
from types import ModuleType

from airenv.core.errors import BadGame, unknown

GAMES = "airenv.games"


@dataclass(frozen=True)
class Facts:
    """What is known of a game without loading its rules."""

    name: str
    title: str
    author: str
    year: str
    players: tuple[int, ...]
    summary: str
    version: int = 0  # v of `<name>_v0` and of the Gymnasium id
    rules: int = 1  # raised when a change of rules makes old replays mean something else

    @property
    def gym_id(self) -> str:
        return f"airenv/{''.join(word.title() for word in self.name.split('_'))}-v{self.version}"

    @property
    def module_name(self) -> str:
        return f"{self.name}_v{self.version}"


def game_names() -> list[str]:
    """The names of all games, without loading any."""
    package = importlib.import_module(GAMES)
    return sorted(m.name for m in pkgutil.iter_modules(package.__path__) if m.ispkg)


def facts(name: str) -> Facts:
    """A game's facts; an unknown name suggests the nearest."""
    names = game_names()
    if name not in names:
        titles = {known.name: known.author for known in all_facts()}
        raise unknown("game", name, names, titles)
    return _facts_of(name)


def _facts_of(name: str) -> Facts:
    """The facts in a game's folder; a folder that is no game says why."""
    try:
        found = importlib.import_module(f"{GAMES}.{name}").FACTS
    except Exception as error:  # whatever somebody's game raises when it is loaded
        raise BadGame(f"the folder of {name} is no game: {type(error).__name__}: {error}") from error
    if not isinstance(found, Facts) or found.name != name:
        raise BadGame(f"the folder of {name} is no game: FACTS must be Facts(name={name!r}, ...)")
    return found


def all_facts() -> list[Facts]:
    """The facts of every game that can be loaded; a warning for every one that cannot."""
    found = []
    for name in game_names():
        try:
            found.append(_facts_of(name))
        except BadGame as error:
            warnings.warn(str(error), RuntimeWarning, stacklevel=2)
    return found


def game_module(name: str, part: str) -> ModuleType:
    """One file of a game's folder: its board, layout, rules, text ..."""
    return importlib.import_module(f"{GAMES}.{facts(name).name}.{part}")
