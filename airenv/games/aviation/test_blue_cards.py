"""What the blue cards do, one test a rule, each named after what it says."""

import numpy as np
import pytest

from airenv.games.aviation import layout
from airenv.games.aviation.layout import DELAY, FAIR_WEATHER, HIGH_SPEED, PARACHUTE, TRANSFER
from airenv.games.aviation.testing import (
    BALTIMORE,
    BOSTON,
    CHICAGO,
    CLEVELAND,
    DENVER,
    DETROIT,
    DULL,
    HANDS,
    LEFT,
    MINNEAPOLIS,
    NEW_YORK,
    PHILADELPHIA,
    PILE,
    SAN_FRANCISCO,
    SECOND,
    ST_LOUIS,
    THIRD,
    TOP,
    draws_until_discard,
    table,
    transfer,
)

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


def test_of_a_release_fair_weather_lies_on_top_of_the_delay():
    t = table(hands=[DULL], piles=[BOSTON], delayed=[0], red=[ST_LOUIS], blue=[FAIR_WEATHER]).turn("Chicago")
    assert t["blue_top"] == FAIR_WEATHER and t.game.view(t.state, 1)["blue"]["top"] == "fair weather"


# -- the news ----------------------------------------------------------------------------------------


def news(t, name):
    """What everybody saw come of an action."""
    before = t.game.clone(t.state)
    t.play(name)
    return t.game.happenings(before, t.state)


def test_the_news_tell_what_everybody_saw():
    t = table(hands=[[BOSTON, NEW_YORK, *DULL[:3]]], red=[ST_LOUIS])
    assert news(t, PILE) == ["Player 0 lays Boston, New York"]
    blocked = {"piles": [BOSTON], "delayed": [0], "red": [ST_LOUIS], "blue": [FAIR_WEATHER]}
    t = table(hands=[DULL], **blocked).play(PILE)
    assert news(t, "discard Chicago") == ["the blue card is fair weather", "the delay is lifted"]
    t = table(hands=[[NEW_YORK, *DULL[:4]]], piles=[BOSTON], delayed=[0], red=[ST_LOUIS], blue=[FAIR_WEATHER]).play(
        PILE
    )
    told = news(t, "discard Detroit")
    assert told == ["the blue card is fair weather", "the delay is lifted", "Player 0 lays New York"]
    t = transfer().play("pass Denver", "pass Minneapolis", "pass St. Louis")
    assert news(t, "pass San Francisco") == ["all cards move to the left"]


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_the_news_tell_who_loses_a_turn(lost):
    t = table(parachute=range(1, 1 + lost), red=[ST_LOUIS], blue=[FAIR_WEATHER]).play(PILE)
    told = news(t, t.legal()[-1])
    assert told == ["the blue card is fair weather", *(f"Player {seat} loses a turn" for seat in range(1, 1 + lost))]


def test_the_news_tell_of_a_win_and_of_a_cut_off():
    t = table(hands=[[SAN_FRANCISCO, *DULL[:4]]], piles=[DENVER], red=[ST_LOUIS])
    assert news(t, PILE) == ["Player 0 lays San Francisco", "Player 0 wins"]
    t = table(2, max_turns=3, blue=[FAIR_WEATHER, PARACHUTE]).turn().play(PILE)
    told = news(t, t.legal()[-1])
    assert told == ["the blue card is fair weather", "Player 0 loses a turn", "the game is cut off"]
