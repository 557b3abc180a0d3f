"""Ratings, lotteries and sequential tests: held to published packages, to known truths, and to their own promises."""

import json
from dataclasses import replace
from fractions import Fraction
from itertools import permutations
from math import log
from pathlib import Path

import numpy as np
import pytest

from airenv.core.errors import AirenvError, BadOption
from experiments.populations import across_games, alpha_rank, exact_lottery, maximal_lottery
from experiments.ratings import POINTS, PRIOR_REACH, Outcome, bootstrap, matrix, pairwise, rate, seat_table, strengths
from experiments.sprt import Sprt

DATA = Path(__file__).parent / "data" / "ratings"
ROCK_PAPER_SCISSORS = np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]], dtype=float)


def cases(name):
    return json.loads((DATA / f"{name}.json").read_text())["cases"]


def game(agents, ranks, deal="d", **more):
    """An outcome of agents named by single letters."""
    return Outcome(
        tuple(agents), tuple(float(rank) for rank in ranks), tuple(-float(rank) for rank in ranks), deal, **more
    )


def ranking(agents, deal="d"):
    """A game in which the agents came in this order."""
    return game(agents, range(1, len(agents) + 1), deal)


def drawn(rng, truth, seats, deals, games=1):
    """Games from known strengths, a fresh table each deal."""
    names = sorted(truth)
    strength = np.array([truth[name] for name in names])
    found = []
    for deal in range(deals):
        seated = rng.choice(len(names), seats, replace=False)
        for _ in range(games):
            order = seated[np.argsort(-(strength[seated] + rng.gumbel(size=seats)))]
            found.append(ranking([names[i] for i in order], f"deal {deal}"))
    return found


def likelihood(outcomes_as_orders, strength):
    """The model written out: the sum over games, their orders with weights, and stages."""
    total = 0.0
    for orders in outcomes_as_orders:
        for weight, order, stages in orders:
            for stage in range(stages):
                total += weight * (strength[order[stage]] - log(sum(np.exp(strength[a]) for a in order[stage:])))
    return total


def assert_most_likely(outcomes, outcomes_as_orders):
    """No small change of any strength makes the orders likelier than the fit does, prior or not."""
    fitted = strengths(outcomes, prior=None)
    best = likelihood(outcomes_as_orders, fitted)
    for agent in fitted:
        up, down = ({**fitted, agent: fitted[agent] + step} for step in (1e-3, -1e-3))
        assert likelihood(outcomes_as_orders, up) < best
        assert likelihood(outcomes_as_orders, down) < best
        assert likelihood(outcomes_as_orders, up) == pytest.approx(likelihood(outcomes_as_orders, down), abs=1e-6)


# Ratings


@pytest.mark.parametrize("case", cases("plackett_luce"), ids=lambda case: f"{case['agents']} agents")
def test_strengths_are_those_choix_finds(case):
    outcomes = [ranking([f"{agent:02}" for agent in order], str(i)) for i, order in enumerate(case["rankings"])]
    found = np.array(list(strengths(outcomes, prior=None).values()))
    expected = np.array(case["parameters"])
    np.testing.assert_allclose(found, expected - expected.mean(), atol=1e-7)


def test_ten_to_one_is_four_hundred_points():
    outcomes = [ranking("ab", str(i)) for i in range(10)] + [ranking("ba", "10")]
    found = strengths(outcomes, prior=None)
    assert POINTS * (found["a"] - found["b"]) == pytest.approx(400)


def test_the_prior_matters_little_where_there_are_games():
    outcomes = drawn(np.random.default_rng(3), {"a": 0.0, "b": 0.5, "c": 1.0}, 3, 300)
    plain, weak = strengths(outcomes, prior=None), strengths(outcomes)
    assert all(abs(plain[agent] - weak[agent]) * POINTS < 1 for agent in plain)
    assert plain != weak


def test_every_order_of_a_tie_counts_in_part():
    outcomes = [game("abcd", (1, 2.5, 2.5, 4)), ranking("dcba"), ranking("bdac")]
    tie = [(1 / 2, "abcd", 3), (1 / 2, "acbd", 3)]
    assert_most_likely(outcomes, [tie, [(1, "dcba", 3)], [(1, "bdac", 3)]])


def test_those_who_tie_for_the_last_place_are_not_compared_with_each_other():
    outcomes = [game("abcd", (1, 3, 3, 3)), ranking("dcba"), ranking("bdac")]
    assert_most_likely(outcomes, [[(1, "abcd", 1)], [(1, "dcba", 3)], [(1, "bdac", 3)]])


