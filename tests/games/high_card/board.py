"""Reads the pack and this game's options, and builds the Board record."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from airenv.core.boards import Section, Typed
from airenv.games.high_card.layout import BOARD, CARDS, ROUNDS, SEATS


class Options(Typed):
    """What can be chosen for a game."""

    players: Literal[2, 3] = 2


class Pack(Section):
    cards: int = Field(ge=SEATS * (ROUNDS + 1), le=CARDS)  # enough for every hand and every swap


class BoardFile(Typed):
    pack: Pack


def build(file: BoardFile, options: Options) -> np.ndarray:
    """The Board record, as an array of one."""
    board = np.zeros(1, BOARD)
    board["players"] = options.players
    board["cards"] = file.pack.cards
    return board
