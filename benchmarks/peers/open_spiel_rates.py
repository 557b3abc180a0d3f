"""Rates of OpenSpiel's card games, rolled out in C++ and played from Python; prints one JSON object."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from statistics import fmean

import measuring
import numpy as np
import pyspiel

ROLLOUT_GAMES = ("hearts", "spades", "euchre")
SEARCH_GAMES = ("hearts", "oh_hell")
SEARCH_DEALS = 6  # all of them in every measurement: some deals are searched half as fast again as others
SIMULATIONS_PER_CALL = 10_000  # as many as airenv's search makes in a decision when it is measured
DEALS = 64
# Long enough that the call from Python costs next to nothing, short enough to keep time well.
ROLLOUTS_PER_CALL = 200
GAMES_PER_DEAL_FOR_LENGTH = 100
CLONES_PER_CALL = 1000

CHANCE = int(pyspiel.PlayerId.CHANCE)
TERMINAL = int(pyspiel.PlayerId.TERMINAL)


def main() -> None:
    out = measuring.keep_stdout_for_json()
    arguments = measuring.parse_arguments(__doc__)
    random.seed(arguments.seed)
    np.random.seed(arguments.seed)
    timing = (arguments.seconds, arguments.repeats)
    figures = {f"{name}_rollouts": rollout_figure(name, arguments.seed, *timing) for name in ROLLOUT_GAMES}
    for name in SEARCH_GAMES:
        figures[f"{name}_ismcts"] = search_figure(name, arguments.seed, *timing, make_bot=ismcts_bot)
    figures["hearts_mcts_of_the_true_state"] = search_figure("hearts", arguments.seed, *timing, make_bot=mcts_bot)
    hearts = pyspiel.load_game("hearts")
    figures["hearts_python_loop"] = python_loop_figure(hearts, *timing)
    figures["hearts_python_loop_as_documented"] = documented_loop_figure(hearts, *timing)
    figures["hearts_python_loop_after_deal"] = python_loop_after_deal_figure(hearts, *timing)
    figures["hearts_clone"] = clone_figure(hearts, *timing)
    measuring.write_report(out, ["open_spiel", "numpy"], arguments, figures)


def play_out(state: pyspiel.State) -> int:
    """Play `state` to its end at random and return the number of players' decisions made.

    One `current_player` call tells a decision, a chance node and the end apart, which is quicker than asking
    `is_terminal` and `is_chance_node`. Taking any chance outcome alike is right for these games only, whose
    deals are uniform at every node (see `deal`).
    """
    uniform = random.random
    current_player = state.current_player
    legal_actions = state.legal_actions
    apply_action = state.apply_action
    decisions = 0
    while (player := current_player()) != TERMINAL:
        if player == CHANCE:
            outcomes = state.chance_outcomes()
            apply_action(outcomes[int(uniform() * len(outcomes))][0])
        else:
            actions = legal_actions()
            apply_action(actions[int(uniform() * len(actions))])
            decisions += 1
    return decisions


def play_out_as_documented(state: pyspiel.State) -> int:
    """The same in the manner of OpenSpiel's own examples: general, numpy sampling the chance outcomes."""
    decisions = 0
    while not state.is_terminal():
        if state.is_chance_node():
            actions, probabilities = zip(*state.chance_outcomes(), strict=True)
            state.apply_action(np.random.choice(actions, p=probabilities))
        else:
            state.apply_action(random.choice(state.legal_actions()))
            decisions += 1
    return decisions


def deal(game: pyspiel.Game) -> pyspiel.State:
    """A state in which every chance node is behind and the first player is to decide."""
    state = game.new_initial_state()
    while state.is_chance_node():
        outcomes = state.chance_outcomes()
        if len({round(probability, 9) for _, probability in outcomes}) != 1:
            raise ValueError(f"{game}: chance outcomes are not uniform")
        state.apply_action(random.choice(outcomes)[0])
    return state


def mean_decisions(state: pyspiel.State) -> float:
    """Players' decisions in a random game from `state`: a rollout makes as many, but does not report them."""
    return fmean(play_out(state.clone()) for _ in range(GAMES_PER_DEAL_FOR_LENGTH))


