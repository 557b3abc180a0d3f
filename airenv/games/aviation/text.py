"""Action names both ways, what a seat sees as JSON, and the picture."""

from __future__ import annotations

from typing import Any

import numpy as np

from airenv.core.engine import RUNNING, TRUNCATED
from airenv.games.aviation.board import BoardFile
from airenv.games.aviation.layout import (
    ACTIONS,
    BLUE_KINDS,
    BLUE_NAMES,
    CITIES,
    DELAY_FIRST,
    DISCARD_FIRST,
    DISCARDING,
    DRAW_DISCARD,
    DRAW_PILE,
    KINDS,
    PASS_FIRST,
    PASSING,
    PHASE_NAMES,
)
from airenv.games.aviation.picture import svg as picture

LEFT = ("the player on your left", "the second player to the left", "the third player to the left")


def action_names(file: BoardFile) -> list[str]:
    """The name of every action, in order; all different."""
    cities = file.red.cities
    names = ["draw from the pile", "draw the top discard"]
    names += [f"discard {city}" for city in cities]
    names += [f"pass {city}" for city in cities]
    names += [f"delay {who}" for who in LEFT]
    assert len(names) == ACTIONS
    return names


def describe(file: BoardFile, board: np.void, state: np.void, action: int, seat: int | None) -> str:
    """What a seat sees of an action about to be made (None: a spectator who sees everything)."""
    player = int(state["player"])
    who = f"Player {player}"
    if action == DRAW_PILE:
        return f"{who} draws from the pile"
    if action == DRAW_DISCARD:
        top = int(state["discard"][state["discard_size"] - 1])
        return f"{who} takes {file.red.cities[top - 1]} from the discards"
    if action < PASS_FIRST:
        return f"{who} discards {file.red.cities[action - DISCARD_FIRST]}"
    if action < DELAY_FIRST:
        secret = seat is not None and seat != player
        return f"{who} passes {'a card' if secret else file.red.cities[action - PASS_FIRST]} to the left"
    victim = (player + action - DELAY_FIRST + 1) % int(board["players"])
    return f"{who} delays Player {victim}"


def happenings(file: BoardFile, board: np.void, before: np.void, after: np.void) -> list[str]:
    """What everybody saw happen because of an action."""
    seat, cities = int(before["on_turn"]), file.red.cities
    told = []
    laid = cities[before["pile"][seat] : after["pile"][seat]]
    discarded = before["phase"] == DISCARDING
    if discarded:
        told.append(f"the blue card is {BLUE_NAMES[after['blue_drawn']]}")
    if discarded and before["delayed"][seat] and not after["delayed"][seat]:
        told.append("the delay is lifted")
    if laid:
        told.append(f"Player {seat} lays {', '.join(laid)}")
    if before["phase"] == PASSING and not after["passing"].any():
        told.append("all cards move to the left")
    cut_off = after["over"] == TRUNCATED  # else the last turn begun is being played
    lost = range(int(before["turns"]) + 1, int(after["turns"]) + cut_off)
    told += [f"Player {(seat + left) % int(board['players'])} loses a turn" for left, _ in enumerate(lost, 1)]
    if after["winner"] >= 0:
        told.append(f"Player {after['winner']} wins")
    elif cut_off:
        told.append("the game is cut off")
    return told


