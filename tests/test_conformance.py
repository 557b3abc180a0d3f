"""The conformance suite over every game and number of players there is."""

import pytest

import airenv
from experiments.conformance import CHECKS

TABLES = [(name, players) for name in airenv.game_names() for players in airenv.facts(name).players]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
@pytest.mark.parametrize(("name", "players"), TABLES)
def test_law(name, players, check):
    assert check.says
    check.law(name, players)


def test_there_is_a_game():
    assert TABLES
