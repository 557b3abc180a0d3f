"""Rates of PettingZoo's classic games in the usual AEC loop; prints one JSON object."""

from __future__ import annotations

import os

# Read by pygame when the environments import it.
os.environ["PYGAME_HIDE_SUPPORT_PROMPT"] = "1"

import warnings
from collections.abc import Callable

import measuring
import numpy as np
from gymnasium.spaces import Discrete
from pettingzoo import AECEnv
from pettingzoo.classic import connect_four_v3, leduc_holdem_v4, texas_holdem_v4

ENVIRONMENTS: dict[str, Callable[[], AECEnv]] = {
    "connect_four_v3": connect_four_v3.env,
    "connect_four_v3_raw": connect_four_v3.raw_env,
    "leduc_holdem_v4": leduc_holdem_v4.env,
    "texas_holdem_v4": texas_holdem_v4.env,
}
SAMPLES_PER_CALL = 1000


def main() -> None:
    out = measuring.keep_stdout_for_json()
    warnings.simplefilter("ignore")
    arguments = measuring.parse_arguments(__doc__)
    timing = (arguments.seconds, arguments.repeats)
    figures = {name: steps_figure(make, arguments.seed, *timing) for name, make in ENVIRONMENTS.items()}
    figures["masked_sample_of_7"] = sample_figure(arguments.seed, *timing)
    measuring.write_report(out, ["pettingzoo", "gymnasium", "rlcard", "numpy"], arguments, figures)


def play_game(env: AECEnv) -> tuple[int, int]:
    """Play one game from reset at random; return the actions taken, and the closing steps without one."""
    env.reset()
    actions = closing_steps = 0
    for agent in env.agent_iter():
        observation, _, termination, truncation, _ = env.last()
        if termination or truncation:
            env.step(None)
            closing_steps += 1
        else:
            env.step(env.action_space(agent).sample(observation["action_mask"]))
            actions += 1
    return actions, closing_steps


def steps_figure(make: Callable[[], AECEnv], seed: int, seconds: float, repeats: int) -> measuring.Figure:
    """Only steps that carry an action are counted, though the closing ones and resets take their time too.

    How many steps of either kind a game has is given besides, for comparing with rates that count them all.
    """
    env = make()
    env.reset(seed=seed)
    for number, agent in enumerate(env.possible_agents):
        env.action_space(agent).seed(seed + number)
    games = total_actions = total_closing_steps = 0

    def play() -> int:
        nonlocal games, total_actions, total_closing_steps
        actions, closing_steps = play_game(env)
        games += 1
        total_actions += actions
        total_closing_steps += closing_steps
        return actions

    measurements = measuring.rates(play, seconds, repeats)
    env.close()
    all_steps_per_action = (total_actions + total_closing_steps) / total_actions
    result = measuring.figure(
        "steps/s",
        measurements,
        actions_per_game=round(total_actions / games, 3),
        closing_steps_per_game=round(total_closing_steps / games, 3),
    )
    result["median_counting_closing_steps"] = round(result["median"] * all_steps_per_action, 1)
    return result


def sample_figure(seed: int, seconds: float, repeats: int) -> measuring.Figure:
    """The masked sampling that every step of the loop pays for, whichever environment is stepped."""
    space = Discrete(7, seed=seed)
    mask = np.ones(7, dtype=np.int8)

    def sample_many() -> int:
        for _ in range(SAMPLES_PER_CALL):
            space.sample(mask)
        return SAMPLES_PER_CALL

    return measuring.figure("samples/s", measuring.rates(sample_many, seconds, repeats))


if __name__ == "__main__":
    main()
