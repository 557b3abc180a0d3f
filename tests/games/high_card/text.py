"""Action names, what a seat sees as JSON, and the picture."""

from __future__ import annotations

from typing import Any

import numpy as np

from airenv.core.engine import RUNNING
from airenv.games.high_card.board import BoardFile
from airenv.games.high_card.layout import SWAP


def action_names(file: BoardFile) -> list[str]:
    """The name of every action, in order; all different."""
    return ["keep", "swap"]


def describe(file: BoardFile, board: np.void, state: np.void, action: int, seat: int | None) -> str:
    """What a seat sees of an action about to be made (None: a spectator who sees everything)."""
    player = int(state["player"])
    return f"Player {player} {'swaps' if action == SWAP else 'keeps'} the card"


def happenings(file: BoardFile, board: np.void, before: np.void, after: np.void) -> list[str]:
    """What everybody saw happen because of an action."""
    told = []
    if after["discard_size"] > before["discard_size"]:
        told.append(f"a {after['discard'][after['discard_size'] - 1]} is discarded")
    if after["over"] != RUNNING:
        told.append(f"Player {after['hand'].argmax()} wins with a {after['hand'].max()}")
    return told


def view(file: BoardFile, board: np.void, state: np.void, seat: int | None) -> dict[str, Any]:
    """What a seat sees, as JSON (None: a spectator who sees every hand)."""
    over = bool(state["over"] != RUNNING)
    seen = [seat is None or other == seat or over for other in range(board["players"])]
    return {
        "game": "high_card",
        "seat": seat,
        "to_act": None if over else int(state["player"]),
        "step": int(state["steps"]),
        "pack": int(state["pack_size"]),
        "discards": [int(card) for card in state["discard"][: state["discard_size"]]],
        "cards": [int(card) if open_ else None for card, open_ in zip(state["hand"], seen, strict=False)],
        "winner": int(state["hand"].argmax()) if over else None,
    }


def table(view: dict[str, Any]) -> str:
    """The table as a few lines of text, from the view alone."""
    discards = " ".join(map(str, view["discards"])) or "none"
    lines = [f"high card: {view['pack']} cards in the pack, discards: {discards}"]
    for seat, card in enumerate(view["cards"]):
        mark = "*" if seat == view["to_act"] else " "
        lines.append(f"{mark} Player {seat}: {'hidden' if card is None else card}")
    if view["winner"] is not None:
        lines.append(f"Player {view['winner']} wins")
    return "\n".join(lines)


def hand(view: dict[str, Any]) -> str:
    """The own card."""
    return str(view["cards"][view["seat"]])


def svg(view: dict[str, Any]) -> str:
    """The table as a picture, from the view alone."""
    head = '<svg xmlns="http://www.w3.org/2000/svg" width="320" height="120" font-family="DejaVu Sans">'
    parts = [head, '<rect width="320" height="120" fill="#2c6e49"/>']
    for seat, card in enumerate(view["cards"]):
        x = 20 + 100 * seat
        parts.append(f'<rect x="{x}" y="15" width="60" height="60" rx="6" fill="#fdf8ea"/>')
        parts.append(f'<text x="{x + 15}" y="55" font-size="26">{"?" if card is None else card}</text>')
    discards = " ".join(map(str, view["discards"]))
    parts.append(f'<text x="20" y="105" fill="white">pack {view["pack"]}, discards {discards}</text>')
    return "\n".join([*parts, "</svg>"])
