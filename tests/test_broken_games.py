"""The conformance suite on a game somebody else wrote: it passes, and every way to break it is found."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.conformance import CHECKS

ROOT = Path(__file__).parents[1]
GAMES = Path(__file__).parent / "games"
SLOW_GROUP = "processes"  # compiles everything again, with other flags

TRUE_ORDER = """left = 0
    for other in range(board["players"]):
        if not shown(state, seat, other):
            cards[left] = state["hand"][other]
            left += 1
    for i in range(state["pack_size"]):
        cards[left] = state["pack"][i]
        left += 1"""

# what goes wrong: (file, line as it is, line as it becomes, law that finds it, what the law says, players)
BREAKS = {
    "the observation shows another's card": (
        "observe.py",
        "if shown(state, seat, other):",
        "if True:",
        "observations_leak_nothing",
        "sees [",
        2,
    ),
    "the view shows another's card": (
        "text.py",
        "seen = [seat is None or other == seat or over for",
        "seen = [True for",
        "views_leak_nothing",
        "became",
        2,
    ),
    "the news tell the top of the pack": (
        "text.py",
        "return f\"Player {player} {'swaps' if action == SWAP else 'keeps'} the card\"",
        "return f\"Player {player} could get a {state['pack'][state['pack_size'] - 1]}\"",
        "views_leak_nothing",
        "AssertionError",
        2,
    ),
    "worlds are shuffled from the true order": (
        "rules.py",
        "left = fill_pack(cards, counts)",
        TRUE_ORDER,
        "worlds_rest_on_knowledge",
        "a trace of the true state",
        2,
    ),
    "a search sees the true order": (
        "rules.py",
        "left = fill_pack(cards, counts)",
        TRUE_ORDER,
        "searches_are_honest",
        "finds",
        2,
    ),
    "random choices are not those of the mask": (
        "rules.py",
        "@jit\ndef shown(",
        "@jit\ndef random_choice(board, state, rng, mask):\n    return KEEP\n\n\n@jit\ndef shown(",
        "random_choices_are_those_of_the_mask",
        "than by the mask",
        2,
    ),
    "forgetting ends the game": (
        "rules.py",
        "@jit\ndef shown(",
        '@jit\ndef forget(board, state):\n    state["player"] = NOBODY\n\n\n@jit\ndef shown(',
        "forgetting_changes_no_game",
        "after forgetting",
        2,
    ),
    "an open choice is called secret": (
        "rules.py",
        "@jit\ndef shown(",
        '@jit\ndef secret_choice(board, state):\n    return state["over"] == RUNNING\n\n\n@jit\ndef shown(',
        "secret_choices_stay_secret",
        "was chosen in secret",
        2,
    ),
    "worlds keep the order of the pack": (
        "rules.py",
        'counts[state["pack"][i]] = 1',
        "pass",
        "true_twins_share_their_worlds",
        "'pack'] neither shown nor drawn anew",
        3,
    ),
    "worlds keep the other hands": (
        "rules.py",
        "if not shown(state, seat, other):",
        "if False:",
        "hidden_views_are_drawn_anew",
        "view.cards.1",
        2,
    ),
    "worlds keep the generator": (
        "rules.py",
        'seed_generator(state["rng"], seed)\n    counts',
        "counts",
        "worlds_differ",
        "the generator is not drawn anew",
        2,
    ),
    "cards stay above the top of the pack": (
        "rules.py",
        'take_top(state["pack"], state["pack_size"])',
        'state["pack"][state["pack_size"] - 1]',
        "true_twins_share_their_worlds",
        "'pack'] neither shown nor drawn anew",
        2,
    ),
    "worlds hold a card twice": (
        "rules.py",
        'state["pack"][i] = cards[i]',
        "pass",
        "worlds_are_possible",
        "there is one card of each number",
        2,
    ),
    "worlds are dealt without a shuffle": (
        "rules.py",
        'shuffle(state["rng"], cards, left)',
        "pass",
        "worlds_are_drawn_fairly",
        "chi-square",
        2,
    ),
    "a swap loses the old card": (
        "rules.py",
        'state["discard_size"] += 1',
        "pass",
        "invariants_hold",
        "there is one card of each number",
        2,
    ),
    "new_game leaves the discards of the game before": (
        "rules.py",
        'state["discard"][:] = 0',
        "pass",
        "new_game_forgets",
        "leaves something",
        2,
    ),
    "the seed is not used": (
        "rules.py",
        'seed_generator(state["rng"], seed)\n    state["steps"] = 0',
        'seed_generator(state["rng"], 1)\n    state["steps"] = 0',
        "seeds_matter",
        "AssertionError",
        2,
    ),
    "actions are legal after the end": (
        "rules.py",
        'if state["over"] != RUNNING:\n        return 0',
        "if False:\n        return 0",
        "invariants_hold",
        "the mask, its count",
        2,
    ),
    "the mask is left set after the end": (
        "rules.py",
        'out[:] = 0\n    if state["over"] != RUNNING:',
        'out[:] = 1\n    if state["over"] != RUNNING:',
        "random_games_end",
        "AssertionError",
        2,
    ),
    "the count of legal actions is wrong": (
        "rules.py",
        "return ACTIONS",
        "return 1",
        "invariants_hold",
        "the mask, its count",
        2,
    ),
    "the rule of thumb looks at the pack": (
        "heuristic.py",
        'card = state["hand"][state["player"]]',
        'card = state["pack"][state["pack_size"] - 1]',
        "rule_of_thumb_is_honest",
        "AssertionError",
        2,
    ),
    "the rule of thumb is illegal": (
        "heuristic.py",
        "return SWAP if card < WORTH_KEEPING else KEEP",
        "return SWAP + 1 if card < WORTH_KEEPING else KEEP",
        "rule_of_thumb_is_honest",
        "AssertionError",
        2,
    ),
    "the value is no chance": (
        "heuristic.py",
        'out[seat] = 1.0 / players if state["over"] == RUNNING else 0.0',
        "out[seat] = 2.0",
        "rule_of_thumb_is_honest",
        "AssertionError",
        2,
    ),
    "two actions have one name": (
        "text.py",
        'return ["keep", "swap"]',
        'return ["keep", "keep"]',
        "actions_have_names",
        "AssertionError",
        2,
    ),
    "a score is infinite": (
        "rules.py",
        'out[seat] = 0.0 if state["over"] == RUNNING else state["hand"][seat]',
        "out[seat] = np.inf",
        "random_games_end",
        "AssertionError",
        2,
    ),
    "the state has padding": (
        "layout.py",
        '("spare", "i1", 3),',
        "",
        "records_are_plain",
        "3 bytes of padding",
        2,
    ),
}
# It plays 24,000 games before it can tell; the other laws stop at the first fault.
COMPILED = {"worlds_are_drawn_fairly"}


def check(games, laws, players, **environment):
    """What `airenv check` answers for the game in a folder."""
    command = [sys.executable, "-m", "experiments.cli", "check", "high_card", "--players", str(players)]
    for law in laws:
        command += ["--only", law]
    environment = {**os.environ, "AIRENV_GAMES": str(games), "COLUMNS": "200", **environment}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)


@pytest.fixture
def games(tmp_path):
    """A folder of games with a copy of high card in it."""
    ignored = shutil.ignore_patterns("__pycache__")
    return Path(shutil.copytree(GAMES, tmp_path / "games", ignore=ignored))


@pytest.mark.parametrize("players", [2, 3])
def test_the_intact_game_passes(games, players):
    laws = [check.name for check in CHECKS if check.group != SLOW_GROUP]
    done = check(games, laws, players)
    assert done.returncode == 0, done.stdout + done.stderr
    assert sum(line.startswith("holds") for line in done.stdout.splitlines()) == len(laws)
    assert f"high_card, {players} players: every law holds" in done.stdout


def test_the_intact_game_passes_without_the_compiler(games):
    """So that what the tests below find is the broken line."""
    laws = sorted({law for _, _, _, law, _, _ in BREAKS.values()} - COMPILED)
    done = check(games, laws, 2, NUMBA_DISABLE_JIT="1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "every law holds" in done.stdout


@pytest.mark.parametrize("what", BREAKS)
def test_a_broken_game_is_found(games, tmp_path, what):
    file, line, broken, law, says, players = BREAKS[what]
    path = games / "high_card" / file
    source = path.read_text(encoding="utf-8")
    assert line in source, f"{file} no longer holds {line!r}"
    path.write_text(source.replace(line, broken), encoding="utf-8")
    how = {"NUMBA_CACHE_DIR": str(tmp_path)} if law in COMPILED else {"NUMBA_DISABLE_JIT": "1"}
    done = check(games, [law], players, **how)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"({law}, " in done.stdout and "1 of 1 laws are broken" in done.stdout
    assert says in done.stdout


def test_every_law_named_above_is_one_of_the_suite():
    named = {law for _, _, _, law, _, _ in BREAKS.values()}
    assert named <= {check.name for check in CHECKS}
    assert {check.name for check in CHECKS if check.group in ("rules", "secrets")} - named == {
        "rewards_are_as_documented"  # the rewards are the core's, no game can get them wrong
    }
