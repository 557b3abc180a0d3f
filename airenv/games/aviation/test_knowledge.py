"""What seats know, see and may imagine, and the rule-of-thumb player."""

from pathlib import Path

import numpy as np
import pytest

from airenv.games.aviation import layout
from airenv.games.aviation.layout import DELAY, FAIR_WEATHER, PARACHUTE, TRANSFER
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
    TOP,
    WASHINGTON,
    Table,
    game,
    passed_on,
    positions,
    table,
    transfer,
)

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
    t = table(hands=[[DENVER, *DULL[:4]]], discard=[DETROIT, DENVER], red=[ST_LOUIS]).play(TOP, "discard Denver")
    assert DENVER in t.hand(0) and t.known(1, 0) == []


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
    t = table(hands=[HANDS[0]], discard=[DETROIT, SAN_FRANCISCO], blue=[TRANSFER]).play(TOP, "discard Chicago")
    assert t.known(2, 0) == [SAN_FRANCISCO]
    t.play("pass Denver", *["pass Cleveland"] * 3)
    assert SAN_FRANCISCO in t.hand(0) and t.known(2, 0) == []


def test_the_receiver_of_a_transfer_still_knows_the_cards_it_was_not():  # AV-11: it saw which card came
    t = table(hands=[HANDS[0]], discard=[DETROIT, SAN_FRANCISCO], blue=[TRANSFER]).play(TOP, "discard Chicago")
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
    t = table(2, hands=[DULL], piles=[BOSTON, BOSTON], blue=[FAIR_WEATHER, DELAY, FAIR_WEATHER], red=[DENVER] * 3)
    t.turn("Denver").play(PILE, "discard Chicago", LEFT)
    assert t["player"] == 0 and t["delayed"][0] and t.lacking(1, 0)
    taken, drawn = Table(t.game, t.state.copy()).play(TOP), t.play(PILE)
    assert taken.lacking(1, 0) and taken.known(1, 0) == [CHICAGO]
    assert not drawn.lacking(1, 0)


def test_a_card_received_may_fit_to_all_but_its_sender():  # AV-11
    t = transfer()
    assert t.lacking(1, 0)
    t.play("pass Denver", "pass Minneapolis", "pass St. Louis", "pass San Francisco")
    assert [t.may_fit(observer, 0) for observer in (1, 2, 3)] == [1, 1, 0]


def test_who_lays_and_stops_holds_nothing_more_that_fits():  # AV-11
    t = table(hands=[[BOSTON, NEW_YORK, DETROIT, CHICAGO, CHICAGO]], red=[ST_LOUIS]).play(PILE)
    assert t["pile"][0] == NEW_YORK and t["phase"] == layout.DRAWING and t.lacking(1, 0)
    assert not any(PHILADELPHIA in world.hand(0) for world in t.worlds(1, 200))


def test_each_card_a_blocked_player_draws_unseen_may_fit():  # AV-11
    t = table(2, hands=[DULL], piles=[BOSTON, BOSTON], blue=[FAIR_WEATHER] * 4 + [DELAY, FAIR_WEATHER])
    t.turn().turn().play(LEFT)
    assert t["delayed"][0] and t.may_fit(1, 0) == 0
    t.play(PILE)
    assert t.may_fit(1, 0) == 1
    worlds = t.worlds(1, 400)
    assert {world.hand(0).count(NEW_YORK) for world in worlds} == {0, 1}


def test_a_known_card_that_may_have_been_passed_may_still_fit():  # AV-11
    t = table(hands=[HANDS[0]], piles=[BALTIMORE], delayed=[0], discard=[DETROIT, WASHINGTON], blue=[TRANSFER])
    t.play(TOP, "discard Chicago")
    t["may_fit"][0] = 0
    t.play("pass Denver", *["pass Cleveland"] * 3)
    assert WASHINGTON in t.hand(0) and t.known(2, 0) == [] and t.may_fit(2, 0) == 2
    assert t.known(1, 0) == [WASHINGTON]


def test_a_renewed_pile_is_known_to_be_the_discards():  # AV-11: with two players the other hand is known
    t = table(2, hands=[DULL], red=[DENVER], rest="discard").play(PILE)
    assert all(world.hand(0) == t.hand(0) for world in t.worlds(1))
    pool = np.rint(t.game.observe(t.state, 1)[layout.SLICES["pool"]] * 6).astype(int)
    assert pool.tolist() == np.bincount(t["red"][: t["red_size"]], minlength=13)[1:].tolist()


