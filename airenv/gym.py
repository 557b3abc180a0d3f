"""One learner's seat as a Gymnasium environment: `gymnasium.make("airenv/Aviation-v0")`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from airenv.byhand import Game
from airenv.core.engine import TRUNCATED
from airenv.core.errors import ILLEGAL_MODES, BadOption, GameOver, one_of
from airenv.core.random import valid_seed
from airenv.render import RENDER_MODES, close_window, render
from airenv.seat import Agent, Seat, agent_from_line


class SeatEnv(gymnasium.Env):
    """The learner sits in one seat, agents named by lines in the others.

    opponents: an agent line or agent for each other seat, clockwise, or one for all ("random")
    seat: the learner's seat, or None to draw it anew for every game
    illegal: "raise" an error, or play a "random" legal action instead
    """

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": 2}  # noqa: RUF012 - Gymnasium declares it so

    def __init__(
        self,
        name: str,
        *,
        opponents: str | Agent | Sequence[str | Agent] = "random",
        seat: int | None = 0,
        render_mode: str | None = None,
        illegal: str = "raise",
        **options: Any,
    ) -> None:
        self.game = Game(name, **options)
        self.render_mode = None if render_mode is None else one_of("render_mode", render_mode, RENDER_MODES)
        self._illegal = one_of("illegal", illegal, ILLEGAL_MODES)
        self._fixed_seat = None if seat is None else self.game.valid_seat(seat)
        self._opponents = self._seat_opponents(opponents)
        self.observation_space = spaces.Box(-10.0, 10.0, (self.game.observation_size,), np.float32)
        self.action_space = spaces.Discrete(self.game.num_actions)
        self._state: np.ndarray | None = None
        self.seat = self._fixed_seat or 0

    def _seat_opponents(self, given: str | Agent | Sequence[str | Agent]) -> list[Agent]:
        others = self.game.players - 1
        one_for_all = isinstance(given, str) or hasattr(given, "act")
        chosen: Any = [given] * others if one_for_all else given
        if not isinstance(chosen, Sequence) or len(chosen) != others:
            raise BadOption(f"{self.game.players} players need {others} opponents, or one for all, not {given!r}")
        seated = [agent_from_line(one) if isinstance(one, str) else one for one in chosen]
        for agent in seated:
            if not hasattr(agent, "act"):
                raise BadOption(f"an opponent is an agent line or an agent, not {agent!r}")
        return seated

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=None if seed is None else valid_seed(seed))
        self._state = self.game.new(int(self.np_random.integers(2**63)))
        drawn = int(self.np_random.integers(self.game.players))
        self.seat = drawn if self._fixed_seat is None else self._fixed_seat
        self._let_others_play()
        if self.game.is_over(self._state):  # the learner never got to move: deal again
            return self.reset()
        if self.render_mode == "human":
            self.render()
        return self._see()

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        state = self._running()
        chosen = self.game.as_integer(action)
        extra: dict[str, Any] = {}
        if self._illegal == "random" and chosen not in self.game.legal_actions(state):
            extra = {"illegal_action": chosen}
            chosen = int(self.np_random.choice(self.game.legal_actions(state)))
        self.game.apply(state, chosen)
        self._let_others_play()
        reward = float(self.game.returns(state)[self.seat])
        over, truncated = self.game.is_over(state), bool(state["over"][0] == TRUNCATED)
        observation, info = self._see()
        if self.render_mode == "human":
            self.render()
        return observation, reward, over and not truncated, truncated, {**info, **extra}

    def action_masks(self) -> np.ndarray:
        """The learner's legal actions as booleans, where MaskablePPO looks for them."""
        if self._state is None:
            raise GameOver("call reset() first")
        return self.game.observe_with_mask(self._state, self.seat)[1].astype(bool)

    def render(self) -> Any:
        if self.render_mode is None or self._state is None:
            raise BadOption("render needs render_mode= at making and a reset()")
        return render(self.game, self._state, self.render_mode, self.seat)

    def close(self) -> None:
        """Close the window, if there is one."""
        if self.render_mode == "human":
            close_window()

    def _running(self) -> np.ndarray:
        if self._state is None or self.game.is_over(self._state):
            raise GameOver("no game is running: call reset()")
        return self._state

    def _see(self) -> tuple[np.ndarray, dict[str, Any]]:
        assert self._state is not None
        observation, mask = self.game.observe_with_mask(self._state, self.seat)
        return observation, {"action_mask": mask, "seat": self.seat}

    def _let_others_play(self) -> None:
        """Opponents act until it is the learner's move or the game is over."""
        assert self._state is not None
        while (player := self.game.player(self._state)) >= 0 and player != self.seat:
            agent = self._opponents[(player - self.seat) % self.game.players - 1]
            self.game.apply(self._state, agent.act(Seat(self.game, self._state), self.np_random))