def test_a_draw_of_all_counts_every_order_in_part():
    outcomes = [game("abc", (2, 2, 2)), ranking("acb"), ranking("bca")]
    draw = [(1 / 6, order, 2) for order in permutations("abc")]
    assert_most_likely(outcomes, [draw, [(1, "acb", 2)], [(1, "bca", 2)]])


def test_an_agent_in_several_seats_counts_as_often():
    outcomes = [ranking("aab"), ranking("baa"), ranking("aba")]
    assert_most_likely(outcomes, [[(1, "aab", 2)], [(1, "baa", 1)], [(1, "aba", 2)]])
    # a takes two seats of three, so one first place of three is just what an equal would get
    alike = strengths([game("aab", ranks, str(ranks)) for ranks in permutations((1, 2, 3))], prior=None)
    assert alike["a"] == pytest.approx(alike["b"], abs=1e-9)


def test_agents_that_play_alike_come_out_exactly_equal():
    outcomes = [
        game(agents, ranks, f"deal {deal}")
        for deal, ranks in enumerate([(1, 2, 3), (2, 1, 3), (1.5, 1.5, 3), (1, 2.5, 2.5), (2, 2, 2)])
        for agents in permutations(["greedy", "random", "twin of random"])
    ]
    table = rate(outcomes, resamples=50)
    assert [row.rating for row in table] == pytest.approx([0, 0, 0], abs=1e-9)
    assert [row.wins for row in table] == pytest.approx([1 / 3] * 3, abs=1e-12)
    assert all(pair.superiority == 0.5 for pair in pairwise(outcomes, resamples=50))


def test_a_twin_of_the_anchor_stands_at_zero_whoever_else_plays():
    orders = [("strong", "random", "twin"), ("strong", "twin", "random")] * 5
    orders += [("random", "twin", "strong"), ("twin", "random", "strong")]
    found = {row.agent: row for row in rate([ranking(order, str(i)) for i, order in enumerate(orders)], resamples=20)}
    assert found["random"].rating == 0.0
    assert found["twin"].rating == pytest.approx(0, abs=1e-9)
    assert found["strong"].rating > 100


def test_an_agent_that_always_wins_has_a_finite_rating_and_more_wins_raise_it():
    few, many = ([ranking(["best", "random"], str(i)) for i in range(games)] for games in (10, 1000))
    low, high = rate(few, resamples=20)[0], rate(many, resamples=20)[0]
    assert low.agent == high.agent == "best"
    assert 200 < low.rating < high.rating < 4000


def test_agents_no_game_connects_are_finite_and_lie_about_the_mean():
    outcomes = [ranking(pair, f"{pair} {i}") for i in range(20) for pair in ("ab", "ba", "ab", "cd", "dc", "cd")]
    found = strengths(outcomes)
    assert found["a"] == pytest.approx(found["c"], abs=1e-9) and found["a"] == pytest.approx(-found["b"], abs=1e-9)
    assert [pair.agent + pair.other for pair in pairwise(outcomes, resamples=5)] == ["ab", "ba", "cd", "dc"]


@pytest.mark.parametrize("orders", [["ab", "ab"], ["ab", "ba", "cd", "dc"], ["abc", "acb"]])
def test_without_a_prior_games_that_bound_nothing_are_refused(orders):
    with pytest.raises(BadOption, match="give a prior"):
        strengths([ranking(order, str(i)) for i, order in enumerate(orders)], prior=None)


def test_known_strengths_are_recovered():
    truth = {"random": 0.0, "b": 0.5, "c": 1.0, "d": 1.5, "e": 2.5, "f": -0.7}
    table = rate(drawn(np.random.default_rng(11), truth, 4, 4000), resamples=20)
    assert [row.agent for row in table] == ["e", "d", "c", "b", "random", "f"]
    assert all(row.rating == pytest.approx(POINTS * truth[row.agent], abs=25) for row in table)


def test_intervals_cover_the_truth_about_as_often_as_they_say():
    truth = {"random": 0.0, "b": 0.4, "c": 1.0, "d": -0.6}
    covered = []
    for study in range(60):
        outcomes = drawn(np.random.default_rng(study), truth, 3, 80)
        for row in rate(outcomes, resamples=150, seed=study):
            if row.agent != "random":
                covered.append(row.low <= POINTS * truth[row.agent] <= row.high)
    assert 0.89 <= np.mean(covered) <= 0.99


