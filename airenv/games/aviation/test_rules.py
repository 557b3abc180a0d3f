"""The rules of aviation, one test a rule, each named after what it says."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import airenv
from airenv.core.errors import BadOption, BadState, BoardError, GameOver, IllegalAction, UnknownName
from airenv.games.aviation import layout
from airenv.games.aviation.layout import DELAY, FAIR_WEATHER, HIGH_SPEED, PARACHUTE, TRANSFER

BOSTON, NEW_YORK, PHILADELPHIA, BALTIMORE, WASHINGTON, CLEVELAND = range(1, 7)
DETROIT, CHICAGO, MINNEAPOLIS, ST_LOUIS, DENVER, SAN_FRANCISCO = range(7, 13)
PILE, TOP = "draw from the pile", "draw the top discard"
LEFT, SECOND, THIRD = (
    "delay the player on your left",
    "delay the second player to the left",
    "delay the third player to the left",
)
DULL = [CLEVELAND, DETROIT, CHICAGO, MINNEAPOLIS, ST_LOUIS]  # fits no pile below Washington
SEEDS = range(12)


@cache
def game(players=4, **options):
    return airenv.game("aviation", players=players, **options)


class Table:
    """A position built by hand, and played on by the names of the actions; the laws hold throughout."""

    def __init__(self, rules, state):
        self.game, self.state = rules, state
        self.game.check(state)

    def play(self, *names):
        for name in names:
            self.game.apply(self.state, self.game.parse_action(name))
            self.game.check(self.state)
        return self

    def turn(self, card=None):
        """A dull turn: draw from the pile, discard a card (the last of those held, if none is named)."""
        self.play(PILE)
        return self.play(f"discard {card}" if card else self.legal()[-1])

    def __getitem__(self, field):
        return self.state[field][0]

    def hand(self, seat):
        return [city for city in range(1, 13) for _ in range(self["hand"][seat][city])]

    def discards(self):
        return self["discard"][: self["discard_size"]].tolist()

    def legal(self):
        return [self.game.action_name(a) for a in self.game.legal_actions(self.state)]

    def known(self, observer, seat):
        """The cards an observer knows to be in another's hand, read from its observation."""
        row = (seat - observer) % self.game.players - 1
        counts = self.game.observe(self.state, observer)[layout.SLICES["known"]].reshape(3, 12)[row]
        return [city + 1 for city in range(12) for _ in range(int(counts[city]))]

    def lacking(self, observer, seat):
        row = (seat - observer) % self.game.players - 1
        return bool(self.game.observe(self.state, observer)[layout.SLICES["lacks"]][row])

    def worlds(self, seat, number=30):
        """Worlds the seat must hold possible, each lawful."""
        found = [Table(self.game, self.game.determinize(self.state, seat, seed)) for seed in range(number)]
        assert len({world.game.digest(world.state) for world in found}) > 1
        return found


def table(
    players=4,
    hands=(),
    piles=(),
    red=(),
    blue=(),
    discard=(DETROIT,),
    delayed=(),
    parachute=(),
    rest="pile",
    **options,
):
    """Seat 0 is on turn. Cards are named bottom to top; hands not named are dull, other piles not begun.

    The rest of both packs lies under the named cards (rest="pile") or at the bottom of the discards.
    """
    rules = game(players, **options)
    state = rules.new(0)
    board, s = rules.board[0], state[0]
    left = board["red"].astype(int)
    piles = [*piles, *[0] * (players - len(piles))]
    hands = [*hands, *[None] * (players - len(hands))]
    for number in piles:
        left[1 : number + 1] -= 1
    for cards in (red, discard, *(hand for hand in hands if hand is not None)):
        np.subtract.at(left, list(cards), 1)
    for field in ("red", "discard", "hand", "known", "lacks", "passing", "blue", "blue_discard"):
        s[field][:] = 0
    for seat in range(players):
        if hands[seat] is None:
            hands[seat] = dull_hand(left, piles[seat] + 1)
        np.add.at(s["hand"][seat], list(hands[seat]), 1)
        s["held"][seat] = len(hands[seat])
        s["pile"][seat] = piles[seat]
        s["delayed"][seat], s["parachute"][seat] = seat in delayed, seat in parachute
    assert left.min() >= 0, "the pack has not that many cards of a city"
    spare = np.repeat(np.arange(13), left).tolist()
    lay(s, "red", [*spare, *red] if rest == "pile" else [*red])
    lay(s, "discard", [*discard] if rest == "pile" else [*spare, *discard])
    blue_left = board["blue"].astype(int)
    np.subtract.at(blue_left, list(blue), 1)
    blue_left[DELAY] -= len(delayed)
    blue_left[PARACHUTE] -= len(parachute)
    if rest == "pile":
        lay(s, "blue", [*np.repeat(np.arange(5), blue_left), *blue])
    else:
        lay(s, "blue", [*blue])
        s["blue_discard"][:] = blue_left
    s["blue_top"] = -1
    s["dealer"], s["on_turn"], s["player"], s["phase"] = players - 1, 0, 0, layout.DRAWING
    return Table(rules, state)


def dull_hand(left, fits):
    """Five cards of the middle cities of which most are left, none of which fits; taken out of the pack."""
    hand = []
    for _ in range(5):
        city = max((c for c in DULL if c != fits), key=lambda c: left[c])
        left[city] -= 1
        hand.append(city)
    return hand


def lay(s, pile, cards):
    s[pile][: len(cards)] = cards
    s[f"{pile}_size"] = len(cards)


def positions(players=4, games=6, plies=700):
    """Running positions all through random games."""
    for seed in range(games):
        for ply in range(0, plies, 7):
            state = game(players).random_position(seed, ply)
            if game(players).is_over(state):
                break
            yield state


# -- packs, players, dealing ------------------------------------------------------------------------


def test_red_pack_has_72_cards_fewer_of_the_last_cities():
    assert game(4).board["red"][0].tolist() == [0, 8, 7, 6, 6, 6, 6, 6, 6, 6, 6, 5, 4]
    assert game(4).board["red"][0].sum() == 72


def test_blue_pack_has_27_cards_of_five_kinds():
    blue = game(4).board["blue"][0]
    assert blue[[HIGH_SPEED, PARACHUTE, TRANSFER, DELAY, FAIR_WEATHER]].tolist() == [3, 3, 3, 8, 10]


def test_three_player_pack_lacks_one_boston_and_one_new_york():
    assert (game(4).board["red"] - game(3).board["red"])[0].tolist() == [0, 1, 1, *[0] * 10]


def test_two_player_pack_lacks_two_bostons_and_one_new_york():
    assert (game(4).board["red"] - game(2).board["red"])[0].tolist() == [0, 2, 1, *[0] * 10]


def test_blue_pack_is_the_same_for_all_numbers_of_players():
    assert game(2).board["blue"].tolist() == game(3).board["blue"].tolist() == game(4).board["blue"].tolist()


@pytest.mark.parametrize("players", [0, 1, 5])
def test_only_two_to_four_can_play(players):
    with pytest.raises(BadOption, match="players"):
        airenv.game("aviation", players=players)


@pytest.mark.parametrize("players", [2, 3, 4])
def test_everybody_is_dealt_five_cards_and_the_next_one_starts_the_discards(players):
    t = Table(game(players), game(players).new(3))
    assert t["held"].tolist() == [5] * players + [0] * (4 - players)
    assert t["discard_size"] == 1
    assert t["red_size"] == {2: 69, 3: 70, 4: 72}[players] - 5 * players - 1