def view(file: BoardFile, board: np.void, state: np.void, seat: int | None) -> dict[str, Any]:
    """What a seat sees, as JSON (None: a spectator who sees every hand)."""
    running = state["over"] == RUNNING
    discards = state["discard"][: state["discard_size"]]
    blue_top = int(state["blue_top"])
    own = int(state["passing"][seat]) if seat is not None else 0
    return {
        "game": "aviation",
        "seat": seat,
        "players": int(board["players"]),
        "phase": PHASE_NAMES[state["phase"]] if running else "over",
        "to_act": int(state["player"]) if running else None,
        "on_turn": int(state["on_turn"]),
        "dealer": int(state["dealer"]),
        "turn": int(state["turns"]),
        "max_turns": int(board["max_turns"]),
        "winner": int(state["winner"]) if state["winner"] >= 0 else None,
        "truncated": bool(state["over"] == TRUNCATED),
        "cities": list(file.red.cities),
        "seats": [_seat_view(file, state, seat, other) for other in range(board["players"])],
        "red": {
            "pile": int(state["red_size"]),
            "at_most": None if seat is None else state["pool"][seat, 1:].tolist(),
            "discards": [file.red.cities[c - 1] for c in discards],
        },
        "blue": {
            "pile": int(state["blue_size"]),
            "discards": {BLUE_NAMES[k]: int(state["blue_discard"][k]) for k in range(BLUE_KINDS)},
            "top": BLUE_NAMES[blue_top] if blue_top >= 0 else None,
            "drawn": BLUE_NAMES[state["blue_drawn"]] if state["blue_drawn"] >= 0 else None,
        },
        "chosen": file.red.cities[own - 1] if own else None,
    }


def _seat_view(file: BoardFile, state: np.void, viewer: int | None, seat: int) -> dict[str, Any]:
    cities = file.red.cities
    pile = int(state["pile"][seat])
    shown = viewer is None or viewer == seat
    return {
        "seat": seat,
        "pile": pile,
        "city": cities[pile - 1] if pile else None,
        "next": cities[pile] if pile < CITIES else None,
        "delayed": bool(state["delayed"][seat]),
        "parachute": bool(state["parachute"][seat]),
        "cards": int(state["held"][seat]),
        "hand": _cards(cities, state["hand"][seat]) if shown else None,
        "known": [] if viewer is None or viewer == seat else _cards(cities, state["known"][seat, :, viewer]),
        "may_fit": None if viewer is None or viewer == seat else int(state["may_fit"][seat, viewer]),
        "has_chosen": bool(state["passing"][seat] > 0),
    }


def _cards(cities: list[str], counts: np.ndarray) -> list[str]:
    return [cities[city - 1] for city in range(1, KINDS) for _ in range(counts[city])]


def table(view: dict[str, Any]) -> str:
    """The table as a few lines of text, from the view alone."""
    top = view["red"]["discards"][-1] if view["red"]["discards"] else "none"
    lines = [
        f"aviation: turn {view['turn']} of at most {view['max_turns']}, {view['phase']}",
        f"red: {view['red']['pile']} in the pile, top discard {top} ({len(view['red']['discards'])} in all)",
        f"blue: {view['blue']['pile']} in the pile, top discard {view['blue']['top'] or 'none'}",
    ]
    for seat in view["seats"]:
        mark = "*" if seat["seat"] == view["to_act"] else " "
        marks = "".join(f" [{w}]" for w, on in (("DELAY", seat["delayed"]), ("PARACHUTE", seat["parachute"])) if on)
        laid = f"{seat['pile']:2d} {seat['city'] or 'not started'}{marks}"
        hand = ", ".join(seat["hand"]) if seat["hand"] is not None else f"{seat['cards']} cards"
        known = f" (known: {', '.join(seat['known'])})" if seat["known"] else ""
        lines.append(f"{mark} Player {seat['seat']}: {laid} | {hand}{known}")
    if view["phase"] == "over":
        lines.append("cut off: nobody wins" if view["winner"] is None else f"Player {view['winner']} wins")
    return "\n".join(lines)


def hand(view: dict[str, Any]) -> str:
    """The own hand in a line, with what it is waiting for."""
    own = view["seats"][view["seat"]]
    waits = f"waiting for {own['next']}" if own["next"] else "all laid"
    return f"{', '.join(own['hand'])}   ({waits}{', delayed' if own['delayed'] else ''})"


def svg(view: dict[str, Any]) -> str:
    return picture(view)
