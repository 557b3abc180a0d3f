"""airenv: board games about flying the mail, as fast, leak-free environments for search and self-play.

    game = airenv.game("aviation", players=4)       the engine by hand
    env = airenv.make("aviation", players=4)        a PettingZoo AEC environment
    vec = airenv.make_vec("aviation", num_envs=64)  many games in one compiled call
    gymnasium.make("airenv/Aviation-v0")            one learner's seat

Everything is loaded on first use, so that importing airenv stays fast.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

from airenv.core.registry import all_facts, facts, game_names

if TYPE_CHECKING:
    from airenv.aec import AirEnv
    from airenv.byhand import Game
    from airenv.vector import VectorGames

__version__ = "0.1.0"
__all__ = ["facts", "game", "game_names", "make", "make_vec"]


def game(name: str, **options: Any) -> Game:
    """The engine of a game, to play by hand."""
    from airenv.byhand import Game

    return Game(name, **options)


def make(name: str, **options: Any) -> AirEnv:
    """A PettingZoo AEC environment of a game."""
    from airenv.aec import AirEnv

    return AirEnv(name, **options)


def make_vec(name: str, num_envs: int, **options: Any) -> VectorGames:
    """Many games of one kind, stepped together in one compiled call."""
    from airenv.vector import VectorGames

    return VectorGames(name, num_envs, **options)


def __getattr__(name: str) -> ModuleType:
    """`from airenv import aviation_v0`: PettingZoo's way to name an environment, for every game there is."""
    for known in all_facts() if name.rpartition("_v")[2].isdecimal() else ():
        if known.module_name == name:
            from airenv.aec import pettingzoo_module

            return pettingzoo_module(known.name)
    raise AttributeError(f"module 'airenv' has no attribute {name!r}")


def _register_gymnasium() -> None:
    import gymnasium

    for known in all_facts():
        if known.gym_id not in gymnasium.registry:
            gymnasium.register(known.gym_id, entry_point="airenv.gym:SeatEnv", kwargs={"name": known.name})


_register_gymnasium()