def test_the_blue_pack_starts_whole_and_its_discards_empty():
    t = Table(game(), game().new(3))
    assert t["blue_size"] == 27 and t["blue_discard"].sum() == 0 and t["blue_top"] == layout.NO_CARD


def test_nobody_has_started_is_delayed_or_loses_a_turn_at_the_start():
    t = Table(game(), game().new(3))
    assert not t["pile"].any() and not t["delayed"].any() and not t["parachute"].any()


@pytest.mark.parametrize("pack", ["red", "blue"])
def test_both_packs_are_shuffled(pack):
    deals = {game().new(seed)[pack][0].tobytes() for seed in SEEDS}
    assert len(deals) == len(SEEDS)


def test_same_seed_deals_the_same_game():
    assert game().digest(game().new(8)) == game().digest(game().new(8))


@pytest.mark.parametrize("players", [2, 3, 4])
def test_dealer_is_random_and_the_player_to_the_left_starts(players):  # AV-01
    starts = [game(players).new(seed) for seed in range(60)]
    assert {int(s["dealer"][0]) for s in starts} == set(range(players))
    for s in starts:
        assert s["player"][0] == s["on_turn"][0] == (s["dealer"][0] + 1) % players


# -- drawing ----------------------------------------------------------------------------------------


def test_a_turn_draws_before_it_builds():  # AV-02
    t = table(hands=[[BOSTON, NEW_YORK, CHICAGO, CHICAGO, DETROIT]], red=[ST_LOUIS])
    assert t.legal() == [PILE, TOP]
    assert t["pile"][0] == 0
    t.play(PILE)
    assert t["pile"][0] == NEW_YORK


def test_drawing_from_the_pile_takes_its_top_card():
    t = table(hands=[DULL], red=[DENVER, SAN_FRANCISCO]).play(PILE)
    assert t.hand(0) == [*DULL, SAN_FRANCISCO]
    assert t["red"][t["red_size"] - 1] == DENVER and t.discards() == [DETROIT]


def test_drawing_from_the_discards_takes_their_top_card():
    t = table(hands=[DULL], discard=[DENVER, SAN_FRANCISCO])
    pile = int(t["red_size"])
    t.play(TOP)
    assert t.hand(0) == [*DULL, SAN_FRANCISCO]
    assert t.discards() == [DENVER] and t["red_size"] == pile


def test_with_no_discards_only_the_pile_can_be_drawn_from():
    assert table(discard=[]).legal() == [PILE]


def test_the_draw_makes_six_cards():
    t = table().play(PILE)
    assert t["held"].tolist() == [6, 5, 5, 5]


# -- building ---------------------------------------------------------------------------------------


def test_boston_held_or_drawn_starts_the_pile():
    assert table(hands=[DULL], red=[BOSTON]).play(PILE)["pile"][0] == BOSTON
    assert table(hands=[DULL], discard=[BOSTON]).play(TOP)["pile"][0] == BOSTON
    held = [BOSTON, *DULL[1:]]
    assert table(hands=[held], red=[ST_LOUIS]).play(PILE)["pile"][0] == BOSTON


def test_only_boston_starts_a_pile():
    t = table(hands=[[NEW_YORK, PHILADELPHIA, BALTIMORE, WASHINGTON, DENVER]], red=[CLEVELAND]).play(PILE)
    assert t["pile"][0] == 0 and t["held"][0] == 6


def test_building_is_forced_and_goes_on_in_sequence():  # AV-03
    t = table(hands=[[BOSTON, NEW_YORK, PHILADELPHIA, WASHINGTON, DENVER]], red=[DENVER]).play(PILE)
    assert t["pile"][0] == PHILADELPHIA
    assert t.hand(0) == [WASHINGTON, DENVER, DENVER]
    assert t.legal() == [PILE, TOP]


def test_a_city_is_laid_once_only():
    t = table(hands=[[BOSTON, BOSTON, *DULL[:3]]], red=[DENVER]).play(PILE)
    assert t["pile"][0] == BOSTON and t.hand(0) == [BOSTON, *DULL[:3], DENVER]


def test_a_card_already_laid_or_further_on_does_not_fit():
    t = table(hands=[[BOSTON, NEW_YORK, *DULL[:3]]], piles=[PHILADELPHIA], red=[WASHINGTON]).play(PILE)
    assert t["pile"][0] == PHILADELPHIA and t["held"][0] == 6


def test_one_only_builds_on_the_own_pile():
    t = table(hands=[[NEW_YORK, *DULL[1:]]], piles=[0, BOSTON], red=[DENVER]).play(PILE)
    assert t["pile"].tolist() == [0, BOSTON, 0, 0]


# -- refilling --------------------------------------------------------------------------------------


def draws_until_discard(t):
    draws = 0
    while t["phase"] == layout.DRAWING:
        t.play(PILE)
        draws += 1
    return draws


def test_example_one_card_played_draws_one_card():
    t = table(hands=[[BOSTON, *DULL[1:]]], red=[DENVER, DENVER, SAN_FRANCISCO]).play(PILE)
    assert t["pile"][0] == BOSTON and draws_until_discard(t) == 1 and t["held"][0] == 6


def test_example_three_cards_played_draw_three_cards():
    hand = [BOSTON, NEW_YORK, PHILADELPHIA, CHICAGO, DETROIT]
    t = table(hands=[hand], red=[DENVER, DENVER, DENVER, SAN_FRANCISCO]).play(PILE)
    assert t["pile"][0] == PHILADELPHIA and draws_until_discard(t) == 3 and t["held"][0] == 6


@pytest.mark.parametrize("played", range(1, 7))
def test_refill_is_as_many_as_were_played(played):  # AV-03
    hand = [BOSTON, NEW_YORK, PHILADELPHIA, BALTIMORE, WASHINGTON][: min(played, 5)]
    hand += [DENVER] * (5 - len(hand))
    first = CLEVELAND if played == 6 else ST_LOUIS
    t = table(hands=[hand], red=[CHICAGO, CHICAGO, CHICAGO, ST_LOUIS, ST_LOUIS, ST_LOUIS, first]).play(PILE)
    assert t["pile"][0] == played and t["held"][0] == 6 - played
    assert draws_until_discard(t) == played


def test_every_refill_card_may_come_from_either_pile_and_deeper_discards_come_up():  # AV-03
    hand = [BOSTON, NEW_YORK, PHILADELPHIA, CHICAGO, DETROIT]
    t = table(hands=[hand], discard=[DENVER, MINNEAPOLIS], red=[SAN_FRANCISCO, ST_LOUIS])
    t.play(PILE, TOP)
    assert t.legal() == [PILE, TOP] and t.discards() == [DENVER]
    t.play(TOP)
    assert t.legal() == [PILE]
    t.play(PILE)
    assert t.hand(0) == [DETROIT, CHICAGO, MINNEAPOLIS, ST_LOUIS, DENVER, SAN_FRANCISCO]


def test_nothing_is_laid_before_the_hand_is_full_again():  # AV-03
    hand = [BOSTON, NEW_YORK, CHICAGO, CHICAGO, DETROIT]
    t = table(hands=[hand], red=[DENVER, PHILADELPHIA, ST_LOUIS]).play(PILE, PILE)
    assert t["pile"][0] == NEW_YORK and PHILADELPHIA in t.hand(0)
    t.play(PILE)
    assert t["pile"][0] == PHILADELPHIA


