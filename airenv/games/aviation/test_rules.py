"""The rules of a turn and of the game's end, one test a rule, each named after what it says."""

import numpy as np
import pytest

import airenv
from airenv.core.errors import BadOption, GameOver, IllegalAction
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
    MINNEAPOLIS,
    NEW_YORK,
    PHILADELPHIA,
    PILE,
    SAN_FRANCISCO,
    SEEDS,
    ST_LOUIS,
    TOP,
    WASHINGTON,
    Table,
    draws_until_discard,
    game,
    table,
)

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
    assert t.legal() == [f"discard {city}" for city in ("Detroit", "Chicago", "St. Louis", "Denver", "San Francisco")]


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


# -- the end of the game ----------------------------------------------------------------------------


def test_the_game_ends_at_once_when_san_francisco_is_laid():  # AV-10
    t = table(hands=[[DENVER, *DULL[:4]]], piles=[ST_LOUIS, DENVER], red=[SAN_FRANCISCO]).play(PILE)
    assert t.game.is_over(t.state) and not t.game.is_truncated(t.state)
    assert t["winner"] == 0 and t["player"] == -1 and t["pile"][0] == SAN_FRANCISCO
    assert t["blue_size"] == 27 and t["held"][0] == 4 and t.legal() == []


def test_a_release_can_win_the_game():  # AV-10
    t = table(hands=[[SAN_FRANCISCO, *DULL[:4]]], piles=[DENVER], delayed=[0], red=[ST_LOUIS], blue=[FAIR_WEATHER])
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


def test_a_renewed_blue_pile_leaves_no_discard_on_top():
    t = table(blue=[HIGH_SPEED], rest="discard", piles=[0, BOSTON], red=[DETROIT, DETROIT, DETROIT]).turn()
    assert t["blue_top"] == HIGH_SPEED and t["blue_size"] == 0
    t.turn()
    told = t.game.view(t.state, 0)["blue"]
    assert t["blue_size"] == 26 and sum(told["discards"].values()) == (told["top"] is not None)
