"""Action names and what a seat sees."""

from __future__ import annotations

from typing import Any

import numpy as np

from airenv.core.engine import RUNNING
from airenv.games.pennies.board import BoardFile

NAMES = ("hidden", "heads", "tails")


def action_names(file: BoardFile) -> list[str]:
    return list(NAMES[1:])


def describe(file: BoardFile, board: np.void, state: np.void, action: int, seat: int | None) -> str:
    shown = NAMES[1 + action] if seat in (None, int(state["player"])) else "a penny"
    return f"Player {int(state['player'])} chooses {shown}"


def happenings(file: BoardFile, board: np.void, before: np.void, after: np.void) -> list[str]:
    return []


def view(file: BoardFile, board: np.void, state: np.void, seat: int | None) -> dict[str, Any]:
    over = bool(state["over"] != RUNNING)
    pennies = [int(p) if over or seat in (None, s) else 0 for s, p in enumerate(state["penny"][: board["players"]])]
    return {"seat": seat, "to_act": None if over else int(state["player"]), "pennies": [NAMES[p] for p in pennies]}


def table(view: dict[str, Any]) -> str:
    return ", ".join(view["pennies"])


def hand(view: dict[str, Any]) -> str:
    return ""


def svg(view: dict[str, Any]) -> str:
    return '<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"></svg>'
