"""What games do is pinned: by signatures, and by playthroughs that can be read."""

import json

import pytest

import airenv
from experiments import playthrough
from experiments.bench import signature

TABLES = [(name, players) for name in airenv.game_names() for players in airenv.facts(name).players]


@pytest.mark.parametrize(("name", "players"), TABLES)
def test_behaviour_signature_is_the_pinned_one(name, players):
    pinned = json.loads((airenv.game(name).folder / "signature.json").read_text())
    assert signature(name, players) == pinned[str(players)]


@pytest.mark.parametrize(("name", "players"), TABLES)
def test_playthrough_is_told_again_word_for_word(name, players):
    game = airenv.game(name, players=players)
    golden = playthrough.path_of(game).read_text()
    actions = playthrough.actions_of(game, golden)
    assert len(actions) > 10
    assert playthrough.tell(game, playthrough.SEED, actions) == golden


@pytest.mark.parametrize(("name", "players"), TABLES)
def test_playthrough_runs_to_the_end(name, players):
    game = airenv.game(name, players=players)
    state = game.new(playthrough.SEED)
    for action in playthrough.actions_of(game, playthrough.path_of(game).read_text()):
        game.apply(state, action)
    assert game.is_over(state)


def test_signature_tells_rules_apart():
    found = [signature(name, players) for name, players in TABLES]
    assert len(set(found)) == len(TABLES)
