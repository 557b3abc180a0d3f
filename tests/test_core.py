"""The generator, packs, kernels, board files, the registry and the compile cache."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import airenv
from airenv.core import jit, kernels, registry
from airenv.core.boards import Section, Typed, complain, find_board, load_board
from airenv.core.decks import bring_random, count_cards, fill_pack, shuffle, take_top
from airenv.core.engine import CONTRACT, padding, register
from airenv.core.errors import BadSeed, BoardError, UnknownName
from airenv.core.random import below, derive_seed, next_word, seed_generator, valid_seed

NAME = airenv.game_names()[0]
SEEDS = st.integers(0, 2**63 - 1)
WORD = 0xFFFFFFFF


def generator(seed):
    rng = np.zeros(4, np.uint32)
    seed_generator(rng, seed)
    return rng


def chi_square(counts, expected):
    return float(((np.asarray(counts) - expected) ** 2 / expected).sum())


# -- the generator ---------------------------------------------------------------------------------


def test_generator_is_sfc32():
    """The published algorithm, step by step, in plain integers."""
    a, b, c, counter = 1, 2, 3, 4
    rng = np.array([a, b, c, counter], np.uint32)
    for _ in range(100):
        word = (a + b + counter) & WORD
        counter = (counter + 1) & WORD
        a = b ^ (b >> 9)
        b = (c + (c << 3)) & WORD
        c = ((c << 21 | c >> 11) + word) & WORD
        assert next_word(rng) == word


@given(SEEDS)
def test_same_seed_same_words(seed):
    one, two = generator(seed), generator(seed)
    assert [next_word(one) for _ in range(5)] == [next_word(two) for _ in range(5)]


@given(SEEDS, st.integers(1, 1000))
def test_below_stays_below(seed, n):
    rng = generator(seed)
    assert all(0 <= below(rng, n) < n for _ in range(20))


@pytest.mark.parametrize("n", [2, 3, 7, 29])
def test_below_is_uniform(n):
    rng = generator(n)
    counts = np.bincount([below(rng, n) for _ in range(4000 * n)], minlength=n)
    assert chi_square(counts, 4000) < n - 1 + 5 * (2 * n) ** 0.5


def test_shuffles_are_uniform():
    counts, rng = {}, generator(1)
    for _ in range(24_000):
        cards = np.arange(4)
        shuffle(rng, cards, 4)
        counts[tuple(cards)] = counts.get(tuple(cards), 0) + 1
    assert len(counts) == 24 and chi_square(list(counts.values()), 1000) < 23 + 5 * 46**0.5


@given(st.lists(st.integers(0, 6), min_size=1, max_size=8))
def test_packs_hold_what_they_should(counts):
    cards = np.full(60, -1, np.int8)
    size = fill_pack(cards, np.array(counts))
    assert size == sum(counts) and (cards[size:] == -1).all()
    assert np.bincount(cards[:size], minlength=len(counts)).tolist() == counts


@given(st.lists(st.integers(1, 9), min_size=1, max_size=12), SEEDS)
def test_piles_are_taken_from_the_top_and_counted(cards, seed):
    pile, counts = np.array([*cards, 0, 0], np.int8), np.zeros(10, np.int64)
    count_cards(pile, len(cards), counts)
    assert counts.tolist() == np.bincount(cards, minlength=10).tolist()
    brought = bring_random(generator(seed), pile, 0, len(cards))
    assert pile[0] == brought and sorted(pile[: len(cards)]) == sorted(cards) and not pile[len(cards) :].any()
    taken = [int(take_top(pile, size)) for size in range(len(cards), 0, -1)]
    assert sorted(taken) == sorted(cards) and taken[-1] == brought and not pile.any()


def test_bring_random_is_uniform():
    counts, rng = np.zeros(5), generator(2)
    for _ in range(8000):
        counts[bring_random(rng, np.arange(5, dtype=np.int8), 1, 5)] += 1
    assert counts[0] == 0 and chi_square(counts[1:], 2000) < 3 + 5 * 6**0.5


def test_derived_seeds_differ_and_are_seeds():
    scratch = np.zeros(4, np.uint32)
    seeds = {
        int(derive_seed(seed, stream, number, scratch))
        for seed in (0, 1, 2**63 - 1)
        for stream in range(50)
        for number in (*range(50), 2**32, 2**32 + 1)
    }
    assert len(seeds) == 3 * 50 * 52 and all(valid_seed(seed) == seed for seed in seeds)


@pytest.mark.parametrize("seed", [-1, 2**63, 0.5, "1", None, False, np.bool_(True)])
def test_what_is_no_seed(seed):
    with pytest.raises(BadSeed, match=r"2\*\*63 - 1"):
        valid_seed(seed)


# -- kernels ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 5, 29, 32, 33, 64, 100, 333])
def test_random_action_is_uniform_over_the_legal_ones(size):
    mask = (np.random.default_rng(size).random(size) < 0.4).astype(np.int8)
    mask[size - 1] = 1
    legal, rng = int(mask.sum()), generator(size)
    counts = np.bincount([kernels.random_action(rng, mask, legal) for _ in range(1000 * legal)], minlength=size)
    assert not counts[mask == 0].any()
    assert chi_square(counts[mask == 1], 1000) < legal - 1 + 5 * (2 * legal) ** 0.5


@pytest.mark.parametrize(
    ("points", "mode", "rewards"),
    [
        ([5, 3, 1], kernels.RANK, [1, 0, -1]),
        ([5, 5, 1], kernels.RANK, [0.5, 0.5, -1]),
        ([1, 0, 0, 0], kernels.RANK, [1, -1 / 3, -1 / 3, -1 / 3]),
        ([2, 2], kernels.RANK, [0, 0]),
        ([5, 5, 1], kernels.WIN, [0.5, 0.5, 0]),
        ([0, 0, 0], kernels.WIN, [0, 0, 0]),
        ([5, 3, 1], kernels.SCORE, [5, 3, 1]),
        ([5, 3, 1], kernels.MARGIN, [2, -2, -4]),
    ],
)
def test_rewards_of_scores(points, mode, rewards):
    out = np.zeros(len(points))
    kernels.rewards_of(np.array(points, float), len(points), mode, out)
    assert np.allclose(out, rewards)


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=5))
def test_rank_rewards_sum_to_zero_and_keep_the_order(points):
    out, given_points = np.zeros(len(points)), np.array(points, float)
    kernels.rewards_of(given_points, len(points), kernels.RANK, out)
    assert abs(out.sum()) < 1e-9
    assert ((given_points[:, None] > given_points) == (out[:, None] > out)).all()


def test_an_engine_must_be_whole_and_its_state_without_padding():
    header = [("rng", "u4", 4), ("steps", "i4"), ("player", "i1"), ("over", "i1")]
    ragged = np.dtype(header, align=True)
    functions = dict.fromkeys(CONTRACT, abs)
    assert padding(ragged) == 2
    with pytest.raises(TypeError, match="2 bytes of padding"):
        register(ragged, functions)
    with pytest.raises(TypeError, match="lacks step"):
        register(ragged, {name: abs for name in CONTRACT if name != "step"})
    with pytest.raises(TypeError, match="'over'"):
        register(np.dtype(header[:3]), functions)


# -- board files -------------------------------------------------------------------------------------


class Hangar(Section):
    planes: int

    def model_post_init(self, _):
        complain((self.planes < 1, "no plane"), (self.planes % 2 == 1, "an odd number of planes"))


class Field(Typed):
    name: str
    hangar: Hangar


GOOD = 'name = "Field"\n[hangar]\nsource = "derived"\nnote = "made up"\nplanes = 4\n'


def test_a_good_board_file_is_read(tmp_path):
    (tmp_path / "board.toml").write_text(GOOD)
    assert load_board(tmp_path / "board.toml", Field).hangar.planes == 4


@pytest.mark.parametrize(
    ("old", "new", "problems"),
    [
        ('name = "Field"', "nam = 1", ["name: Field required", "nam: Extra inputs"]),
        ("planes = 4", "planes = -1", ["hangar: no plane", "hangar: an odd number"]),
        ("planes = 4", 'planes = "x"\nwings = 2', ["hangar.planes", "given: 'x'", "hangar.wings"]),
        ("derived", "guessed", ["hangar.source", "'reconstructed'"]),
        ("[hangar]", "[hangar", ["is not TOML"]),
    ],
)
def test_a_bad_board_file_lists_all_its_problems(tmp_path, old, new, problems):
    path = tmp_path / "board.toml"
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(BoardError) as error:
        load_board(path, Field)
    assert str(path) in str(error.value)
    for problem in problems:
        assert problem in str(error.value)


def test_boards_are_found_by_name_or_file(tmp_path):
    (tmp_path / "board.toml").write_text(GOOD)
    (tmp_path / "board_usa.toml").write_text(GOOD)
    assert find_board(tmp_path, "standard").name == "board.toml"
    assert find_board(tmp_path, "usa").name == "board_usa.toml"
    assert find_board(tmp_path, tmp_path / "board_usa.toml").name == "board_usa.toml"
    with pytest.raises(UnknownName, match="Did you mean usa"):
        find_board(tmp_path, "us")
    with pytest.raises(BoardError, match="there is no board file"):
        find_board(tmp_path, "none.toml")


# -- the registry ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", airenv.game_names())
def test_a_game_is_reached_by_all_its_names(name):
    import gymnasium

    facts = airenv.facts(name)
    module = getattr(airenv, facts.module_name)
    assert module.env(players=facts.players[0]).metadata["name"] == facts.module_name
    assert facts.gym_id in gymnasium.registry
    for part in ("board", "layout", "rules", "observe", "heuristic", "text", "test_rules"):
        assert registry.game_module(name, part)
    assert (airenv.game(name).folder / "README.md").stat().st_size > 1000


def test_an_unknown_name_suggests_the_nearest():
    name = airenv.game_names()[0]
    with pytest.raises(UnknownName, match=f"Did you mean {name}"):
        airenv.make(name.upper().replace("_", " ")[:-1])
    with pytest.raises(UnknownName, match="Allowed: "):
        airenv.game("chess")
    with pytest.raises(AttributeError, match="chess_v0"):
        getattr(airenv, "chess_v0")  # noqa: B009


# -- the compile cache -------------------------------------------------------------------------------


def run_python(code, **environment):
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_the_cache_is_keyed_by_every_compiled_source(tmp_path, monkeypatch):
    monkeypatch.setenv("AIRENV_GAMES", str(tmp_path))
    before = jit.source_hash()
    (tmp_path / "rules.py").write_text("x = 1")
    changed = jit.source_hash()
    (tmp_path / "rules.py").write_text("x = 2")
    again = jit.source_hash()
    (tmp_path / "test_rules.py").write_text("not compiled")
    assert len({before, changed, again}) == 3 and jit.source_hash() == again


def test_many_processes_fill_one_cache_at_once(tmp_path):
    """Three processes compile into the same empty cache; a fourth finds everything there."""
    name = NAME
    code = (
        f"import airenv; from airenv.core import kernels; g = airenv.game({name!r}); s = g.new(1)\n"
        "[g.apply(s, g.legal_actions(s)[0]) for _ in range(20)]; print(g.digest(s))\n"
        "print(sum(kernels.apply_one.stats.cache_misses.values()))"
    )
    running = [run_python(code, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(3)]
    digests = []
    for process in running:
        out, error = process.communicate(timeout=300)
        assert process.returncode == 0, error
        digests.append(out.split()[0])
    assert len(set(digests)) == 1
    out, error = run_python(code, NUMBA_CACHE_DIR=str(tmp_path)).communicate(timeout=300)
    assert out.split() == [digests[0], "0"], error


@pytest.mark.parametrize("environment", [{"NUMBA_CACHE_DIR": "/proc/nowhere"}, {"HOME": "/proc/nowhere"}])
def test_a_cache_that_cannot_be_written_is_made_elsewhere(environment, tmp_path):
    code = "from airenv.core import jit; print(jit.CACHE_DIR)"
    out, error = run_python(code, TMPDIR=str(tmp_path), XDG_CACHE_HOME="", **environment).communicate(timeout=60)
    assert Path(out.strip()).is_relative_to(tmp_path) and "cannot be kept in" in error


def test_builds_nobody_uses_are_removed(tmp_path):
    old, kept, foreign = tmp_path / ("a" * 16), tmp_path / ("b" * 16), tmp_path / "precious"
    for folder in (old, kept, foreign):
        folder.mkdir()
    for folder in (old, foreign):
        os.utime(folder, (0, 0))
    run_python("import airenv.core.jit", NUMBA_CACHE_DIR=str(tmp_path)).communicate(timeout=60)
    assert not old.exists() and kept.exists() and foreign.exists()


def test_a_users_own_compiled_functions_keep_their_cache():
    code = "import numba as n; old = n.config.CACHE_DIR; import airenv.core.kernels; print(old == n.config.CACHE_DIR)"
    out, error = run_python(code).communicate(timeout=60)
    assert out.strip() == "True", error


def test_a_broken_game_does_not_break_the_others(tmp_path):
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "__init__.py").write_text("FACTS = 1 / 0")
    code = f"import airenv; print(airenv.make({NAME!r}).metadata['name']); airenv.game('broken')"
    out, error = run_python(code, AIRENV_GAMES=f"{tmp_path}{os.pathsep}/no/such/folder").communicate(timeout=60)
    assert out.strip() == airenv.facts(NAME).module_name
    assert (
        "the folder of broken is no game: ZeroDivisionError" in error and "/no/such/folder, which is no folder" in error
    )


def test_importing_airenv_loads_no_heavy_library():
    code = "import sys, airenv; print([m for m in ('torch', 'numba', 'matplotlib', 'pettingzoo') if m in sys.modules])"
    out, error = run_python(code).communicate(timeout=60)
    assert out.strip() == "[]", error


def test_every_package_says_it_is_typed():
    root = Path(airenv.__file__).parents[1]
    assert all((root / package / "py.typed").exists() for package in ("airenv", "agents", "experiments"))