def rollout_figure(name: str, seed: int, seconds: float, repeats: int) -> measuring.Figure:
    """Random rollouts wholly in C++, over several deals in turn.

    Python cannot call the rollout evaluator itself. A search of a single simulation can stand in for it: it
    evaluates the root and nothing else, so a step is `ROLLOUTS_PER_CALL` rollouts from the state given.
    """
    game = pyspiel.load_game(name)
    evaluator = pyspiel.RandomRolloutEvaluator(ROLLOUTS_PER_CALL, seed)
    bot = pyspiel.MCTSBot(
        game, evaluator, uct_c=1.0, max_simulations=1, max_memory_mb=16, solve=False, seed=seed, verbose=False
    )
    deals = [deal(game) for _ in range(DEALS)]
    lengths = [mean_decisions(state) for state in deals]
    decisions_per_call = [round(length * ROLLOUTS_PER_CALL) for length in lengths]
    turns = itertools.cycle(zip(deals, decisions_per_call, strict=True))

    def roll_out() -> int:
        state, decisions = next(turns)
        bot.step(state)
        return decisions

    return measuring.figure(
        "decisions/s",
        measuring.rates(roll_out, seconds, repeats),
        decisions_per_rollout=round(fmean(lengths), 3),
        includes="clone of the dealt state, play to the end; not the dealing",
    )


def ismcts_bot(game: pyspiel.Game, seed: int) -> pyspiel.Bot:
    """Information-set search: a world drawn for every simulation."""
    return pyspiel.ISMCTSBot(seed, pyspiel.RandomRolloutEvaluator(1, seed), 2.0, SIMULATIONS_PER_CALL)


def mcts_bot(game: pyspiel.Game, seed: int) -> pyspiel.Bot:
    """Search of the true state, hidden cards included."""
    evaluator = pyspiel.RandomRolloutEvaluator(1, seed)
    return pyspiel.MCTSBot(
        *(game, evaluator),
        uct_c=2.0,
        max_simulations=SIMULATIONS_PER_CALL,
        max_memory_mb=256,
        solve=False,
        seed=seed,
        verbose=False,
    )


def search_figure(
    name: str, seed: int, seconds: float, repeats: int, make_bot: Callable[[pyspiel.Game, int], pyspiel.Bot]
) -> measuring.Figure:
    """Decisions a second of a C++ search with one full random rollout a simulation, over several deals.

    A simulation plays from the root to the end of the game, in the tree and then at random: it makes as many
    decisions as a random game from there, on the average.
    """
    game = pyspiel.load_game(name)
    bot = make_bot(game, seed)
    deals = [deal(game) for _ in range(SEARCH_DEALS)]
    lengths = [mean_decisions(state) for state in deals]

    def search() -> int:
        for state in deals:
            bot.step(state)
        return round(sum(lengths) * SIMULATIONS_PER_CALL)

    return measuring.figure(
        "decisions/s",
        measuring.rates(search, seconds, repeats),
        decisions_per_simulation=round(fmean(lengths), 3),
    )


def python_loop_figure(game: pyspiel.Game, seconds: float, repeats: int) -> measuring.Figure:
    return measuring.figure(
        "decisions/s",
        measuring.rates(lambda: play_out(game.new_initial_state()), seconds, repeats),
        includes="dealing through chance nodes, which take time but are not counted",
    )


def documented_loop_figure(game: pyspiel.Game, seconds: float, repeats: int) -> measuring.Figure:
    return measuring.figure(
        "decisions/s",
        measuring.rates(lambda: play_out_as_documented(game.new_initial_state()), seconds, repeats),
        includes="dealing through chance nodes, which take time but are not counted",
    )


def python_loop_after_deal_figure(game: pyspiel.Game, seconds: float, repeats: int) -> measuring.Figure:
    deals = itertools.cycle([deal(game) for _ in range(DEALS)])
    return measuring.figure(
        "decisions/s",
        measuring.rates(lambda: play_out(next(deals).clone()), seconds, repeats),
        includes="clone of the dealt state, play to the end; not the dealing",
    )


def clone_figure(game: pyspiel.Game, seconds: float, repeats: int) -> measuring.Figure:
    state = deal(game)
    for _ in range(game.max_game_length() // 2):
        state.apply_action(random.choice(state.legal_actions()))

    def clone_many() -> int:
        clone = state.clone
        for _ in range(CLONES_PER_CALL):
            clone()
        return CLONES_PER_CALL

    return measuring.figure("clones/s", measuring.rates(clone_many, seconds, repeats))


if __name__ == "__main__":
    main()
