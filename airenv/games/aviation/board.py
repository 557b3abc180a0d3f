"""Reads the two packs and this game's options, and builds the Board record."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from airenv.core.boards import Section, Typed, complain
from airenv.games.aviation.layout import BLUE_CARDS, BOARD, CITIES, HAND, RED_CARDS, SEATS

# Many cards of one city would make deals that fit what is known too rare to be found by drawing.
Count = Annotated[int, Field(ge=0, le=20)]
PerCity = Annotated[list[Count], Field(min_length=CITIES, max_length=CITIES)]
NAMES = {2: "two", 3: "three", 4: "four"}


class Options(Typed):
    """What can be chosen for a game."""

    players: Literal[2, 3, 4] = 4
    max_turns: int = Field(default=400, ge=1, le=1_000_000)


class Red(Section):
    cities: Annotated[list[str], Field(min_length=CITIES, max_length=CITIES)]
    cards: PerCity

    @model_validator(mode="after")
    def is_a_pack(self) -> Red:
        complain(
            (len(set(self.cities)) < CITIES, "two cities have the same name"),
            (sum(self.cards) > RED_CARDS, f"{sum(self.cards)} cards, at most {RED_CARDS} fit"),
        )
        return self


class Removed(Section):
    two: PerCity
    three: PerCity
    four: PerCity


class Blue(Section):
    high_speed: Count
    parachute: Count
    transfer: Count
    delay: Count
    fair_weather: Count

    def counts(self) -> list[int]:
        return [self.high_speed, self.parachute, self.transfer, self.delay, self.fair_weather]

    @model_validator(mode="after")
    def is_a_pack(self) -> Blue:
        size = sum(self.counts())
        complain(
            (size > BLUE_CARDS, f"{size} cards, at most {BLUE_CARDS} fit"),
            (
                size <= min(self.delay, SEATS) + min(self.parachute, SEATS),
                "all cards could lie on the table, with none left to draw",
            ),
        )
        return self


class BoardFile(Typed):
    """The two packs."""

    red: Red
    removed: Removed
    blue: Blue

    def red_counts(self, players: int) -> list[int]:
        """The red pack of a game: a card of each city, less what is taken out for fewer players."""
        out = getattr(self.removed, NAMES[players])
        return [cards - gone for cards, gone in zip(self.red.cards, out, strict=True)]

    @model_validator(mode="after")
    def enough_cards(self) -> BoardFile:
        """Hands, the drawn card and unfinished piles can hold so many; some must be left to draw."""
        found = []
        for players, name in NAMES.items():
            counts, needed = self.red_counts(players), players * (HAND + CITIES - 1) + 3
            found += [
                (min(counts) < 1, f"removed.{name}: leaves no card of some city"),
                (
                    sum(counts) < needed,
                    f"removed.{name}: leaves {sum(counts)} red cards, {players} players need {needed}",
                ),
            ]
        complain(*found)
        return self


def build(file: BoardFile, options: Options) -> np.ndarray:
    """The Board record, as an array of one."""
    board = np.zeros(1, BOARD)
    board["players"] = options.players
    board["max_turns"] = options.max_turns
    board["red"][0, 1:] = file.red_counts(options.players)
    board["blue"][0] = file.blue.counts()
    return board
