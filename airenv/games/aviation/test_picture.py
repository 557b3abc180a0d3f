"""The picture shows what the view holds, and nothing that it hides."""

import copy
from typing import Any
from xml.etree import ElementTree

import pytest

from airenv.games.aviation.picture import svg

CITIES = ["Boston", "New York", "Philadelphia", "Baltimore", "Washington", "Cleveland"]
CITIES += ["Detroit", "Chicago", "Minneapolis", "St. Louis", "Denver", "San Francisco"]
KINDS = ["high speed", "parachute", "transfer", "delay", "fair weather"]


def make_view(players: int = 4, seat: int | None = 0, **changes: Any) -> dict[str, Any]:
    """A game in progress; only the viewer's hand (or every hand, for a spectator) is open."""
    seats = []
    for number in range(players):
        hand = [CITIES[(5 * number + 3 * place) % 12] for place in range(5)]
        own = seat is None or seat == number
        seats.append(
            {
                "seat": number,
                "pile": [3, 0, 7, 11][number],
                "delayed": False,
                "parachute": False,
                "cards": 5,
                "hand": hand if own else None,
                "known": [],
                "has_chosen": False,
            }
        )
    view: dict[str, Any] = {
        "game": "aviation", "seat": seat, "players": players, "phase": "draw", "to_act": 1, "on_turn": 1,
        "dealer": 0, "turn": 17, "max_turns": 400, "winner": None, "truncated": False, "cities": CITIES,
        "seats": seats,
        "red": {"pile": 30, "discards": ["Boston", "Denver", "Chicago", "St. Louis", "San Francisco"]},
        "blue": {"pile": 20, "discards": dict(zip(KINDS, [0, 1, 0, 2, 3], strict=True)), "top": "delay"},
        "chosen": None,
    }  # fmt: skip
    return view | changes


def seat_group(picture: str, seat: int) -> ElementTree.Element:
    return next(node for node in ElementTree.fromstring(picture).iter() if node.get("id") == f"seat-{seat}")


def hand_group(picture: str, seat: int) -> ElementTree.Element:
    return next(node for node in seat_group(picture, seat).iter() if node.get("class") == "hand")


def texts(node: ElementTree.Element) -> list[str]:
    return [part.text or "" for part in node.iter() if part.tag.endswith("text")]


def classes(node: ElementTree.Element) -> list[str]:
    return [part.get("class", "") for part in node.iter()]


@pytest.mark.parametrize("players", [2, 3, 4])
@pytest.mark.parametrize("seat", [None, 0, 1])
@pytest.mark.parametrize("phase", ["draw", "transfer", "over"])
def test_every_view_is_well_formed_and_draws_each_seat_once(players: int, seat: int | None, phase: str) -> None:
    picture = svg(make_view(players, seat, phase=phase))
    ids = [node.attrib["id"] for node in ElementTree.fromstring(picture).iter() if "id" in node.attrib]
    assert sorted(ids) == [f"seat-{number}" for number in range(players)]


@pytest.mark.parametrize("cards", [0, 4, 5, 6, 8])
def test_a_hidden_hand_is_backs_only(cards: int) -> None:
    view = make_view()
    view["seats"][2]["cards"] = cards
    hand = hand_group(svg(view), 2)
    assert classes(hand).count("hand-back") == cards
    assert texts(hand) == []


def test_known_cards_are_named_and_still_counted_once() -> None:
    view = make_view()
    view["seats"][1]["known"] = ["Denver", "Boston"]
    hand = hand_group(svg(view), 1)
    assert classes(hand).count("hand-back") == 5
    assert {word for word in texts(hand) if not word.isdigit()} == {"Denver", "Boston"}


def test_an_open_hand_names_its_cards() -> None:
    view = make_view(seat=None)
    for seat in view["seats"]:
        hand = hand_group(svg(view), seat["seat"])
        assert [word for word in texts(hand) if not word.isdigit()] == seat["hand"]
        assert "hand-back" not in classes(hand)


@pytest.mark.parametrize("flag, mark", [("delayed", "delay"), ("parachute", "parachute")])
def test_delays_and_parachutes_lie_at_their_own_seat(flag: str, mark: str) -> None:
    view = make_view()
    view["seats"][2][flag] = True
    picture = svg(view)
    assert [mark in classes(seat_group(picture, seat)) for seat in range(4)] == [False, False, True, False]


def test_the_end_is_announced() -> None:
    assert "Player 2 wins" in svg(make_view(phase="over", winner=2, to_act=None))
    assert "truncated" in svg(make_view(phase="over", truncated=True, to_act=None))
    assert "banner" not in svg(make_view())


def test_of_two_like_cards_one_is_marked_as_chosen() -> None:
    view = make_view(phase="transfer", chosen="Boston")
    plain = svg(make_view(phase="transfer")).count('stroke-width="4"')
    view["seats"][0]["hand"] = ["Boston", "Boston", "Denver", "Denver", "Denver"]
    assert svg(view).count('stroke-width="4"') == plain + 1


def test_empty_piles_can_be_drawn() -> None:
    blue = {"pile": 0, "discards": dict.fromkeys(KINDS, 0), "top": None}
    picture = svg(make_view(red={"pile": 0, "discards": []}, blue=blue))
    assert texts(ElementTree.fromstring(picture)).count("empty") == 4


def test_text_is_escaped() -> None:
    view = make_view(cities=["A<b>&", *CITIES[1:]], red={"pile": 1, "discards": ["A<b>&"]})
    assert "A<b>&" in texts(ElementTree.fromstring(svg(view)))


def test_the_same_view_gives_the_same_picture_and_is_left_alone() -> None:
    view = make_view()
    before = copy.deepcopy(view)
    assert svg(view) == svg(copy.deepcopy(view))
    assert view == before