def test_building_and_refilling_go_on_as_long_as_a_card_fits():
    t = table(hands=[[BOSTON, *DULL[1:]]], red=[DENVER, PHILADELPHIA, NEW_YORK, ST_LOUIS])
    t.play(PILE, PILE, PILE)
    assert t["pile"][0] == PHILADELPHIA and t["phase"] == layout.DRAWING
    t.play(PILE)
    assert t["phase"] == layout.DISCARDING and t["on_turn"] == 0


def test_san_francisco_drawn_in_a_refill_wins():  # AV-03, AV-10
    t = table(hands=[[ST_LOUIS, *DULL[:4]]], piles=[MINNEAPOLIS], red=[SAN_FRANCISCO, DENVER, BOSTON])
    t.play(PILE, PILE, PILE)
    assert t["winner"] == 0 and t["held"][0] == 5


# -- discarding -------------------------------------------------------------------------------------


def test_who_cannot_build_must_discard_one_of_the_cards_held():
    t = table(hands=[[DETROIT, DETROIT, CHICAGO, ST_LOUIS, DENVER]], red=[SAN_FRANCISCO]).play(PILE)
    assert t.legal() == [
        f"discard {city}" for city in ("Detroit", "Chicago", "St. Louis", "Denver", "San Francisco")
    ]


def test_a_discard_goes_face_up_on_top_and_leaves_five():
    t = table(hands=[DULL], red=[DENVER], blue=[FAIR_WEATHER]).play(PILE, "discard Chicago")
    assert t.discards() == [DETROIT, CHICAGO] and t["held"][0] == 5 and CHICAGO not in t.hand(0)


def test_a_card_taken_from_the_discards_may_be_discarded_again():
    t = table(discard=[DETROIT, DENVER]).play(TOP, "discard Denver")
    assert t.discards() == [DETROIT, DENVER]


def test_an_illegal_action_is_an_error_and_changes_nothing():
    t = table()
    before = t.game.digest(t.state)
    with pytest.raises(IllegalAction, match="draw from the pile"):
        t.play("discard Boston")
    assert t.game.digest(t.state) == before


# -- the end of a turn ------------------------------------------------------------------------------


def test_last_play_of_a_turn_is_the_top_blue_card():
    t = table(blue=[DELAY, FAIR_WEATHER]).play(PILE)
    assert t["blue_size"] == 27
    t.play("discard Chicago")
    assert t["blue_size"] == 26 and t["blue_top"] == FAIR_WEATHER and t["blue"][25] == DELAY


@pytest.mark.parametrize("players", [2, 3, 4])
def test_the_turn_passes_to_the_left(players):
    t = table(players, blue=[FAIR_WEATHER] * players)
    for seat in [*range(1, players), 0]:
        t.turn("Chicago")
        assert t["player"] == t["on_turn"] == seat and t.legal() == [PILE, TOP]


# -- high speed -------------------------------------------------------------------------------------


def test_high_speed_is_discarded_and_its_drawer_takes_another_turn():
    t = table(blue=[FAIR_WEATHER, HIGH_SPEED]).turn("Chicago")
    assert t["blue_discard"][HIGH_SPEED] == 1 and t["blue_top"] == HIGH_SPEED
    assert t["player"] == t["on_turn"] == 0 and t["turns"] == 2


def test_an_extra_turn_draws_first_and_from_either_pile():  # AV-02
    t = table(hands=[DULL], red=[ST_LOUIS], blue=[HIGH_SPEED]).turn("Chicago")
    assert t.legal() == [PILE, TOP] and t["held"][0] == 5
    t.play(TOP)
    assert CHICAGO in t.hand(0)


def test_an_extra_turn_ends_with_a_blue_card_too():
    t = table(blue=[FAIR_WEATHER, HIGH_SPEED, HIGH_SPEED]).turn().turn()
    assert t["player"] == 0 and t["blue_discard"][HIGH_SPEED] == 2
    t.turn()
    assert t["player"] == 1 and t["blue_size"] == 24


def test_a_blocked_player_takes_another_turn_too_and_may_be_released_in_it():
    hand = [NEW_YORK, *DULL[:4]]
    t = table(hands=[hand], piles=[BOSTON], delayed=[0], red=[DENVER] * 2, blue=[FAIR_WEATHER, HIGH_SPEED])
    t.turn("Denver").play(PILE)
    assert t["turns"] == 2 and t["pile"][0] == BOSTON and t["phase"] == layout.DISCARDING
    t.play("discard Denver")
    assert t["pile"][0] == NEW_YORK and t["player"] == 0 and t["turns"] == 2


def test_a_parachute_drawn_in_an_extra_turn_loses_the_next_one():
    t = table(2, blue=[FAIR_WEATHER, PARACHUTE, HIGH_SPEED]).turn().turn()
    assert t["parachute"].tolist() == [1, 0, 0, 0] and t["player"] == 1
    assert t.turn()["player"] == 1


# -- parachute --------------------------------------------------------------------------------------


def test_a_parachute_lies_in_front_of_its_drawer_and_the_turn_passes():
    t = table(blue=[PARACHUTE]).turn("Chicago")
    assert t["parachute"].tolist() == [1, 0, 0, 0] and t["player"] == 1
    assert t["blue_discard"].sum() == 0 and t["blue_top"] == layout.NO_CARD


def test_parachute_loses_the_next_turn_without_drawing():  # AV-08
    t = table(2, hands=[DULL, DULL], red=[DENVER, DENVER], blue=[FAIR_WEATHER, PARACHUTE])
    t.play(PILE, "discard Denver", PILE, "discard Denver")
    assert t["player"] == 1 and t["turns"] == 4
    assert t.hand(0) == DULL and t["blue_size"] == 25


def test_a_parachute_is_discarded_at_the_lost_turn_and_the_turn_after_is_played():  # AV-08
    t = table(2, blue=[FAIR_WEATHER, FAIR_WEATHER, PARACHUTE]).turn("Chicago")
    assert t["blue_discard"][PARACHUTE] == 0
    t.turn("Chicago")
    assert t["blue_discard"][PARACHUTE] == 1 and t["blue_top"] == PARACHUTE and not t["parachute"].any()
    t.turn()
    assert t["player"] == 0


def test_two_parachutes_in_a_row_lose_two_turns():  # AV-08
    t = table(2, blue=[PARACHUTE, PARACHUTE]).turn().turn()
    assert t["player"] == 0 and t["turns"] == 5 and t["blue_discard"][PARACHUTE] == 2


def test_a_lost_turn_passes_to_the_left():  # AV-08
    t = table(parachute=[1], blue=[FAIR_WEATHER]).turn("Chicago")
    assert t["player"] == t["on_turn"] == 2 and t["turns"] == 3 and t.legal() == [PILE, TOP]


def test_neighbours_lose_their_turns_one_after_the_other():  # AV-08
    t = table(parachute=[1, 2], blue=[FAIR_WEATHER]).turn("Chicago")
    assert t["player"] == 3 and t["turns"] == 4 and t["blue_discard"][PARACHUTE] == 2


def test_all_lose_a_turn_and_the_first_of_them_plays_again():  # AV-08
    t = table(3, blue=[PARACHUTE] * 3).turn().turn().turn()
    assert t["player"] == 0 and t["turns"] == 7 and not t["parachute"].any()