def test_games_of_a_deal_count_as_one_in_the_intervals():
    single = drawn(np.random.default_rng(5), {"random": 0.0, "b": 0.3}, 2, 60)
    copied = [outcome for outcome in single for _ in range(9)]
    apart = [replace(outcome, deal=str(i)) for i, outcome in enumerate(copied)]
    first = [rate(games, resamples=200)[0] for games in (single, copied, apart)]
    widths = [row.high - row.low for row in first]
    assert widths[1] == pytest.approx(widths[0], rel=0.02)  # the prior alone tells them apart
    assert widths[2] < 0.5 * widths[0]


def test_the_order_of_the_games_does_not_matter():
    outcomes = drawn(np.random.default_rng(2), {"random": 0.0, "b": 0.3, "c": 1.0}, 3, 40, games=2)
    for one, other in zip(rate(outcomes, resamples=30), rate(outcomes[::-1], resamples=30), strict=True):
        assert (one.agent, one.games) == (other.agent, other.games)
        assert (one.rating, one.low, one.high) == pytest.approx((other.rating, other.low, other.high), abs=1e-9)


def test_another_seed_draws_other_deals_and_the_same_seed_the_same():
    outcomes = drawn(np.random.default_rng(2), {"random": 0.0, "b": 0.3}, 2, 40)
    assert rate(outcomes, resamples=30, seed=4) == rate(outcomes, resamples=30, seed=4)
    assert rate(outcomes, resamples=30, seed=4) != rate(outcomes, resamples=30, seed=5)


def test_the_anchor_stands_at_zero_and_without_it_the_mean_does():
    outcomes = drawn(np.random.default_rng(2), {"a": 0.0, "b": 0.3, "c": 1.0}, 3, 60)
    free, tied = rate(outcomes, resamples=20), rate(outcomes, anchor="b", resamples=20)
    assert np.mean([row.rating for row in free]) == pytest.approx(0, abs=1e-9)
    anchored = {row.agent: row for row in tied}
    assert (anchored["b"].rating, anchored["b"].low, anchored["b"].high) == (0, 0, 0)
    gaps = [[row.rating - table[0].rating for row in table] for table in (free, tied)]
    assert gaps[0] == pytest.approx(gaps[1], abs=1e-9)


def test_a_single_deal_gives_the_widest_intervals():
    row = next(row for row in rate([ranking(["a", "random"])], resamples=10) if row.agent == "a")
    assert (row.low, row.high) == pytest.approx((row.rating - PRIOR_REACH, row.rating + PRIOR_REACH))
    assert (row.wins, row.win_low, row.win_high) == (1, 0, 1)


def test_draws_without_an_agent_say_nothing_of_it():
    outcomes = [ranking(["random", "b"] if i % 2 else ["b", "random"], f"{i:02}") for i in range(40)]
    outcomes += [ranking(["rare", "random"], f"{i:02}") for i in (0, 1)]
    fits = bootstrap(outcomes, resamples=200)
    absent = fits.counts[:, :2].sum(1) == 0
    assert 0 < absent.sum() < 200
    np.testing.assert_array_equal(np.isnan(fits.draws[:, fits.agents.index("rare")]), absent)
    assert rate(outcomes, fits=fits)[0].agent == "rare" and rate(outcomes, fits=fits)[0].low > 300


def test_a_row_adds_up_what_an_agent_did():
    outcomes = [
        game("abc", (1.5, 1.5, 3), "1", errors=("", "", "crash"), milliseconds=(10, 5, 0), decisions=(4, 5, 0)),
        game("ab", (2, 1), "2", errors=("timeout", ""), milliseconds=(90, 5), decisions=(6, 5)),
    ]
    row = {row.agent: row for row in rate(outcomes, resamples=10)}
    assert (row["a"].games, row["a"].errors, row["a"].ms_per_move) == (2, 1, 10)
    assert (row["a"].wins, row["b"].wins, row["c"].wins) == (0.25, 0.75, 0)
    assert row["a"].fair == pytest.approx((1 / 3 + 1 / 2) / 2) and row["c"].fair == pytest.approx(1 / 3)
    assert (row["a"].mean_rank, row["a"].mean_score) == (1.75, -1.75)
    assert (row["c"].errors, row["c"].ms_per_move) == (1, 0)


def test_an_agent_that_only_met_itself_is_rated_at_the_mean():
    assert strengths([game("aa", (1, 2)), game("aa", (1.5, 1.5))]) == {"a": 0}
    assert pairwise([ranking("aa")], resamples=5) == []