def test_after_a_renewal_hands_hold_together_what_is_not_in_the_pile():  # AV-11
    t = table(3, hands=[DULL], red=[DENVER], rest="discard").play(PILE)
    for world in t.worlds(1):
        assert sorted(world.hand(0) + world.hand(2)) == sorted(t.hand(0) + t.hand(2))
    assert len({tuple(world.hand(0)) for world in t.worlds(1)}) > 5


def test_what_one_draws_oneself_is_no_longer_in_the_pile():  # AV-11
    t = table(2, hands=[DULL, DULL], red=[DENVER], rest="discard", blue=[FAIR_WEATHER]).turn("Chicago")
    drawn = int(t["red"][t["red_size"] - 1])
    before = t.game.observe(t.state, 1)[layout.SLICES["pool"]]
    t.play(PILE)
    assert t["phase"] == layout.DISCARDING
    after = t.game.observe(t.state, 1)[layout.SLICES["pool"]]
    assert np.rint((before - after) * 6).astype(int).tolist() == [int(c == drawn) for c in range(1, 13)]


def test_a_fitting_card_discarded_in_the_open_leaves_one_less_that_may_fit():  # AV-11
    blocked = {"hands": [[NEW_YORK, *DULL[:4]]], "piles": [BOSTON], "delayed": [0], "blue": [DELAY]}
    t = table(**blocked, red=[ST_LOUIS]).turn("New York")
    assert [t.may_fit(observer, 0) for observer in (1, 2, 3)] == [5] * 3
    t = table(**blocked, discard=[DETROIT, NEW_YORK]).play(TOP, "discard New York")
    assert [t.may_fit(observer, 0) for observer in (1, 2, 3)] == [6] * 3, "the known one may be gone, not another"


def test_a_fitting_card_passed_on_leaves_one_less_that_may_fit_to_its_receiver():  # AV-11
    t = transfer(hands=[[NEW_YORK, *DULL[:4]], *HANDS[1:]], piles=[BOSTON], delayed=[0])
    t.state["may_fit"][0][0, :] = 3
    t.play("pass New York", "pass Minneapolis", "pass St. Louis", "pass San Francisco")
    # one card came in: it may fit to all but its sender, seat 3
    assert [t.may_fit(observer, 0) for observer in (1, 2, 3)] == [3, 4, 3]


def test_a_renewed_pile_is_known_to_everybody_in_every_world():  # AV-11
    t = table(3, red=[DENVER], rest="discard").play(PILE)
    pile = np.bincount(t["red"][: t["red_size"]], minlength=13)
    for world in t.worlds(1):
        for other in (0, 2):
            assert world["pool"][other].tolist() == pile.tolist()


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
        hidden = state["hand"][0][[0, 2], 1:].sum(0) - state["known"][0][[0, 2], 1:, 1].sum(0)
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


def test_observation_tells_all_that_is_open_own_seat_first():
    where = {"piles": [BOSTON, NEW_YORK, PHILADELPHIA], "delayed": [2], "parachute": [1]}
    t = table(3, discard=[DENVER, DENVER], blue=[DELAY], red=[ST_LOUIS], **where).turn("St. Louis")
    seen = t.game.observe(t.state, 1)
    for name, told in {
        "phase": [0, 0, 0, 1], "acting": [0], "players": [0, 1, 0], "on_turn": [0, 0, 1, 0],
        "delayed": [0, 1, 0, 0], "parachute": [1, 0, 0, 0], "held": [5 / 6] * 3 + [0], "turns": [1 / 400],
        "waits": np.eye(37)[[3, 13]].sum(0)[:36], "discards": [*[0] * 9, 1 / 6, 2 / 6, 0],
        "blue_unseen": np.array([3, 2, 3, 6, 10]) / 24, "sizes": [t["red_size"] / 72, 3 / 72, 24 / 27],
    }.items():  # fmt: skip
        assert np.allclose(seen[layout.SLICES[name]], told), name
    assert t.game.observe(t.state, 0)[layout.SLICES["acting"]] == 1


def test_after_a_transfer_no_choice_is_left():
    assert not passed_on()["passing"].any()