def test_a_delay_stays_on_the_pile_through_a_lost_turn():
    t = table(2, piles=[BOSTON, BOSTON], delayed=[1], parachute=[1], blue=[FAIR_WEATHER]).turn("Chicago")
    assert t["player"] == 0 and t["delayed"][1] and not t["parachute"][1]


# -- transfer mail ----------------------------------------------------------------------------------

HANDS = [
    [CLEVELAND, DETROIT, CHICAGO, CHICAGO, DENVER],
    [CLEVELAND, DETROIT, CHICAGO, MINNEAPOLIS, MINNEAPOLIS],
    [CLEVELAND, DETROIT, CHICAGO, ST_LOUIS, ST_LOUIS],
    [CLEVELAND, DETROIT, CHICAGO, DENVER, SAN_FRANCISCO],
]


def transfer(players=4, **position):
    position = {"hands": HANDS[:players], "red": [ST_LOUIS], "blue": [FAIR_WEATHER, TRANSFER], **position}
    return table(players, **position).turn("St. Louis")


def test_transfer_is_discarded_at_once_and_asks_everybody_from_the_drawer_leftward():  # AV-06
    t = transfer()
    assert t["blue_top"] == TRANSFER and t["blue_discard"][TRANSFER] == 1
    for seat, card in enumerate(("Denver", "Minneapolis", "St. Louis", "San Francisco")):
        assert t["player"] == seat and t["on_turn"] == 0
        t.play(f"pass {card}")


def test_each_passes_any_one_card_of_the_hand():
    assert transfer().legal() == ["pass Cleveland", "pass Detroit", "pass Chicago", "pass Denver"]


def test_transfer_moves_all_cards_at_once_to_the_left():  # AV-06
    t = transfer().play("pass Denver", "pass Minneapolis", "pass St. Louis")
    assert [t.hand(seat) for seat in range(4)] == [sorted(h) for h in HANDS]
    t.play("pass San Francisco")
    assert t.hand(0) == [CLEVELAND, DETROIT, CHICAGO, CHICAGO, SAN_FRANCISCO]
    assert t.hand(1) == [CLEVELAND, DETROIT, CHICAGO, MINNEAPOLIS, DENVER]
    assert t.hand(2) == [CLEVELAND, DETROIT, CHICAGO, MINNEAPOLIS, ST_LOUIS]
    assert t.hand(3) == [CLEVELAND, DETROIT, CHICAGO, ST_LOUIS, DENVER]


def test_a_card_received_cannot_be_passed_on():  # AV-06
    t = transfer().play("pass Denver")
    assert t["player"] == 1 and "pass Denver" not in t.legal()


def test_after_a_transfer_the_turn_ends_and_received_cards_wait_for_their_owners_turn():  # AV-06
    hands = [[BOSTON, BOSTON, *DULL[:3]], DULL]
    t = table(2, hands=hands, piles=[BOSTON, 0], blue=[TRANSFER], red=[DENVER, ST_LOUIS]).turn()
    t.play("pass Boston", "pass Chicago")
    assert t["player"] == t["on_turn"] == 1 and t.legal() == [PILE, TOP]
    assert t["pile"][1] == 0 and BOSTON in t.hand(1)
    t.play(PILE)
    assert t["pile"][1] == BOSTON


def test_blocked_and_parachuted_players_transfer_too():  # AV-06
    t = transfer(piles=[0, BOSTON], delayed=[1], parachute=[2])
    seats = []
    for card in ("Denver", "Minneapolis", "St. Louis", "San Francisco"):
        seats.append(int(t["player"]))
        t.play(f"pass {card}")
    assert seats == [0, 1, 2, 3] and t["delayed"][1] and t["parachute"][2]


def test_nobody_sees_anothers_choice_before_choosing():  # AV-06
    one, other = transfer().play("pass Denver"), transfer().play("pass Chicago")
    for seat in (1, 2, 3):
        assert np.array_equal(one.game.observe(one.state, seat), other.game.observe(other.state, seat))
        assert one.game.view(one.state, seat) == other.game.view(other.state, seat)
    assert not np.array_equal(one.game.observe(one.state, 0), other.game.observe(other.state, 0))


def test_that_somebody_has_chosen_is_seen():
    t = transfer().play("pass Denver")
    assert t.game.observe(t.state, 1)[layout.SLICES["has_chosen"]].tolist() == [0, 0, 0, 1]
    assert [seat["has_chosen"] for seat in t.game.view(t.state, 1)["seats"]] == [True, False, False, False]


def test_a_transfer_starts_with_its_drawer_whoever_that_is():  # AV-06
    t = table(hands=HANDS, red=[ST_LOUIS] * 3, blue=[TRANSFER, FAIR_WEATHER, FAIR_WEATHER])
    t.turn("St. Louis").turn("St. Louis").turn("St. Louis")
    for seat in (2, 3, 0, 1):
        assert t["player"] == seat and t["on_turn"] == 2
        t.play("pass Chicago")
    assert t["player"] == t["on_turn"] == 3 and t.legal() == [PILE, TOP]


def test_two_players_swap_and_three_pass_round():  # AV-06
    t = transfer(2).play("pass Denver", "pass Minneapolis")
    assert t.hand(0) == [CLEVELAND, DETROIT, CHICAGO, CHICAGO, MINNEAPOLIS]
    assert t.hand(1) == [CLEVELAND, DETROIT, CHICAGO, MINNEAPOLIS, DENVER]
    t = transfer(3).play("pass Denver", "pass Minneapolis", "pass St. Louis")
    assert [ST_LOUIS in t.hand(0), DENVER in t.hand(1), MINNEAPOLIS in t.hand(2)] == [True] * 3


def test_a_received_card_that_would_win_waits_for_its_owners_turn():  # AV-06, AV-10
    t = transfer(piles=[DENVER]).play(*["pass Chicago"] * 3, "pass San Francisco")
    assert SAN_FRANCISCO in t.hand(0) and not t.game.is_over(t.state) and t["player"] == 1


def test_after_a_transfer_a_parachuted_neighbour_loses_the_turn():
    t = transfer(parachute=[1]).play("pass Denver", "pass Minneapolis", "pass St. Louis", "pass Denver")
    assert t["player"] == 2 and not t["parachute"].any()


# -- delay ------------------------------------------------------------------------------------------


def test_delay_needs_a_started_unblocked_opponent():  # AV-05
    t = table(piles=[BOSTON, 0, BOSTON, BOSTON], delayed=[3], blue=[DELAY]).turn("Chicago")
    assert t["phase"] == layout.DELAYING and t["player"] == 0 and t.legal() == [SECOND]


def test_the_drawer_may_delay_any_such_opponent_not_only_the_furthest():  # AV-05
    t = table(piles=[BALTIMORE, BOSTON, NEW_YORK, PHILADELPHIA], blue=[DELAY]).turn("Chicago")
    assert t.legal() == [LEFT, SECOND, THIRD]
    t.play(LEFT)
    assert t["delayed"].tolist() == [0, 1, 0, 0] and t["blue_discard"].sum() == 0 and t["player"] == 1


def test_seats_to_delay_are_counted_from_the_drawer():
    t = table(piles=[BOSTON, 0, 0, 0], blue=[DELAY, FAIR_WEATHER]).turn().turn()
    assert t["player"] == 1 and t.legal() == [THIRD]
    t.play(THIRD)
    assert t["delayed"].tolist() == [1, 0, 0, 0] and t["player"] == 2


