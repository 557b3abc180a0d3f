"""Trained decisions a second: self-play PPO beside stock MaskablePPO on the same game; prints one JSON object.

The stock route is the one PettingZoo's tutorial shows: the AEC environment wrapped as a Gymnasium one that hands over
whoever is to act, eight of them in a DummyVecEnv. Network, epochs and machine are the same; the stock route is measured
with SB3's own minibatches of 64 and with ours.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from typing import Any

import gymnasium
import numpy as np
from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env import DummyVecEnv

import airenv
from agents.ppo import PpoSettings, PpoTrainer, make_model
from airenv.aec import AirEnv

TRUNK = [128, 128]
STOCK_ENVIRONMENTS = 8
STOCK_STEPS = 512


class WhoeverActs(gymnasium.Env):
    """An AEC environment as a Gymnasium one: every step is the next agent's."""

    def __init__(self, env: AirEnv) -> None:
        self.env = env
        agent = env.possible_agents[0]
        spaces: Any = env.observation_space(agent)
        self.observation_space = spaces["observation"]
        self.action_space = env.action_space(agent)

    def _seen(self) -> np.ndarray:
        return self.env.observe(self.env.agent_selection)["observation"]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        self.env.reset(seed)
        return self._seen(), {}

    def action_masks(self) -> np.ndarray:
        return self.env.observe(self.env.agent_selection)["action_mask"]

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict]:
        mover = self.env.agent_selection
        self.env.step(int(action))
        over = any(self.env.terminations.values()) or any(self.env.truncations.values())
        return self._seen(), float(self.env.rewards[mover]), over, False, {}


def own_rate(game: str, players: int, seconds: float) -> dict[str, float]:
    """Decisions a second of whole rounds, and the share of the time that goes into the games."""
    trainer = PpoTrainer([airenv.game(game, players=players)], PpoSettings(onlookers=0.0), TRUNK, 1, 10**9)
    trainer.advance()
    start, before = time.perf_counter(), trainer.decisions
    games = trainer.model.times["environment"]
    while time.perf_counter() - start < seconds:
        trainer.advance()
    spent = time.perf_counter() - start
    share = (trainer.model.times["environment"] - games) / spent
    return {"ppo": (trainer.decisions - before) / spent, "ppo_environment_share": share}


def stock_rate(game: str, players: int, seconds: float, batch: int) -> float:
    """Decisions a second of stock MaskablePPO: collecting and updating."""
    envs = DummyVecEnv([lambda: WhoeverActs(airenv.make(game, players=players))] * STOCK_ENVIRONMENTS)
    settings = PpoSettings(steps=STOCK_STEPS, batch=batch)
    model = make_model(envs, settings, TRUNK, 1, kind=MaskablePPO)
    round_ = STOCK_STEPS * STOCK_ENVIRONMENTS
    model.learn(round_)  # what has to be compiled is compiled now, as in the own rate
    start, made = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        model.learn(round_, reset_num_timesteps=False)
        made += round_
    return made / (time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--game", required=True)
    parser.add_argument("--players", type=int, required=True)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--core", type=int, required=True)
    arguments = parser.parse_args()
    os.sched_setaffinity(0, {arguments.core})
    table = (arguments.game, arguments.players, arguments.seconds)
    batches = (64, PpoSettings().batch)
    peers = {f"stock_maskable_ppo_batch_{batch}": stock_rate(*table, batch) for batch in batches}
    own = own_rate(*table)  # last: it changes how the process keeps its memory
    print(json.dumps({"own": own, "peers": peers}))


if __name__ == "__main__":
    main()
