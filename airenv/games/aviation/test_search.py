"""Searches in positions of aviation whose best move is beyond doubt."""

import numpy as np
import pytest

from agents import make_agent
from airenv.core.errors import GameOver
from airenv.games.aviation.layout import DELAY, FAIR_WEATHER, TRANSFER
from airenv.games.aviation.testing import (
    BALTIMORE,
    BOSTON,
    CHICAGO,
    CLEVELAND,
    DENVER,
    DETROIT,
    MINNEAPOLIS,
    NEW_YORK,
    PHILADELPHIA,
    PILE,
    SAN_FRANCISCO,
    SECOND,
    ST_LOUIS,
    TOP,
    table,
)
from airenv.seat import Seat

LINES = ("mcts:sims=1000", "mcts:sims=8000,rollout=random,prior=0,trees=2", "mcts:sims=4000,rollout=greedy,prior=0")
ALL_LINES = (*LINES, "flat:sims=4000,rollout=greedy", "pimc:sims=1000,worlds=10")


def chosen(t, line, seed=1):
    action = make_agent(line).act(Seat(t.game, t.state), np.random.default_rng(seed))
    return t.game.action_name(action)


@pytest.mark.parametrize("line", ALL_LINES)
@pytest.mark.parametrize("players", [2, 3, 4])
def test_takes_the_discard_that_wins(players, line):
    assert chosen(table(players, piles=[DENVER], discard=[SAN_FRANCISCO]), line) == TOP


@pytest.mark.parametrize("line", ALL_LINES)
@pytest.mark.parametrize("players", [2, 3, 4])
def test_does_not_discard_the_card_that_lets_the_left_neighbour_win(players, line):
    held = [SAN_FRANCISCO, CHICAGO, MINNEAPOLIS, DETROIT, CLEVELAND]
    t = table(players, hands=[held], piles=[BOSTON, DENVER], red=[BALTIMORE]).play(PILE)
    assert chosen(t, line) != "discard San Francisco"


@pytest.mark.parametrize("line", ALL_LINES)
def test_delays_the_opponent_known_to_win_next(line):
    """The second opponent took San Francisco from the open discards, and waits for it."""
    hands = [
        [BOSTON, BOSTON, NEW_YORK, NEW_YORK, PHILADELPHIA],
        [BOSTON, BOSTON, NEW_YORK, PHILADELPHIA, CHICAGO],
        [SAN_FRANCISCO, CHICAGO, MINNEAPOLIS, DETROIT, CLEVELAND],
        [BALTIMORE, BALTIMORE, CHICAGO, MINNEAPOLIS, DETROIT],
    ]
    t = table(4, hands, [ST_LOUIS, BALTIMORE, DENVER, BALTIMORE], red=[CLEVELAND], blue=[DELAY])
    t["known"][2, SAN_FRANCISCO, :] = 1
    t.play(PILE)
    t.play(t.legal()[-1])
    assert SECOND in t.legal() and chosen(t, line) == SECOND


@pytest.mark.parametrize("line", LINES)
def test_does_not_pass_the_card_the_left_neighbour_waits_for(line):
    held = [SAN_FRANCISCO, CHICAGO, MINNEAPOLIS, DETROIT, CLEVELAND]
    t = table(2, hands=[held], piles=[BOSTON, DENVER], red=[CLEVELAND], blue=[FAIR_WEATHER, TRANSFER]).turn("Cleveland")
    assert t.game.is_secret(t.state) and t.game.player(t.state) == 0
    assert chosen(t, line) != "pass San Francisco"


def test_the_lines_thought_of_go_on_through_a_transfer():
    held = [CHICAGO, CHICAGO, MINNEAPOLIS, DETROIT, CLEVELAND]
    t = table(3, hands=[held], piles=[BOSTON] * 3, red=[CLEVELAND], blue=[FAIR_WEATHER, TRANSFER]).turn("Cleveland")
    agent, seat = make_agent("mcts:sims=20000,rollout=cutoff,depth=0"), Seat(t.game, t.state)
    search = agent.search(seat, np.random.default_rng(1))
    line = search.variation(agent.run(search, seat).best)
    assert [reply.mover for reply in line[:4]] == [0, 1, 2, 1]
    assert all(t.game.action_name(reply.action).startswith("pass ") for reply in line[:3])
    assert t.game.action_name(line[3].action).startswith("draw ")


def test_a_search_of_a_finished_game_is_an_error():
    t = table(2, piles=[DENVER], discard=[SAN_FRANCISCO]).play(TOP)
    with pytest.raises(GameOver):
        chosen(t, LINES[0])