def test_delay_is_discarded_if_no_opponent_has_started():  # AV-05
    t = table(piles=[NEW_YORK], blue=[DELAY]).turn("Chicago")
    assert t["blue_top"] == DELAY and t["blue_discard"][DELAY] == 1
    assert not t["delayed"].any() and t["player"] == 1


def test_delay_is_discarded_if_every_started_opponent_is_blocked():  # AV-05
    t = table(piles=[0, NEW_YORK, BOSTON], delayed=[1, 2], blue=[DELAY]).turn("Chicago")
    assert t["blue_discard"][DELAY] == 1 and t["delayed"].tolist() == [0, 1, 1, 0] and t["player"] == 1


def test_an_unstarted_player_does_not_shield_the_others():  # AV-05
    t = table(piles=[0, NEW_YORK], blue=[DELAY]).turn("Chicago")
    assert t.legal() == [LEFT]


def test_a_parachuted_player_can_be_delayed():
    assert table(piles=[0, NEW_YORK], parachute=[1], blue=[DELAY]).turn("Chicago").legal() == [LEFT]


def test_a_blocked_player_draws_and_discards_but_does_not_build():
    t = table(hands=[[NEW_YORK, *DULL[:4]]], piles=[BOSTON], delayed=[0], red=[PHILADELPHIA], blue=[DELAY])
    t.play(PILE)
    assert t["pile"][0] == BOSTON and t["phase"] == layout.DISCARDING and t["held"][0] == 6
    t.play("discard Detroit")
    assert t["blue_size"] == 25 and t["delayed"][0] and t["player"] == 1


def test_a_blocked_player_may_lay_a_delay_too():
    t = table(piles=[BOSTON, BOSTON], delayed=[0], blue=[DELAY]).turn("Chicago")
    assert t.play(LEFT)["delayed"].tolist() == [1, 1, 0, 0]


def test_a_delay_stays_until_its_owner_draws_fair_weather():
    blue = [FAIR_WEATHER, FAIR_WEATHER, DELAY, FAIR_WEATHER, HIGH_SPEED]
    t = table(2, hands=[DULL], piles=[BOSTON, BOSTON], delayed=[0], red=[DENVER] * 4, blue=blue)
    t.turn("Denver")
    assert t["player"] == 0 and t["delayed"].tolist() == [1, 0, 0, 0]
    t.turn("Denver")
    assert t["player"] == 1 and not t["delayed"].any()


def test_only_two_play_and_the_other_one_is_delayed():
    t = table(2, piles=[BOSTON, BOSTON], blue=[DELAY]).turn("Chicago")
    assert t.legal() == [LEFT] and t.play(LEFT)["delayed"].tolist() == [0, 1, 0, 0] and t["player"] == 1


# -- fair weather -----------------------------------------------------------------------------------


def test_fair_weather_without_a_delay_is_discarded_and_the_turn_ends():
    t = table(hands=[DULL], piles=[BOSTON], blue=[FAIR_WEATHER]).turn("Chicago")
    assert t["blue_discard"].tolist() == [0, 0, 0, 0, 1] and t["player"] == 1


def test_fair_weather_helps_only_its_drawer():  # AV-07
    t = table(piles=[BOSTON, BOSTON], delayed=[1], blue=[FAIR_WEATHER]).turn("Chicago")
    assert t["delayed"][1] == 1 and t["blue_discard"].tolist() == [0, 0, 0, 0, 1]


def test_a_release_discards_both_cards_and_ends_the_turn_if_nothing_fits():  # AV-04
    t = table(hands=[DULL], piles=[BOSTON], delayed=[0], red=[ST_LOUIS], blue=[FAIR_WEATHER]).turn("Chicago")
    assert t["blue_discard"].tolist() == [0, 0, 0, 1, 1] and not t["delayed"].any()
    assert t["player"] == 1 and t["pile"][0] == BOSTON and t["held"][0] == 5


def released(**position):
    hand = [NEW_YORK, PHILADELPHIA, CHICAGO, CHICAGO, DETROIT]
    position = {"hands": [hand], "piles": [BOSTON], "blue": [HIGH_SPEED, FAIR_WEATHER], **position}
    return table(delayed=[0], **position).turn("St. Louis")


def test_a_release_builds_from_five_cards_at_once():  # AV-04
    t = released(red=[DENVER, DENVER, DENVER, ST_LOUIS])
    assert t["pile"][0] == PHILADELPHIA and t.hand(0) == [DETROIT, CHICAGO, CHICAGO]
    assert t["player"] == t["on_turn"] == 0 and t["turns"] == 1 and t.legal() == [PILE, TOP]


def test_after_a_release_the_hand_refills_to_six():  # AV-04
    t = released(red=[DENVER, DENVER, DENVER, ST_LOUIS])
    assert draws_until_discard(t) == 3 and t["held"][0] == 6


def test_after_a_release_building_goes_on_and_a_blue_card_is_drawn_again():  # AV-04
    t = released(red=[DENVER, DENVER, BALTIMORE, DENVER, ST_LOUIS]).play(PILE, PILE, PILE)
    assert t["pile"][0] == BALTIMORE and t["held"][0] == 5
    t.play(PILE, "discard Denver")
    assert t["blue_top"] == HIGH_SPEED and t["player"] == 0 and t["turns"] == 2


def test_a_released_pile_can_be_delayed_again():
    t = table(piles=[BOSTON, NEW_YORK], delayed=[1], blue=[DELAY, FAIR_WEATHER, FAIR_WEATHER])
    t.turn().turn().turn()
    assert t["player"] == 2 and t.legal() == [SECOND, THIRD]


def test_the_refill_after_a_release_may_come_from_the_discards():  # AV-04
    t = released(red=[DENVER, DENVER, DENVER, ST_LOUIS])
    assert t.discards()[-1] == ST_LOUIS
    assert ST_LOUIS in t.play(TOP).hand(0)


@pytest.mark.parametrize("blue", [DELAY, FAIR_WEATHER, PARACHUTE, TRANSFER])
def test_the_second_blue_card_after_a_release_counts_like_any_other(blue):  # AV-04
    t = released(piles=[BOSTON, BOSTON], red=[DENVER] * 3 + [ST_LOUIS], blue=[blue, FAIR_WEATHER])
    t.play(PILE, PILE, PILE, "discard Denver")
    assert t["held"].tolist() == [5] * 4 and t["turns"] == (2 if blue in (FAIR_WEATHER, PARACHUTE) else 1)
    assert t["parachute"][0] == (blue == PARACHUTE)
    assert t["player"] == (0 if blue in (DELAY, TRANSFER) else 1)
    assert t.legal()[0] == {DELAY: LEFT, TRANSFER: "pass Detroit"}.get(blue, PILE)


# -- the end of the game ----------------------------------------------------------------------------


def test_the_game_ends_at_once_when_san_francisco_is_laid():  # AV-10
    t = table(hands=[[DENVER, *DULL[:4]]], piles=[ST_LOUIS, DENVER], red=[SAN_FRANCISCO]).play(PILE)
    assert t.game.is_over(t.state) and not t.game.is_truncated(t.state)
    assert t["winner"] == 0 and t["player"] == -1 and t["pile"][0] == SAN_FRANCISCO
    assert t["blue_size"] == 27 and t["held"][0] == 4 and t.legal() == []


def test_a_release_can_win_the_game():  # AV-10
    t = table(
        hands=[[SAN_FRANCISCO, *DULL[:4]]], piles=[DENVER], delayed=[0], red=[ST_LOUIS], blue=[FAIR_WEATHER]
    )
    assert t.turn("St. Louis")["winner"] == 0