def test_the_readme_tells_every_slice_of_the_observation():
    text = Path(layout.__file__).with_name("README.md").read_text()
    assert f"{layout.OBSERVATION} floats" in text
    for name, place in layout.SLICES.items():
        assert f"| `{name}` | {place.start} | {place.stop - place.start} |" in text


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


def test_determinize_honours_that_nothing_fits():
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


def test_determinize_leaves_any_card_on_top_of_the_red_pile():
    assert len({int(world["red"][world["red_size"] - 1]) for world in table().worlds(1, 60)}) > 8


@pytest.mark.parametrize("players", [2, 3, 4])
def test_worlds_are_uniform_over_the_hidden_cards(players):
    """Any place out of sight holds each unseen card equally often: chi-square tests on 11 degrees."""
    state = game(players).new(3)
    unseen = np.rint(game(players).observe(state, 0)[layout.SLICES["unseen"]] * 6)
    rng, draws = np.random.default_rng(players), 6000
    found = {place: np.zeros(12) for place in ("top", "bottom", *range(1, players))}
    for seed in range(draws):
        world = game(players).determinize(state, 0, seed)[0]
        found["top"][world["red"][world["red_size"] - 1] - 1] += 1
        found["bottom"][world["red"][0] - 1] += 1
        for seat in range(1, players):
            found[seat][rng.choice(np.repeat(np.arange(12), world["hand"][seat][1:]))] += 1
    expected = draws * unseen / unseen.sum()
    for place, counts in found.items():
        assert ((counts - expected) ** 2 / expected).sum() < 34, place  # five standard deviations


# -- the rule-of-thumb player -----------------------------------------------------------------------


@pytest.mark.parametrize("players", [2, 3, 4])
def test_suggestions_are_legal_everywhere(players):
    for state in positions(players):
        assert game(players).suggest(state) in game(players).legal_actions(state)


@pytest.mark.parametrize("players", [2, 3, 4])
def test_suggestions_rest_on_what_the_seat_knows(players):
    for i, state in enumerate(positions(players, games=3)):
        world = game(players).determinize(state, game(players).player(state), i)
        assert game(players).suggest(world) == game(players).suggest(state)


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


def test_suggestion_discards_what_is_of_least_use():
    keep = [BOSTON, NEW_YORK, PHILADELPHIA, BALTIMORE]
    t = table(hands=[[*keep[1:], DENVER, CHICAGO]], red=[DENVER]).play(PILE)
    assert t.game.action_name(t.game.suggest(t.state)) == "discard Denver"  # one of two
    t = table(hands=[[NEW_YORK, *keep[1:], MINNEAPOLIS]], piles=[NEW_YORK], delayed=[0], red=[DENVER])
    assert t.game.action_name(t.game.suggest(t.play(PILE).state)) == "discard New York"  # laid already


def test_suggestion_does_not_feed_the_left_neighbour():
    hand = [NEW_YORK, DETROIT, DETROIT, CHICAGO, CHICAGO]
    for pile, thrown in ((DETROIT, "discard Detroit"), (CLEVELAND, "discard Chicago")):
        t = table(hands=[hand], piles=[0, pile], red=[DENVER]).play(PILE)
        assert t.game.action_name(t.game.suggest(t.state)) == thrown


def test_value_grows_with_the_pile_and_falls_with_delays_and_parachutes():
    t = table(piles=[CHICAGO, NEW_YORK, NEW_YORK, NEW_YORK])
    before = t.game.value(t.state)
    assert before[0] == max(before) and abs(before.sum() - 1) < 1e-9
    for field in ("delayed", "parachute"):
        hit = t.game.clone(t.state)
        hit[field][0, 1] = 1
        after = t.game.value(hit)
        assert after[1] < before[1] and all(after[[0, 2, 3]] > before[[0, 2, 3]])


def test_value_counts_cards_in_hand_by_how_soon_they_fit():
    """All hands of the world it is asked in are open to it; a search draws the worlds."""
    t = table(2, hands=[[DETROIT, DETROIT, CHICAGO, CHICAGO, CHICAGO]], piles=[NEW_YORK, NEW_YORK])

    def with_card(city):
        changed = t.game.clone(t.state)
        changed["hand"][0, 0, [CHICAGO, city]] += [-1, 1]
        return t.game.value(changed)[0]

    soon, later, laid = with_card(PHILADELPHIA), with_card(WASHINGTON), with_card(BOSTON)
    assert soon > later > laid