def test_pairs_count_comparisons_and_ties_half():
    outcomes = [game("aab", (1, 3, 2), "1"), game("ab", (1.5, 1.5), "2"), ranking("ca", "3")]
    pairs = {(pair.agent, pair.other): pair for pair in pairwise(outcomes, resamples=20)}
    assert set(pairs) == {("a", "b"), ("b", "a"), ("a", "c"), ("c", "a")}
    assert (pairs["a", "b"].games, pairs["a", "b"].share) == (2, 0.5)
    assert (pairs["c", "a"].games, pairs["c", "a"].share, pairs["a", "c"].share) == (1, 1, 0)
    names, cells = matrix(list(pairs.values()), "share", ["c", "a", "b"])
    assert names == ["c", "a", "b"] and cells[0, 1] == 1 and cells[1, 2] == 0.5
    assert np.isnan(cells[0, 2]) and np.isnan(np.diag(cells)).all()


def test_superiority_is_near_certain_for_a_clear_winner_and_adds_up_to_one():
    outcomes = drawn(np.random.default_rng(8), {"a": 2.0, "b": 0.0, "c": 0.1}, 3, 100)
    _, cells = matrix(pairwise(outcomes, resamples=100), "superiority")
    assert cells[0, 1] > 0.99 and cells[0, 2] > 0.99
    off = ~np.eye(3, dtype=bool)
    np.testing.assert_allclose((cells + cells.T)[off], 1)


def test_fits_made_once_serve_both_tables():
    outcomes = drawn(np.random.default_rng(8), {"a": 0.5, "b": 0.0, "c": 0.1}, 3, 30)
    fits = bootstrap(outcomes, resamples=25, seed=3)
    assert rate(outcomes, fits=fits) == rate(outcomes, resamples=25, seed=3)
    assert pairwise(outcomes, fits=fits) == pairwise(outcomes, resamples=25, seed=3)


def test_a_seat_that_wins_too_often_shows_in_the_seat_table():
    rng = np.random.default_rng(6)
    outcomes = [game("ab", (1, 2) if rng.random() < 0.7 else (2, 1), str(i)) for i in range(300)]
    outcomes += [ranking("aba", str(i)) for i in range(3)]
    rows = {(row.players, row.seat): row for row in seat_table(outcomes, resamples=100)}
    assert set(rows) == {(2, 0), (2, 1), (3, 0), (3, 1), (3, 2)}
    assert rows[2, 0].low > 0.5 > rows[2, 1].high and rows[2, 0].fair == 0.5
    assert rows[2, 0].low < 0.7 < rows[2, 0].high and rows[2, 0].games == 300
    assert (rows[3, 0].wins, rows[3, 1].wins, rows[3, 0].fair) == (1, 0, pytest.approx(1 / 3))


@pytest.mark.parametrize(
    ("outcomes", "message"),
    [
        ([], "no games"),
        ([Outcome((), (), (), "d")], "no seats"),
        ([Outcome(("a", "b"), (1,), (0, 0), "d")], "2 agents but 1 ranks"),
        ([Outcome(("a", "b"), (1, 2), (), "d")], "2 agents but 0 scores"),
        ([game("ab", (1, 2), errors=("",))], "2 agents but 1 errors"),
        ([game("ab", (1, 1))], r"share the mean of their places: \(1.5, 1.5\)"),
        ([game("ab", (1, float("nan")))], "1 is best"),
        ([game("ab", (1, 2), errors=("", "boredom"))], "crash"),
    ],
)
def test_outcomes_that_make_no_sense_are_refused(outcomes, message):
    for function in (rate, pairwise, seat_table, strengths, bootstrap):
        with pytest.raises(AirenvError, match=message):
            function(outcomes)


def test_a_prior_or_a_number_of_resamples_that_is_none_is_refused():
    for prior in (0, -1, float("nan")):
        with pytest.raises(BadOption, match="positive number of points"):
            strengths([ranking("ab")], prior=prior)
    with pytest.raises(BadOption, match="resamples"):
        rate([ranking("ab")], resamples=0)


# Populations


@pytest.mark.parametrize("case", cases("alpha_rank"), ids=lambda case: f"{len(case['payoffs'])} {case['alpha']}")
def test_alpha_rank_is_what_open_spiel_finds(case):
    found = alpha_rank(np.array(case["payoffs"]), case["alpha"], case["population"])
    np.testing.assert_allclose(found, case["shares"], atol=1e-8)