def test_denver_does_not_win():
    t = table(hands=[[DENVER, *DULL[:4]]], piles=[ST_LOUIS], red=[BOSTON]).play(PILE)
    assert t["pile"][0] == DENVER and not t.game.is_over(t.state)


def test_all_but_the_winner_share_the_last_place():  # AV-10
    t = table(hands=[[SAN_FRANCISCO, *DULL[:4]]], piles=[DENVER, ST_LOUIS, BOSTON], red=[BOSTON]).play(PILE)
    assert t.game.scores(t.state).tolist() == [1, 0, 0, 0]
    rewards = t.game.returns(t.state)
    assert rewards[0] == 1 and np.allclose(rewards[1:], -1 / 3)


def test_nothing_can_be_done_in_a_finished_game():
    t = table(hands=[[SAN_FRANCISCO, *DULL[:4]]], piles=[DENVER], red=[BOSTON]).play(PILE)
    with pytest.raises(GameOver):
        t.play(PILE)
    with pytest.raises(GameOver):
        t.game.suggest(t.state)


def test_by_default_400_turns_are_played_at_most():  # AV-12
    assert game().options.max_turns == 400
    assert max(int(game().random_position(seed, 10**6)["turns"][0]) for seed in range(40)) <= 400


def test_truncation_comes_after_max_turns_and_nobody_wins():  # AV-12
    t = table(2, max_turns=3, blue=[FAIR_WEATHER] * 3).turn().turn().play(PILE)
    assert not t.game.is_over(t.state) and t["turns"] == 3
    t.play(t.legal()[0])
    assert t.game.is_truncated(t.state) and t["winner"] == -1 and t["player"] == -1 and t["turns"] == 3
    assert t.game.scores(t.state).tolist() == t.game.returns(t.state).tolist() == [0, 0]


def test_a_win_in_the_last_turn_counts():  # AV-12
    t = table(2, max_turns=1, hands=[[SAN_FRANCISCO, *DULL[:4]]], piles=[DENVER], red=[BOSTON]).play(PILE)
    assert t["winner"] == 0 and not t.game.is_truncated(t.state)


def test_lost_turns_count_towards_the_limit():  # AV-12
    t = table(2, max_turns=3, blue=[FAIR_WEATHER, PARACHUTE]).turn().turn()
    assert t.game.is_truncated(t.state) and t["blue_discard"][PARACHUTE] == 1


def test_extra_turns_count_towards_the_limit():  # AV-12
    t = table(2, max_turns=2, blue=[HIGH_SPEED, HIGH_SPEED]).turn().turn()
    assert t.game.is_truncated(t.state)


@pytest.mark.parametrize("max_turns", [0, -1, 10**6 + 1])
def test_the_limit_is_a_number_of_turns(max_turns):
    with pytest.raises(BadOption, match="max_turns"):
        airenv.game("aviation", max_turns=max_turns)


def test_a_blocked_player_does_not_win_with_san_francisco_in_hand():
    t = table(hands=[[SAN_FRANCISCO, *DULL[:4]]], piles=[DENVER], delayed=[0], blue=[DELAY]).turn("Detroit")
    assert not t.game.is_over(t.state) and t["pile"][0] == DENVER and t["player"] == 1


@pytest.mark.parametrize(("players", "rewards"), [(2, [1, -1]), (3, [1, -0.5, -0.5])])
def test_rewards_of_two_and_three_players_sum_to_zero(players, rewards):  # AV-10
    t = table(players, hands=[[SAN_FRANCISCO, *DULL[:4]]], piles=[DENVER, BOSTON], red=[BOSTON]).play(PILE)
    assert t.game.returns(t.state).tolist() == rewards


# -- new piles --------------------------------------------------------------------------------------


def test_red_pile_is_renewed_as_soon_as_its_last_card_is_drawn():  # AV-09
    t = table(hands=[DULL], red=[DENVER], discard=[BOSTON, CHICAGO], rest="discard")
    cards = sorted(t.discards())
    t.play(PILE)
    assert t.hand(0) == [*DULL, DENVER] and t["discard_size"] == 1 and t["red_size"] == len(cards) - 1
    assert sorted([*t["red"][: t["red_size"]].tolist(), *t.discards()]) == cards


def test_red_pile_is_renewed_in_the_middle_of_a_refill():  # AV-09
    hand = [BOSTON, NEW_YORK, PHILADELPHIA, CHICAGO, DETROIT]
    t = table(hands=[hand], red=[DENVER, ST_LOUIS], rest="discard").play(PILE, PILE)
    assert t["phase"] == layout.DRAWING and t["discard_size"] == 1 and t["red_size"] > 30
    assert t.legal() == [PILE, TOP]


def test_taking_a_discard_does_not_renew_the_red_pile():
    assert table(red=[DENVER], rest="discard").play(TOP)["red_size"] == 1


def test_the_new_red_pile_is_shuffled():
    t = table(red=[DENVER], rest="discard")
    tops = set()
    for seed in SEEDS:
        other = Table(t.game, t.state.copy())
        other.state["rng"] = seed + 1
        tops.add(tuple(other.play(PILE)["red"][:10].tolist()))
    assert len(tops) == len(SEEDS)


def test_red_pile_is_renewed_at_the_tightest():  # AV-09: seven cards are left at least
    hands = [[BOSTON, BOSTON, BOSTON, BOSTON, NEW_YORK], [NEW_YORK, NEW_YORK, *[PHILADELPHIA] * 2, BALTIMORE]]
    hands += [
        [BALTIMORE, *[WASHINGTON] * 2, *[CLEVELAND] * 2],
        [DETROIT, DETROIT, *[CHICAGO] * 2, MINNEAPOLIS],
    ]
    t = table(hands=hands, piles=[DENVER] * 4, red=[MINNEAPOLIS], discard=[], rest="discard")
    assert t["discard_size"] == 7
    t.play(PILE)
    assert t["red_size"] == 6 and t["discard_size"] == 1


def test_blue_pile_is_renewed_when_a_draw_is_needed():  # AV-09
    t = table(2, blue=[FAIR_WEATHER], rest="discard", red=[DENVER, DENVER, DENVER]).turn("Chicago")
    assert t["blue_size"] == 0 and t["blue_discard"].sum() == 27
    t.turn("Chicago")
    assert t["blue_size"] == 26 and t["blue_discard"].sum() <= 1


def test_delays_and_parachutes_on_the_table_stay_there_when_the_blue_pile_is_renewed():  # AV-09
    where = {"delayed": [0, 3], "parachute": [2], "blue": [], "rest": "discard"}
    t = table(hands=[DULL], piles=[BOSTON, 0, 0, BOSTON], red=[DENVER, DENVER], **where)
    blue = t["blue_discard"].copy()
    assert blue.tolist() == [3, 2, 3, 6, 10]
    t.play(PILE, "discard Denver")
    assert t["delayed"][3] and t["parachute"][2] and t["blue_size"] == 23


def test_the_new_blue_pile_is_shuffled_and_its_discards_start_afresh():  # AV-09
    t = table(blue=[], rest="discard", red=[DENVER, DENVER]).play(PILE)
    piles = set()
    for seed in SEEDS:
        other = Table(t.game, t.state.copy())
        other.state["rng"] = seed + 1
        other.play("discard Chicago")
        assert other["blue_size"] == 26 and (other["blue_top"] < 0) == (other["blue_discard"].sum() == 0)
        piles.add(other["blue"].tobytes())
    assert len(piles) == len(SEEDS)


