"""Laws of secrets: a seat is shown what it may know, and possible worlds are drawn fairly."""

from __future__ import annotations

import json

import numpy as np

import airenv
from airenv.byhand import Game
from experiments.conformance.suite import law, positions, worlds


@law("secrets")
def observations_leak_nothing(name: str, players: int, number: int = 5000) -> None:
    """A seat's numbers and mask are byte-identical in every world it must hold possible."""
    game = airenv.game(name, players=players)
    for state, seat, world in worlds(game, number):
        for before, after in zip(game.observe_with_mask(state, seat), game.observe_with_mask(world, seat), strict=True):
            assert before.tobytes() == after.tobytes(), f"seat {seat} sees {np.flatnonzero(before != after)} differ"


@law("secrets")
def views_leak_nothing(name: str, players: int, number: int = 1000) -> None:
    """A seat's JSON view, table, picture and news are byte-identical in every world it must hold possible."""
    game = airenv.game(name, players=players)
    for state, seat, world in worlds(game, number, seed=1):
        view, twin = json.dumps(game.view(state, seat)), json.dumps(game.view(world, seat))
        assert view == twin, f"seat {seat}: {view} became {twin}"
        assert game.svg(state, seat) == game.svg(world, seat), f"seat {seat} sees another picture"
        assert game.table(state, seat) == game.table(world, seat), f"seat {seat} sees another table"
        if game.player(state) == seat:
            for action in game.legal_actions(state):
                told, twin = game.describe(state, action, seat), game.describe(world, action, seat)
                assert told == twin, f"seat {seat} is told {told!r} or {twin!r}"


@law("secrets")
def worlds_rest_on_knowledge(name: str, players: int, number: int = 2000) -> None:
    """From two states a seat cannot tell apart, the same seed draws the same world, to the byte."""
    game = airenv.game(name, players=players)
    for count, (state, seat, world) in enumerate(worlds(game, number, seed=2)):
        once, again = game.determinize(state, seat, count + 7), game.determinize(world, seat, count + 7)
        assert once.tobytes() == again.tobytes(), (
            f"seat {seat}: a trace of the true state is left in {_differing(once, again)}"
        )


@law("secrets")
def worlds_are_possible(name: str, players: int) -> None:
    """Worlds keep the laws, now and when played on to their end."""
    game = airenv.game(name, players=players)
    for state, seat, world in worlds(game, 300, seed=3):
        before = game.digest(state)
        game.check(world)
        assert game.player(world) == game.player(state), f"seat {seat}: a world has another player to act"
        rng = np.random.default_rng(seat)
        while actions := game.legal_actions(world):
            game.apply(world, actions[int(rng.integers(len(actions)))])
            game.check(world)
        assert game.digest(state) == before, "playing in a world changed the true state"


@law("secrets")
def worlds_differ(name: str, players: int) -> None:
    """Drawing a world does change what is hidden, and all future chance."""
    game = airenv.game(name, players=players)
    state = game.new(11)
    drawn = [game.determinize(state, 0, seed) for seed in range(40)]
    assert len({world["rng"].tobytes() for world in drawn}) == 40, "the generator is not drawn anew"
    hidden = [field for field in game.dtype.names or () if any((w[field] != state[field]).any() for w in drawn)]
    assert set(hidden) - {"rng"}, "nothing but the generator was drawn anew"


@law("secrets")
def hidden_views_are_drawn_anew(name: str, players: int) -> None:
    """Whatever a spectator is shown of new games and a seat is not, differs in some of that seat's worlds."""
    game = airenv.game(name, players=players)
    for seat in range(players):
        hidden: dict[str, set[object]] = {}
        redrawn = set()
        for seed in range(60):
            state = game.new(seed)
            truth, own = _leaves(game.view(state, None)), _leaves(game.view(state, seat))
            world = _leaves(game.view(game.determinize(state, seat, seed), None))
            for path, value in truth.items():
                if own.get(path) != value:
                    hidden.setdefault(path, set()).add(value)
                    if world.get(path) != value:
                        redrawn.add(path)
        left = [path for path, values in hidden.items() if len(values) > 1 and path not in redrawn]
        assert not left, f"seat {seat} is not shown {', '.join(left)}, yet its worlds always hold the truth"


@law("secrets")
def true_twins_share_their_worlds(name: str, players: int, games: int = 20_000, twins: int = 300) -> None:
    """From two new games that look alike to a seat, the same seed draws the same world, to the byte.

    The worlds of the other laws come from `determinize` itself, so they share whatever it never touches: a
    hand, the order of a pack, cards left above its top. Twins that were dealt by chance do not.
    """
    game = airenv.game(name, players=players)
    dealt: dict[tuple[int, bytes], int] = {}
    for seed in range(games):
        state = game.new(seed)
        for seat in range(players):
            first = dealt.setdefault((seat, game.observe(state, seat).tobytes()), seed)
            if first == seed:
                continue
            twin = game.new(first)
            if game.view(state, seat) != game.view(twin, seat):
                continue
            once, again = game.determinize(state, seat, seed), game.determinize(twin, seat, seed)
            where = f"seat {seat}, new games {first} and {seed}: {_differing(once, again)}"
            assert once.tobytes() == again.tobytes(), f"{where} neither shown nor drawn anew"
            twins -= 1
        if twins <= 0:
            break


