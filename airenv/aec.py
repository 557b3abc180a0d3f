"""Every game as a PettingZoo AEC environment.

The checks that PettingZoo adds by wrappers (order of calls, bounds, legality) are done here, once, in
the compiled step; there is nothing to wrap.
"""

from __future__ import annotations

import json
import zlib
from types import ModuleType
from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv

from airenv.byhand import Game, fresh_seed
from airenv.core import kernels, registry
from airenv.core.engine import TRUNCATED
from airenv.core.errors import ILLEGAL_MODES, AirenvError, BadOption, BadState, one_of, positive
from airenv.core.random import valid_seed
from airenv.render import RENDER_MODES, close_window, render

MAGIC = b"airsnap1"


class NotReset(AirenvError):
    """The environment was used before reset()."""


class AirEnv(AECEnv):  # type: ignore[misc]
    """One game; agents `player_0` ... act in turn.

    max_cycles: cut the game off after so many decisions (none by default)
    illegal: "raise" an error (the state stays as it was), or play a "random" legal action instead
    render_seat: whose eyes `render` looks through; None sees all hands
    """

    def __init__(
        self,
        name: str,
        *,
        seed: int | None = None,
        render_mode: str | None = None,
        render_seat: int | None = None,
        max_cycles: int | None = None,
        illegal: str = "raise",
        **options: Any,
    ) -> None:
        self.game = Game(name, **options)
        self.metadata = {
            "render_modes": list(RENDER_MODES),
            "name": self.game.facts.module_name,
            "is_parallelizable": False,
            "render_fps": 2,
        }
        self.render_mode = None if render_mode is None else one_of("render_mode", render_mode, RENDER_MODES)
        self._render_seat = None if render_seat is None else self.game.valid_seat(render_seat)
        self._max_cycles = None if max_cycles is None else positive("max_cycles", max_cycles)
        self._illegal = one_of("illegal", illegal, ILLEGAL_MODES)
        self._next_seed = None if seed is None else valid_seed(seed)
        self._state: np.ndarray | None = None
        self.possible_agents = [f"player_{seat}" for seat in range(self.game.players)]
        self.agents: list[str] = []
        self._seat_of = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self._make_spaces()

    def _make_spaces(self) -> None:
        game = self.game
        self.observation_spaces = {
            agent: spaces.Dict(
                {
                    "observation": spaces.Box(-10.0, 10.0, (game.observation_size,), np.float32),
                    "action_mask": spaces.Box(0, 1, (game.num_actions,), np.int8),
                }
            )
            for agent in self.possible_agents
        }
        self.action_spaces = {agent: spaces.Discrete(game.num_actions) for agent in self.possible_agents}
        self.state_space = spaces.Box(-10.0, 10.0, (game.players * game.observation_size,), np.float32)

    def observation_space(self, agent: str) -> spaces.Space:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space:
        return self.action_spaces[agent]

    # -- playing -----------------------------------------------------------------------------------

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Deal a new game. Without a seed each reset follows from the one before, or from chance."""
        if seed is not None:
            chosen = valid_seed(seed)
        elif self._next_seed is not None:
            chosen = self._next_seed
        else:
            chosen = fresh_seed()
        self._random = np.random.default_rng([chosen, 1])
        self._next_seed = int(self._random.integers(2**63))
        self.seed = chosen
        self._state = self.game.new(chosen)
        self._cycles = 0
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self._over = False
        self._skip_agent_selection = None
        self.agent_selection = self.possible_agents[int(self._state["player"][0])]
        if self.render_mode == "human":
            self.render()

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        """What an agent sees now, in new arrays; the mask is all zero unless it is to act."""
        if self._state is None:
            raise NotReset("call reset() before observing or stepping")
        out = np.empty(self.game.observation_size, np.float32)
        mask = np.empty(self.game.num_actions, np.int8)
        self.game._observe_one(self.game.board, self._state, 0, self._seat_of[agent], out, mask)
        return {"observation": out, "action_mask": mask}

    def step(self, action: int | None) -> None:
        """The agent_selection's action; None for an agent whose game is over."""
        if self._state is None:
            raise NotReset("call reset() before observing or stepping")
        if self._over:
            if not self.agents:
                raise NotReset("the game is over and every agent has left: call reset()")
            self._was_dead_step(action)
            return
        chosen = action if type(action) is int else self.game.as_integer(action)
        following = self.game.attempt(self._state, chosen)
        if following <= kernels.ILLEGAL:
            following = self._play_instead(chosen)
        elif self.infos[self.agent_selection]:
            self.infos[self.agent_selection] = {}
        self._cycles += 1
        # Rewards fall at the end alone, so until then all rewards are zero and need no bookkeeping.
        if following == kernels.GAME_OVER:
            self._finish()
        elif self._max_cycles is not None and self._cycles >= self._max_cycles:
            self._cut_off()
        else:
            self.agent_selection = self.possible_agents[following]
        if self.render_mode == "human":
            self.render()

    def _play_instead(self, action: int) -> int:
        """Deal with an illegal action as the environment was told to."""
        assert self._state is not None
        if self._illegal == "raise":
            raise self.game.illegal(self._state, action)
        legal = self.game.legal_actions(self._state)
        self.infos[self.agent_selection] = {"illegal_action": action}
        instead = legal[int(self._random.integers(len(legal)))]
        return self.game.attempt(self._state, instead)

    def _finish(self) -> None:
        assert self._state is not None
        returns = self.game.returns(self._state)
        truncated = bool(self._state["over"][0] == TRUNCATED)
        for seat, agent in enumerate(self.possible_agents):
            self.rewards[agent] = float(returns[seat])
            self.terminations[agent] = not truncated
            self.truncations[agent] = truncated
        self._accumulate_rewards()
        self._leave()

    def _cut_off(self) -> None:
        self.truncations = dict.fromkeys(self.agents, True)
        self._leave()

    def _leave(self) -> None:
        self._over = True
        self._deads_step_first()

    def agent_iter(self, max_iter: int = 2**63) -> Any:
        if self._state is None:
            raise NotReset("call reset() before going through the agents")
        return super().agent_iter(max_iter)

    def last(self, observe: bool = True) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if self._state is None:
            raise NotReset("call reset() before asking for what came last")
        agent = self.agent_selection
        return (
            self.observe(agent) if observe else None,
            self._cumulative_rewards[agent],
            self.terminations[agent],
            self.truncations[agent],
            self.infos[agent],
        )

    # -- beyond PettingZoo's games -----------------------------------------------------------------

    def state(self) -> np.ndarray:
        """Every seat's observation in one array, for centralised critics. Privileged: it holds all hands."""
        if self._state is None:
            raise NotReset("call reset() before asking for the state")
        return np.concatenate([self.game.observe(self._state, seat) for seat in range(self.game.players)])

    def snapshot(self) -> bytes:
        """The whole environment as bytes: restore() goes on from here, in any process."""
        if self._state is None:
            raise NotReset("call reset() before taking a snapshot")
        books = {
            "agents": self.agents,
            "selection": self.agent_selection,
            "skip": self._skip_agent_selection,
            "rewards": self.rewards,
            "cumulative": self._cumulative_rewards,
            "terminations": self.terminations,
            "truncations": self.truncations,
            "infos": self.infos,
            "over": self._over,
            "cycles": self._cycles,
            "seed": self.seed,
            "next_seed": self._next_seed,
            "random": self._random.bit_generator.state,
        }
        text = json.dumps(books).encode()
        body = len(text).to_bytes(4, "little") + text + self.game.to_bytes(self._state)
        return MAGIC + zlib.crc32(body).to_bytes(4, "little") + body

    def restore(self, data: bytes) -> None:
        """Go on from a snapshot of the same game; damaged or foreign bytes change nothing."""
        head = len(MAGIC) + 4
        if len(data) < head + 4 or not data.startswith(MAGIC):
            raise BadState("these bytes are not a snapshot")
        body = data[head:]
        if zlib.crc32(body).to_bytes(4, "little") != data[len(MAGIC) : head]:
            raise BadState("a snapshot is damaged: its check sum does not fit")
        size = int.from_bytes(body[:4], "little")
        state = self.game.from_bytes(body[4 + size :])
        books = json.loads(body[4 : 4 + size])
        self._state = state
        self.agents, self.agent_selection = books["agents"], books["selection"]
        self._skip_agent_selection = books["skip"]
        self.rewards, self._cumulative_rewards = books["rewards"], books["cumulative"]
        self.terminations, self.truncations = books["terminations"], books["truncations"]
        self.infos, self._over, self._cycles = books["infos"], books["over"], books["cycles"]
        self.seed, self._next_seed = books["seed"], books["next_seed"]
        self._random = np.random.default_rng()
        self._random.bit_generator.state = books["random"]

    def render(self) -> str | np.ndarray | None:
        """The table: text for "ansi", pixels for "rgb_array", a window (or the terminal) for "human"."""
        if self.render_mode is None:
            raise BadOption(f"make the environment with render_mode= one of {', '.join(RENDER_MODES)}")
        if self._state is None:
            raise NotReset("call reset() before rendering")
        return render(self.game, self._state, self.render_mode, self._render_seat)

    def close(self) -> None:
        """Close the window, if there is one."""
        if self.render_mode == "human":
            close_window()


def pettingzoo_module(name: str) -> ModuleType:
    """What `from airenv import <game>_v0` gives: env(), raw_env() and parallel_env()."""
    from pettingzoo.utils.conversions import turn_based_aec_to_parallel

    module = ModuleType(f"airenv.{registry.facts(name).module_name}", f"PettingZoo module of {name}")

    def env(**options: Any) -> AirEnv:
        return AirEnv(name, **options)

    def parallel_env(**options: Any) -> Any:
        """All agents step at once; only the action of the one whose move it is counts."""
        made = AirEnv(name, **options)
        made.metadata["is_parallelizable"] = True
        return turn_based_aec_to_parallel(made)

    module.env = module.raw_env = env  # type: ignore[attr-defined]
    module.parallel_env = parallel_env  # type: ignore[attr-defined]
    return module