# -- what is known ----------------------------------------------------------------------------------


def test_cards_taken_openly_are_known_to_all():  # AV-11
    t = table(discard=[DETROIT, DENVER]).play(TOP, "discard Chicago")
    assert [t.known(observer, 0) for observer in (1, 2, 3)] == [[DENVER]] * 3


def test_cards_drawn_from_the_pile_are_not_known():  # AV-11
    t = table(red=[DENVER]).play(PILE, "discard Chicago")
    assert [t.known(observer, 0) for observer in (1, 2, 3)] == [[]] * 3


def test_a_known_card_that_is_discarded_or_laid_is_no_longer_in_the_hand():
    t = table(discard=[DETROIT, DENVER]).play(TOP, "discard Denver")
    assert t.known(1, 0) == []
    t = table(discard=[DETROIT, BOSTON]).play(TOP)
    assert t["pile"][0] == BOSTON and t.known(1, 0) == []


def test_of_two_cards_of_a_city_one_known_the_discarded_one_may_be_it():  # AV-11
    t = table(hands=[[DENVER, *DULL[:4]]], discard=[DETROIT, DENVER], red=[ST_LOUIS]).play(
        TOP, "discard Denver"
    )
    assert DENVER in t.hand(0) and t.known(1, 0) == []


def passed_on():
    return transfer().play("pass Denver", "pass Minneapolis", "pass St. Louis", "pass San Francisco")


def test_the_sender_of_a_transfer_knows_what_the_left_neighbour_holds():  # AV-11
    t = passed_on()
    assert [t.known(seat, (seat + 1) % 4) for seat in range(4)] == [
        [DENVER],
        [MINNEAPOLIS],
        [ST_LOUIS],
        [SAN_FRANCISCO],
    ]


def test_nobody_else_learns_what_was_passed():  # AV-11
    t = passed_on()
    for observer in range(4):
        for away in (2, 3):
            assert t.known(observer, (observer + away) % 4) == []


def test_the_sender_knows_until_such_a_card_is_played():  # AV-11
    t = passed_on().play(PILE, "discard Denver")
    assert t.known(0, 1) == []


def test_a_transfer_may_have_taken_any_card_known_before():  # AV-11
    t = table(hands=[HANDS[0]], discard=[DETROIT, SAN_FRANCISCO], blue=[TRANSFER]).play(
        TOP, "discard Chicago"
    )
    assert t.known(2, 0) == [SAN_FRANCISCO]
    t.play("pass Denver", *["pass Cleveland"] * 3)
    assert SAN_FRANCISCO in t.hand(0) and t.known(2, 0) == []


def test_the_receiver_of_a_transfer_still_knows_the_cards_it_was_not():  # AV-11: it saw which card came
    t = table(hands=[HANDS[0]], discard=[DETROIT, SAN_FRANCISCO], blue=[TRANSFER]).play(
        TOP, "discard Chicago"
    )
    t.play("pass Denver", *["pass Cleveland"] * 3)
    assert t.known(1, 0) == [SAN_FRANCISCO]


def test_who_did_not_build_holds_nothing_that_fits():  # AV-11
    t = table(hands=[DULL], red=[DENVER]).play(PILE)
    assert t.lacking(1, 0) and t.lacking(2, 0) and t.lacking(3, 0)
    assert not t.lacking(0, 1)


def test_nothing_is_known_of_what_a_blocked_hand_lacks():  # AV-11
    t = table(hands=[[NEW_YORK, *DULL[:4]]], piles=[BOSTON], delayed=[0], blue=[DELAY]).turn("Detroit")
    assert not t.lacking(1, 0)


def test_a_release_that_builds_nothing_shows_that_nothing_fits():  # AV-11
    t = table(hands=[DULL], piles=[BOSTON], delayed=[0], red=[ST_LOUIS], blue=[FAIR_WEATHER]).turn("Chicago")
    assert t.lacking(1, 0)


def test_a_card_from_the_pile_may_fit_again_and_one_taken_openly_is_seen():  # AV-11
    t = table(
        2, hands=[DULL], piles=[BOSTON, BOSTON], blue=[FAIR_WEATHER, DELAY, FAIR_WEATHER], red=[DENVER] * 3
    )
    t.turn("Denver").play(PILE, "discard Chicago", LEFT)
    assert t["player"] == 0 and t["delayed"][0] and t.lacking(1, 0)
    taken, drawn = Table(t.game, t.state.copy()).play(TOP), t.play(PILE)
    assert taken.lacking(1, 0) and taken.known(1, 0) == [CHICAGO]
    assert not drawn.lacking(1, 0)


def test_after_a_transfer_any_hand_may_fit_again():  # AV-11
    t = transfer()
    assert t.lacking(1, 0)
    t.play("pass Denver", "pass Minneapolis", "pass St. Louis", "pass San Francisco")
    assert not any(t["lacks"])


def test_hands_are_hidden_and_counts_are_public():  # AV-11
    t = table(hands=HANDS)
    seats = t.game.view(t.state, 1)["seats"]
    assert [seat["hand"] is None for seat in seats] == [True, False, True, True]
    assert [seat["cards"] for seat in seats] == [5, 5, 5, 5]
    assert all(seat["hand"] for seat in t.game.view(t.state, None)["seats"])


@pytest.mark.parametrize("players", [2, 3, 4])
def test_a_seat_sees_the_same_in_every_world_it_must_hold_possible(players):
    for i, state in enumerate(positions(players)):
        for seat in range(players):
            world = game(players).determinize(state, seat, i)
            game(players).check(world)
            assert np.array_equal(game(players).observe(state, seat), game(players).observe(world, seat))
            assert game(players).view(state, seat) == game(players).view(world, seat)


def test_unseen_cards_are_those_in_the_pile_and_unknown_in_hands():
    for state in positions(3, games=2):
        seen = game(3).observe(state, 1)
        unseen = np.rint(seen[layout.SLICES["unseen"]] * 6).astype(int)
        hidden = (
            state["hand"][0][[0, 2], 1:].sum(0)
            - state["known"][0][[0, 2], 1:, 1].sum(0)
        )
        pile = np.bincount(state["red"][0][: state["red_size"][0]], minlength=13)[1:]
        assert unseen.tolist() == (hidden + pile).tolist()


def test_observation_slices_cover_the_vector_and_tell_own_cards_and_piles():
    t = table(hands=[HANDS[0]], piles=[BOSTON, NEW_YORK], discard=[DETROIT, DENVER])
    seen = t.game.observe(t.state, 0)
    assert sorted(i for s in layout.SLICES.values() for i in range(s.start, s.stop)) == list(range(len(seen)))
    assert np.rint(seen[layout.SLICES["hand"]] * 3).astype(int).tolist() == t["hand"][0][1:].tolist()
    assert np.rint(seen[layout.SLICES["pile"]] * 12).astype(int).tolist() == [BOSTON, NEW_YORK, 0, 0]
    top = seen[layout.SLICES["top"]].reshape(6, 12)
    assert [int(row.argmax()) + 1 for row in top if row.any()] == [DENVER, DETROIT]
    assert seen[layout.SLICES["next"]].argmax() + 1 == NEW_YORK


def test_two_players_know_the_cards_they_swapped():  # AV-11
    t = transfer(2).play("pass Denver", "pass Minneapolis")
    assert t.known(0, 1) == [DENVER] and t.known(1, 0) == [MINNEAPOLIS]


