"""Names, laws, and packs of one's own."""

from pathlib import Path

import pytest

import airenv
from airenv.core.errors import BadState, BoardError, UnknownName
from airenv.games.aviation import layout
from airenv.games.aviation.layout import DELAY
from airenv.games.aviation.testing import BOSTON, DULL, game, table, transfer

# -- names ------------------------------------------------------------------------------------------


def test_every_action_has_its_own_name_and_the_name_finds_it():
    names = [game().action_name(a) for a in range(game().num_actions)]
    assert len(set(names)) == layout.ACTIONS == 29
    assert [game().parse_action(name) for name in names] == list(range(29))
    assert [game().parse_action(f" {name.upper()} ") for name in names] == list(range(29))


def test_an_unknown_action_name_suggests_the_nearest():
    with pytest.raises(UnknownName, match="discard Boston"):
        game().parse_action("discard Bostin")


def test_what_is_passed_is_told_to_nobody_but_its_sender_and_spectators():
    t = transfer()
    action = t.game.parse_action("pass Denver")
    told = [t.game.describe(t.state, action, seat) for seat in (0, 1, 2, 3, None)]
    assert ["Denver" in line for line in told] == [True, False, False, False, True]


# -- laws -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("players", [2, 3, 4])
def test_the_laws_hold_all_through_random_games(players):
    assert game(players).check_playouts(300, seed=players) is None


def break_law(law, s):
    if law == 1:
        s["pile"][1] = 1
    elif law == 2:
        s["blue_discard"][DELAY] += 1
    elif law == 3:
        s["held"][1] = 4
    elif law == 4:
        s["known"][1, BOSTON] = 1
    elif law == 5:
        s["may_fit"][0] = 0
    elif law == 6:
        s["discard"][: s["discard_size"] + s["red_size"]] = [
            *s["discard"][: s["discard_size"]],
            *s["red"][: s["red_size"]],
        ]
        s["discard_size"], s["red_size"] = s["discard_size"] + s["red_size"], 0
    elif law == 7:
        s["pool"][2, s["red"][0]] = 0
    elif law == 8:
        s["winner"] = 2
    else:
        s["forgotten"] = 1


@pytest.mark.parametrize("law", sorted(layout.LAWS))
def test_every_law_can_be_broken_and_is_named(law):
    t = table(hands=[[BOSTON, *DULL[:4]]])
    break_law(law, t.state[0])
    with pytest.raises(BadState, match=layout.LAWS[law]):
        t.game.check(t.state)


# -- the packs as a file ----------------------------------------------------------------------------

STANDARD = Path(layout.__file__).with_name("board.toml").read_text()


def problems_of(tmp_path, *changes):
    """The message about the standard file with some lines changed."""
    text = STANDARD
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    path = tmp_path / "my_packs.toml"
    path.write_text(text)
    with pytest.raises(BoardError) as error:
        airenv.game("aviation", board=path)
    assert str(path) in str(error.value)
    return str(error.value)


def test_a_file_of_ones_own_can_be_played(tmp_path):
    path = tmp_path / "my_packs.toml"
    path.write_text(STANDARD.replace("high_speed = 3", "high_speed = 2").replace('"Boston"', '"Salem"'))
    mine = airenv.game("aviation", board=path)
    assert mine.board["blue"][0].tolist() == [2, 3, 3, 8, 10] and mine.parse_action("discard Salem") == 2
    assert mine.check_playouts(50) is None


def test_a_bad_file_lists_all_bad_keys_at_once(tmp_path):
    message = problems_of(tmp_path, ("delay = 8", 'delay = "many"'), ("parachute", "parachutes"), ("[8, 7", "[-1, 7"))
    assert "3 problem" not in message and "4 problem" in message
    for key in ("blue.delay", "blue.parachute", "blue.parachutes", "red.cards.0"):
        assert f"{key}:" in message


def test_a_bad_file_lists_all_that_makes_its_packs_unplayable_at_once(tmp_path):
    changes = [('"Denver"', '"Boston"'), ("cards = [8", "cards = [9"), ("high_speed = 3", "high_speed = 20")]
    message = problems_of(tmp_path, *changes)
    for problem in ("red: two cities have the same name", "red: 73 cards", "blue: 44 cards, at most 27"):
        assert problem in message


def test_a_bad_file_lists_every_number_of_players_it_cannot_serve(tmp_path):
    message = problems_of(tmp_path, ("two = [2,", "two = [8,"), ("three = [1, 1, 0", "three = [1, 1, 6"))
    assert "removed.two: leaves no card" in message and "removed.three: leaves no card" in message


def test_a_bad_file_lists_bad_keys_and_unplayable_packs_at_once(tmp_path):
    message = problems_of(tmp_path, ("delay = 8", 'delay = "many"'), ('"Denver"', '"Boston"'))
    assert "blue.delay" in message and "two cities have the same name" in message


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("cards = [8", "cards = [9"), "red: 73 cards"),
        (("5, 4]", "5, 0]"), "no card of some city"),
        (("four = [0, 0, 0, 0, 0", "four = [2, 2, 2, 0, 0"), "4 players need 67"),
        (("delay = 8", "delay = 19"), "38 cards, at most 27"),
        (('"Denver", ', ""), "red.cities"),
        (('source = "rulebook"', 'source = "hearsay"'), "red.source"),
        (("[red]", "[red"), "is not TOML"),
    ],
)
def test_a_file_that_cannot_be_played_says_why(tmp_path, change, problem):
    assert problem in problems_of(tmp_path, change)


def test_blue_cards_that_could_all_lie_on_the_table_are_refused(tmp_path):
    none = [(f"{kind} = {n}", f"{kind} = 0") for kind, n in (("high_speed", 3), ("transfer", 3), ("fair_weather", 10))]
    message = problems_of(tmp_path, *none, ("delay = 8", "delay = 4"))
    assert "none left to draw" in message