@pytest.mark.parametrize("case", cases("maximal_lotteries"), ids=lambda case: f"{len(case['margins'])} agents")
def test_maximal_lotteries_are_those_open_spiel_finds(case):
    np.testing.assert_allclose(maximal_lottery(np.array(case["margins"])), case["lottery"], atol=1e-6)


@pytest.mark.parametrize("alpha", [None, 0.0, 0.3, 5.0, 1e6])
def test_rock_paper_scissors_is_even(alpha):
    np.testing.assert_allclose(alpha_rank(ROCK_PAPER_SCISSORS, alpha), [1 / 3] * 3, atol=1e-12)
    assert exact_lottery(ROCK_PAPER_SCISSORS) == [Fraction(1, 3)] * 3


def test_an_agent_that_beats_all_others_gets_everything():
    margins = np.zeros((4, 4))
    margins[2], margins[:, 2] = 1, -1
    margins[2, 2] = 0
    margins[np.ix_([0, 1, 3], [0, 1, 3])] = 5 * ROCK_PAPER_SCISSORS
    assert maximal_lottery(margins).tolist() == [0, 0, 1, 0]
    assert alpha_rank(margins).tolist() == [0, 0, 1, 0]
    assert alpha_rank(margins, alpha=1e5).tolist() == [0, 0, 1, 0]  # chances too small for a number are no trouble


def test_strict_selection_comes_close_to_its_limit():
    payoffs = np.random.default_rng(4).random((6, 6))
    np.testing.assert_allclose(alpha_rank(payoffs, alpha=1e4), alpha_rank(payoffs), atol=1e-9)


def test_agents_paid_alike_take_over_by_luck():
    payoffs = np.array([[0.5, 0.5, 1], [0.5, 0.5, 1], [0, 0, 0.5]])
    np.testing.assert_allclose(alpha_rank(payoffs), [0.5, 0.5, 0], atol=1e-12)
    one_way = np.array([[0, 0, 1], [0, 0, -1], [-1, 1, 0]], dtype=float)  # 1 -> 2 -> 0 for sure, 0 <-> 1 by luck
    np.testing.assert_allclose(alpha_rank(one_way.T, population=10), _by_hand(one_way.T, 10), atol=1e-12)


def _by_hand(payoffs, population):
    """The stationary shares by repeated steps of the chain."""
    gain = payoffs.T - payoffs
    chain = np.where(gain > 0, 1.0, np.where(gain == 0, 1 / population, 0.0)) / len(payoffs)
    np.fill_diagonal(chain, 0)
    chain += np.diag(1 - chain.sum(1))
    return np.linalg.matrix_power(chain, 1 << 16)[0]


@pytest.mark.parametrize("agents", [1, 2, 3, 6, 9])
@pytest.mark.parametrize("spread", [1, 2, 50])
def test_no_agent_beats_a_maximal_lottery(agents, spread):
    rng = np.random.default_rng(agents * 100 + spread)
    for _ in range(10):
        upper = np.triu(rng.integers(-spread, spread + 1, size=(agents, agents)), 1)
        margins = upper - upper.T
        shares = exact_lottery(margins)
        assert sum(shares) == 1 and min(shares) >= 0
        for other in range(agents):  # exact: these are fractions
            assert sum(share * int(margins[agent, other]) for agent, share in enumerate(shares)) >= 0


def test_agents_tied_all_around_share_a_lottery_evenly():
    assert exact_lottery(np.zeros((4, 4))) == [Fraction(1, 4)] * 4
    above = np.array([[0, 0, 1], [0, 0, 1], [-1, -1, 0]])
    assert exact_lottery(above) == [Fraction(1, 2), Fraction(1, 2), 0]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: alpha_rank(np.zeros((2, 3))), "square"),
        (lambda: alpha_rank(np.full((2, 2), np.nan)), "finite"),
        (lambda: maximal_lottery(np.ones((2, 2))), "negative of each other"),
        (lambda: alpha_rank(np.zeros((2, 2)), population=1), "population"),
        (lambda: alpha_rank(np.zeros((2, 2)), alpha=-1), "alpha"),
    ],
)
def test_tables_that_make_no_sense_are_refused(ask, message):
    with pytest.raises(BadOption, match=message):
        ask()