def _leaves(tree: object, path: str = "view") -> dict[str, object]:
    """The values of a JSON view by their paths."""
    if not isinstance(tree, (dict, list)):
        return {path: tree}
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    return {leaf: value for key, child in items for leaf, value in _leaves(child, f"{path}.{key}").items()}


@law("secrets")
def worlds_are_drawn_fairly(name: str, players: int, games: int = 12_000) -> None:
    """Worlds are distributed like true games: chi-square tests over all that any seat sees, then and later.

    A world drawn from what a seat knows of a random new game is a random new game itself. So whatever is
    counted in true games and in worlds must agree: here every number of every seat's observation, at the
    start and after some random moves, which show the order of the packs.
    """
    game = airenv.game(name, players=players)
    true, drawn = _samples(game, games, redraw=False), _samples(game, games, redraw=True)
    varied = 0
    for column in range(true.shape[1]):
        found, degrees = _chi_square(true[:, column], drawn[:, column])
        varied += degrees
        if degrees:
            # Wilson and Hilferty: the cube root of chi-square over its degrees is close to normal
            z = ((found / degrees) ** (1 / 3) - (1 - 2 / (9 * degrees))) / (2 / (9 * degrees)) ** 0.5
            assert z < 6.0, f"number {column} of what is seen: chi-square {found:.0f} on {degrees} degrees"
    assert varied > 0, "nothing that is seen ever varies"


def _samples(game: Game, games: int, redraw: bool) -> np.ndarray:
    """What all seats see at the start and after a few random moves, in true games or in drawn worlds."""
    rng = np.random.default_rng(int(redraw))
    rows = []
    for number in range(games):
        state = game.new(int(rng.integers(2**62)))
        if redraw:
            state = game.determinize(state, number % game.players, int(rng.integers(2**62)))
        seen = [game.observe(state, s) for s in range(game.players)]
        for _ in range(3 * game.players):
            if actions := game.legal_actions(state):
                game.apply(state, actions[int(rng.integers(len(actions)))])
        seen += [game.observe(state, s) for s in range(game.players)]
        rows.append(np.concatenate(seen))
    return np.array(rows)


def _chi_square(a: np.ndarray, b: np.ndarray) -> tuple[float, int]:
    """Two samples of one number against each other; values too rare to count are taken together."""
    values = np.unique(np.concatenate([a, b]))
    table = np.array([[(sample == value).sum() for value in values] for sample in (a, b)], float)
    rare = table.sum(0) < 20
    if rare.any():
        table = np.column_stack([table[:, ~rare], table[:, rare].sum(1)])
    table = table[:, table.sum(0) > 0]
    expected = table.sum(1, keepdims=True) * table.sum(0) / table.sum()
    return float(((table - expected) ** 2 / expected).sum()), table.shape[1] - 1


@law("secrets")
def rule_of_thumb_is_honest(name: str, players: int) -> None:
    """The game's own player is legal everywhere and advises the same in every possible world."""
    game = airenv.game(name, players=players)
    for count, state in enumerate(positions(game, 2000, seed=4, running=True)):
        advice = game.suggest(state)
        assert advice in game.legal_actions(state)
        assert game.suggest(game.determinize(state, game.player(state), count)) == advice
        value = game.value(state)
        assert (value >= 0.0).all() and (value <= 1.0).all()


@law("secrets")
def secret_choices_stay_secret(name: str, players: int, number: int = 4000) -> None:
    """What is chosen in secret changes nothing that another seat sees, until all who choose with it have chosen."""
    game = airenv.game(name, players=players)
    for state in positions(game, number, seed=5, running=True):
        if not game.is_secret(state):
            continue
        chooser = game.player(state)
        seen: dict[int, tuple[bytes, str]] = {}
        for action in game.legal_actions(state):
            after = game.clone(state)
            game.apply(after, action)
            if game.is_secret(after) and game.player(after) != chooser:
                for seat in set(range(players)) - {chooser}:
                    view = game.observe(after, seat).tobytes(), json.dumps(game.view(after, seat))
                    told = game.action_name(action)
                    assert seen.setdefault(seat, view) == view, f"seat {seat} sees that {told!r} was chosen in secret"


def _differing(a: np.ndarray, b: np.ndarray) -> list[str]:
    return [field for field in a.dtype.names or () if (a[field] != b[field]).any()]