def test_a_card_passed_on_in_the_next_transfer_is_known_to_its_last_sender_only():  # AV-11
    t = transfer(blue=[TRANSFER, TRANSFER], red=[ST_LOUIS] * 2)
    t.play("pass Denver", *["pass Cleveland"] * 3).turn("St. Louis")
    t.play("pass Denver", *["pass Detroit"] * 3)
    assert DENVER in t.hand(2) and t.known(1, 2) == [DENVER]
    assert t.known(0, 2) == t.known(3, 2) == [] and t.known(0, 1) == [DETROIT]


def test_a_lost_turn_changes_nothing_that_is_known():  # AV-11
    t = table(2, hands=[DULL], red=[ST_LOUIS], discard=[DETROIT, DENVER], blue=[FAIR_WEATHER, PARACHUTE])
    t.play(TOP, "discard Chicago").turn()
    assert t["player"] == 1 and t.known(1, 0) == [DENVER] and t.lacking(1, 0)


# -- possible worlds --------------------------------------------------------------------------------


def test_determinize_keeps_the_own_hand_and_redraws_what_is_hidden():
    t = table(hands=HANDS)
    worlds = t.worlds(1)
    assert all(world.hand(1) == t.hand(1) for world in worlds)
    for seat in (0, 2, 3):
        assert len({tuple(world.hand(seat)) for world in worlds}) > 10
    assert len({world["red"][: world["red_size"]].tobytes() for world in worlds}) == len(worlds)
    assert len({world["blue"][: world["blue_size"]].tobytes() for world in worlds}) == len(worlds)


def test_determinize_leaves_the_state_alone():
    t = table(hands=HANDS)
    before = t.game.digest(t.state)
    t.worlds(1)
    assert t.game.digest(t.state) == before


def test_determinize_keeps_cards_taken_openly():
    t = table(discard=[DETROIT, SAN_FRANCISCO], blue=[FAIR_WEATHER]).play(TOP, "discard Chicago")
    assert all(SAN_FRANCISCO in world.hand(0) for world in t.worlds(2))


def test_determinize_keeps_the_card_its_seat_passed():
    t = passed_on()
    assert all(SAN_FRANCISCO in world.hand(0) for world in t.worlds(3))
    assert not all(SAN_FRANCISCO in world.hand(0) for world in t.worlds(2))


def test_determinize_keeps_what_the_right_neighbour_knows_of_the_own_hand_only():
    for world in passed_on().worlds(1):
        known = world["known"]  # [holder, city, observer]
        assert known[1, DENVER, 0] == 1 and known[2, MINNEAPOLIS, 1] == 1
        assert not known[3].any() and not known[0].any()


def test_determinize_honours_lacks():
    t = table(hands=[DULL], red=[DENVER], blue=[FAIR_WEATHER]).turn("Chicago")
    worlds = t.worlds(1, 200)
    assert not any(BOSTON in world.hand(0) for world in worlds)
    assert any(BOSTON in world.hand(2) for world in worlds)


def test_determinize_draws_choices_of_a_transfer_anew():
    t = transfer().play("pass Denver", "pass Minneapolis")
    worlds = t.worlds(2, 60)
    for world in worlds:
        assert all(world["passing"][seat] in world.hand(seat) for seat in (0, 1))
        assert world["passing"][2] == world["passing"][3] == 0
    assert len({int(world["passing"][0]) for world in worlds}) > 3


def test_determinize_keeps_the_own_choice_of_a_transfer():
    t = transfer().play("pass Denver", "pass Minneapolis")
    assert {int(world["passing"][0]) for world in t.worlds(0)} == {DENVER}


def test_determinize_keeps_the_blue_card_that_is_being_laid():
    t = table(piles=[0, BOSTON], blue=[DELAY]).turn("Chicago")
    for world in t.worlds(0):
        assert world["blue_size"] == 26 and world.legal() == [LEFT]


def test_determinize_draws_future_chance_anew():
    t = table(red=[DENVER], rest="discard")
    assert len({tuple(world.play(PILE)["red"][:10].tolist()) for world in t.worlds(0)}) > 20


def test_determinize_keeps_no_trace_of_a_hidden_draw():
    # The same but for the card drawn: whoever did not see it gets the same world, byte by byte.
    denver = table(hands=[DULL], red=[SAN_FRANCISCO, DENVER]).play(PILE)
    frisco = table(hands=[DULL], red=[DENVER, SAN_FRANCISCO]).play(PILE)
    worlds = [t.game.determinize(t.state, 1, 5) for t in (denver, frisco)]
    assert worlds[0].tobytes() == worlds[1].tobytes()


# -- the rule-of-thumb player -----------------------------------------------------------------------


@pytest.mark.parametrize("players", [2, 3, 4])
def test_suggestions_are_legal_everywhere(players):
    for state in positions(players):
        assert game(players).suggest(state) in game(players).legal_actions(state)


@pytest.mark.parametrize("players", [2, 3, 4])
def test_suggestions_and_values_rest_on_what_the_seat_knows(players):
    for i, state in enumerate(positions(players, games=3)):
        world = game(players).determinize(state, game(players).player(state), i)
        assert game(players).suggest(world) == game(players).suggest(state)
        assert game(players).value(world).tolist() == game(players).value(state).tolist()


@pytest.mark.parametrize("players", [2, 3, 4])
def test_the_rule_of_thumb_player_finishes_its_games(players):
    rules = game(players)
    for seed in range(5):
        t = Table(rules, rules.new(seed))
        while not rules.is_over(t.state):
            rules.apply(t.state, rules.suggest(t.state))
        assert t["winner"] >= 0


def test_suggestion_takes_a_wanted_discard_and_delays_the_furthest():
    t = table(discard=[DETROIT, BOSTON])
    assert t.game.action_name(t.game.suggest(t.state)) == TOP
    t = table(piles=[0, BOSTON, PHILADELPHIA, NEW_YORK], blue=[DELAY]).turn("Chicago")
    assert t.game.action_name(t.game.suggest(t.state)) == SECOND


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
        s["lacks"][0] = 1
    elif law == 6:
        s["discard"][: s["discard_size"] + s["red_size"]] = [
            *s["discard"][: s["discard_size"]],
            *s["red"][: s["red_size"]],
        ]
        s["discard_size"], s["red_size"] = s["discard_size"] + s["red_size"], 0
    else:
        s["winner"] = 2


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
    message = problems_of(
        tmp_path, ("delay = 8", 'delay = "many"'), ("parachute", "parachutes"), ("[8, 7", "[-1, 7")
    )
    assert "3 problem" not in message and "4 problem" in message
    for key in ("blue.delay", "blue.parachute", "blue.parachutes", "red.cards.0"):
        assert f"{key}:" in message


def test_a_bad_file_lists_all_that_makes_its_packs_unplayable_at_once(tmp_path):
    changes = [('"Denver"', '"Boston"'), ("cards = [8", "cards = [9"), ("high_speed = 3", "high_speed = 30")]
    message = problems_of(tmp_path, *changes)
    for problem in ("red: two cities have the same name", "red: 73 cards", "blue: 54 cards, at most 27"):
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
    none = [
        (f"{kind} = {n}", f"{kind} = 0")
        for kind, n in (("high_speed", 3), ("transfer", 3), ("fair_weather", 10))
    ]
    message = problems_of(tmp_path, *none, ("delay = 8", "delay = 4"))
    assert "none left to draw" in message