def test_games_that_vote_in_a_circle_give_an_even_lottery():
    games = {name: [ranking(name, str(i)) for i in range(5)] for name in ("abc", "bca", "cab")}
    found, reason = across_games(games)
    assert reason == "" and found.agents == ("a", "b", "c") and found.games == ("abc", "bca", "cab")
    assert found.margins.tolist() == [[0, 1, -1], [-1, 0, 1], [1, -1, 0]]
    np.testing.assert_allclose(found.lottery, [1 / 3] * 3)
    np.testing.assert_allclose(found.alpha_rank, [1 / 3] * 3)
    np.testing.assert_allclose(found.shares[0, 1], 2 / 3)


def test_the_best_of_most_games_gets_everything_and_guests_of_one_game_take_no_part():
    games = {"x": [ranking("abcz")], "y": [ranking("acb")], "z": [ranking("cab")]}
    found, _ = across_games(games)
    assert found.agents == ("a", "b", "c")
    assert found.lottery.tolist() == [1, 0, 0] and found.alpha_rank.tolist() == [1, 0, 0]


def test_too_few_games_or_agents_are_told_with_the_reason():
    few_games, why = across_games({"x": [ranking("abc")], "y": []})
    assert few_games is None and "games must be 2 at least" in why
    few_agents, why = across_games({"x": [ranking("abc")], "y": [ranking("abd")]})
    assert few_agents is None and "3 at least, not 2" in why


# Sequential tests


def run(test, rng, mean, games=4, limit=5000):
    """The decision of a test on deals of a few games each, and the deals it took."""
    for share in rng.binomial(games, mean, size=limit) / games:
        test.add(share)
        if test.decision:
            break
    return test.decision, test.deals


@pytest.mark.parametrize(("fair", "gain", "games"), [(0.5, 0.1, 2), (0.25, 0.08, 4)])
def test_a_sequential_test_errs_no_more_often_than_it_says(fair, gain, games):
    rng = np.random.default_rng(17)
    equal = [run(Sprt(fair, gain), rng, fair, games)[0] for _ in range(1500)]
    better = [run(Sprt(fair, gain), rng, fair + gain, games)[0] for _ in range(1500)]
    assert 0.01 < equal.count("better") / 1500 < 0.075
    assert 0.01 < better.count("not better") / 1500 < 0.075
    assert None not in equal + better


def test_a_sequential_test_stops_sooner_for_a_large_difference():
    rng = np.random.default_rng(18)
    deals = [np.mean([run(Sprt(0.25, 0.05), rng, mean)[1] for _ in range(100)]) for mean in (0.275, 0.3, 0.4, 0.6)]
    assert deals[0] > deals[1] > 2 * deals[2] and deals[2] > deals[3] >= 16


def test_a_sequential_test_does_not_decide_before_its_least_number_of_deals():
    test = Sprt(0.5, 0.2, least=30)
    for _ in range(29):
        test.add(1.0)
        assert test.decision is None
    assert test.llr > test.upper
    test.add(1.0)
    assert test.decision == "better"


def test_deals_that_are_all_alike_are_decided():
    for share, expected in ((0.5, "not better"), (0.9, "better"), (0.0, "not better")):
        test = Sprt(0.5, 0.1)
        for _ in range(40):
            test.add(share)
        assert test.decision == expected and np.isfinite(test.llr)


def test_a_decision_stands_whatever_deals_come_in_later():
    test = Sprt(0.5, 0.2)
    for share in [1.0] * 20 + [0.0] * 200:
        test.add(share)
    assert test.decision == "better" and test.llr < test.lower


def test_the_ratio_is_that_of_the_normal_law():
    test = Sprt(0.5, 0.1)
    shares = np.random.default_rng(9).random(500)
    for share in shares:
        test.add(share)
    by_hand = (((shares - 0.5) ** 2 - (shares - 0.6) ** 2) / (2 * shares.var())).sum()
    assert test.llr == pytest.approx(by_hand, rel=0.01) and test.mean == pytest.approx(shares.mean())
    assert (test.lower, test.upper) == pytest.approx((-log(19), log(19)))
    assert Sprt(0.5, 0.1).llr == 0


@pytest.mark.parametrize(
    "wrong", [{"fair": 0}, {"gain": 0}, {"gain": 0.6}, {"alpha": 0.5}, {"beta": 0}, {"least": 1}], ids=str
)
def test_a_sequential_test_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(BadOption, match=next(iter(wrong))):
        Sprt(**{"fair": 0.5, "gain": 0.1, **wrong})


def test_a_share_outside_its_range_is_refused_and_not_counted():
    test = Sprt(0.5, 0.1)
    for share in (-0.1, 1.1, float("nan")):
        with pytest.raises(BadOption, match="from 0 to 1"):
            test.add(share)
    assert test.deals == 0
