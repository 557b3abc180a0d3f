"""Reads the board file and this game's options, and builds the Board record."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from airenv.core.boards import Section, Typed
from airenv.games.pennies.layout import BOARD


class Options(Typed):
    """What can be chosen for a game."""

    players: Literal[2, 3, 4, 5] = 2


class Pennies(Section):
    rounds: int = Field(ge=1, le=1)


class BoardFile(Typed):
    pennies: Pennies


def build(file: BoardFile, options: Options) -> np.ndarray:
    """The Board record, as an array of one."""
    board = np.zeros(1, BOARD)
    board["players"] = options.players
    return board
