"""Laws of the rules: they are sound, end, and start clean."""

from __future__ import annotations

import numpy as np

import airenv
from airenv.core import kernels
from experiments.conformance.suite import law, positions


@law("rules")
def invariants_hold(name: str, players: int, games: int = 10_000) -> None:
    """The game's own laws hold after every step of 10,000 random games."""
    broken = airenv.game(name, players=players).check_playouts(games, seed=players)
    assert broken is None, broken


@law("rules")
def random_games_end(name: str, players: int) -> None:
    """Every random game comes to an end, with a score for every seat and no legal action left."""
    game = airenv.game(name, players=players)
    for seed in range(50):
        state = game.random_position(seed, 10**9)
        assert game.is_over(state) and game.player(state) == -1
        assert game.legal_actions(state) == [] and not game.legal_mask(state).any()
        assert np.isfinite(game.scores(state)).all()


@law("rules")
def new_game_forgets(name: str, players: int) -> None:
    """A game set up in a record full of rubbish is the one set up in an empty record."""
    game = airenv.game(name, players=players)
    for seed in range(20):
        clean = game.new(seed)
        used = game.clone(clean)
        used.view(np.uint8)[:] = np.random.default_rng(seed).integers(0, 256, game.dtype.itemsize, np.uint8)
        kernels.reset_one(game.board, used, 0, seed)
        assert used.tobytes() == clean.tobytes(), f"seed {seed}: new_game leaves something of the game before"


@law("rules")
def seeds_matter(name: str, players: int) -> None:
    """The same seed deals the same game, another seed another one."""
    game = airenv.game(name, players=players)
    digests = [game.digest(game.new(seed)) for seed in range(50)]
    assert digests == [game.digest(game.new(seed)) for seed in range(50)]
    assert len(set(digests)) == 50


@law("rules")
def actions_have_names(name: str, players: int) -> None:
    """Every action has a name of its own, and the name finds it; it is of one kind."""
    game = airenv.game(name, players=players)
    kinds = [action for actions in game.action_kinds.values() for action in actions]
    assert sorted(kinds) == list(range(game.num_actions)), "the kinds of actions leave some out, or share some"
    names = [game.action_name(action) for action in range(game.num_actions)]
    assert len(set(names)) == game.num_actions
    assert [game.parse_action(text.upper()) for text in names] == list(range(game.num_actions))
    for state in positions(game, 200, running=True):
        for action in game.legal_actions(state):
            for seat in (None, *range(players)):
                assert game.describe(state, action, seat).strip()


@law("rules")
def random_choices_are_those_of_the_mask(name: str, players: int) -> None:
    """A game's own way to choose at random, if it has one, makes the choice a mask and the same number make."""
    step = airenv.game(name, players=players).check_random_choices(300)
    assert step is None, f"step {step}: another action, or other random numbers, than by the mask"


@law("rules")
def forgetting_changes_no_game(name: str, players: int) -> None:
    """A game that stops keeping up what seats know, as in rollouts, goes on and ends as it would have."""
    step = airenv.game(name, players=players).check_forgetting(300)
    assert step is None, f"step {step}: another turn, mask or score after forgetting"


@law("rules")
def rewards_are_as_documented(name: str, players: int) -> None:
    """Rank rewards sum to zero in [-1, 1], wins to one, margins are lead over the best other."""
    games = {mode: airenv.game(name, players=players, reward=mode) for mode in ("rank", "win", "score", "margin")}
    for seed in range(100):
        state = games["rank"].random_position(seed, 10**9)
        points = games["score"].returns(state)
        assert (points == games["score"].scores(state)).all()
        ranks = games["rank"].returns(state)
        assert abs(ranks.sum()) < 1e-9 and np.abs(ranks).max() <= 1.0
        assert ((points[:, None] > points) == (ranks[:, None] > ranks)).all()
        wins = games["win"].returns(state)
        best = points == points.max()
        assert np.allclose(wins, 0.0 if best.all() else best / best.sum())
        for seat in range(players):
            assert games["margin"].returns(state)[seat] == points[seat] - np.delete(points, seat).max()
    state = games["rank"].new(0)
    for game in games.values():
        assert not game.returns(state).any(), "a running game has no rewards yet"
