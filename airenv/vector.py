"""Many games of one kind in one compiled call a step, never out of step with each other.

Slot i plays game number k of its own stream: `game_seed(seed, i, k)` is the seed that
`airenv.game(...).new` would deal the same game from. Finished games start anew at once.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

from airenv.byhand import Game, fresh_seed
from airenv.core import kernels
from airenv.core.engine import ENDED, TRUNCATED
from airenv.core.errors import BadOption, BadState, IllegalAction, positive
from airenv.core.random import derive_seed, valid_seed

SLOTS_PER_THREAD = 256  # below this, handing work to a second thread costs more than it brings


def game_seed(seed: int, slot: int, number: int) -> int:
    """The seed of a slot's k-th game."""
    return int(derive_seed(valid_seed(seed), slot, number, np.zeros(4, np.uint32)))


class VectorGames:
    """A batch of games. All returned arrays are new, unless `reuse_buffers=True` is asked for:
    then the observations of a step are overwritten by the next one."""

    def __init__(
        self,
        name: str,
        num_envs: int,
        *,
        seed: int | None = None,
        threads: int = 1,
        reuse_buffers: bool = False,
        **options: Any,
    ) -> None:
        self.num_envs, threads = positive("num_envs", num_envs), positive("threads", threads)
        self.game = Game(name, **options)
        self.seed = fresh_seed() if seed is None else valid_seed(seed)
        self._reuse = reuse_buffers
        n, game = self.num_envs, self.game
        self._states = np.zeros(n, game.dtype)
        self._final = np.zeros(n, game.dtype)
        self._episodes = np.zeros(n, np.int64)
        self._masks = np.zeros((n, game.num_actions), np.int8)
        self._players = np.zeros(n, np.int64)
        self._observations = np.zeros((n, game.observation_size), np.float32)
        self._over = np.zeros(n, np.int8)
        self._is_reset = False
        share = max(1, min(threads, n // SLOTS_PER_THREAD))
        edges = np.linspace(0, n, share + 1).astype(int).tolist()
        self._ranges = list(pairwise(edges))
        self._pool = self._make_pool()

    def _run(self, kernel: Any, *args: Any) -> None:
        """A kernel over all slots, split among the threads; the result does not depend on the split."""
        waiting = [] if self._pool is None else [self._pool.submit(kernel, *args, *r) for r in self._ranges[1:]]
        kernel(*args, *self._ranges[0])
        for task in waiting:
            task.result()

    def reset(self, seed: int | None = None) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Start game 0 in every slot; returns what each player to act sees, and who that is.

        Without a seed, later resets deal games that follow from the seed before.
        """
        if seed is not None:
            self.seed = valid_seed(seed)
        elif self._is_reset:  # other games than before, as with other environments
            self.seed = game_seed(self.seed, self.num_envs, 0)
        self._episodes[:] = 0
        seen = self._new_observations()
        args = (self.game.board, self._states, self.seed, self._episodes, seen, self._masks, self._players)
        self._run(kernels.reset_batch, *args)
        self._is_reset = True
        return self._see(seen), {"player": self._players.copy()}

    def step(
        self, actions: np.ndarray
    ) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """One decision in every game.

        Returns observations and masks of the players to act next, rewards [game, seat], terminated,
        truncated, and info: "player" to act, "finished" slots, their "final_observation" [k, seat]
        and "final_scores" [k, seat].
        """
        actions = self._valid_actions(actions)
        seen = self._new_observations()
        rewards = np.empty((self.num_envs, self.game.players), np.float64)
        self._run(
            kernels.step_batch,
            *(self.game.board, self._states, actions, self.seed, self._episodes, self.game._mode),
            *(seen, self._masks, self._players, rewards, self._over, self._final),
        )
        info = {"player": self._players.copy(), **self._finished()}
        return self._see(seen), rewards, self._over == ENDED, self._over == TRUNCATED, info

    def _finished(self) -> dict[str, np.ndarray]:
        slots = np.flatnonzero(self._over)
        shape = (len(slots), self.game.players)
        final = np.empty((*shape, self.game.observation_size), np.float32)
        points = np.zeros(shape, np.float64)
        if len(slots):
            kernels.observe_seats(self.game.board, self._final, slots, final)
            for k, slot in enumerate(slots):
                kernels.scores_one(self.game.board, self._final, int(slot), points[k])
        return {"finished": slots, "final_observation": final, "final_scores": points}

    def _valid_actions(self, actions: Any) -> np.ndarray:
        if not self._is_reset:
            raise BadOption("call reset() before step()")
        array = np.asarray(actions)
        if array.shape != (self.num_envs,) or not np.issubdtype(array.dtype, np.integer):
            raise IllegalAction(f"step takes {self.num_envs} integers, not {array.dtype} of shape {array.shape}")
        array = np.ascontiguousarray(array, np.int64)
        slot = kernels.first_illegal(self.game.board, self._states, array, self._masks, 0, self.num_envs)
        if slot >= 0:
            error = self.game.illegal(self._states[slot : slot + 1], int(array[slot]))
            raise IllegalAction(f"slot {slot}: {error}")
        return array

    def _new_observations(self) -> np.ndarray:
        return self._observations if self._reuse else np.empty_like(self._observations)

    def _see(self, observations: np.ndarray) -> dict[str, np.ndarray]:
        return {"observation": observations, "action_mask": self._masks.copy()}

    def states(self) -> np.ndarray:
        """A copy of every game's record. Privileged: it holds all hands."""
        return self._states.copy()

    def observe(self, slots: np.ndarray, seats: np.ndarray) -> np.ndarray:
        """What a seat of each of some games sees now, whether it is to act or not."""
        found = np.empty((len(slots), self.game.observation_size), np.float32)
        kernels.observe_chosen(self.game.board, self._states, slots.astype(np.int64), seats.astype(np.int64), found)
        return found

    def snapshot(self) -> dict[str, np.ndarray]:
        """All that is needed to go on exactly from here, as plain arrays. Privileged: it holds all hands."""
        records = np.frombuffer(self._states.tobytes(), np.uint8)
        return {"states": records, "episodes": self._episodes.copy(), "seed": np.array([self.seed], np.int64)}

    def restore(self, kept: dict[str, np.ndarray]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Go on from a snapshot of a batch of the same kind; returns what `reset` does."""
        if kept["states"].size != self._states.nbytes or kept["episodes"].shape != self._episodes.shape:
            raise BadState(f"a snapshot of another batch than {self.num_envs} games of {self.game!r}")
        self._states[:] = np.frombuffer(kept["states"].tobytes(), self.game.dtype)
        self._episodes[:] = kept["episodes"]
        self.seed, self._is_reset = int(kept["seed"][0]), True
        seen = self._new_observations()
        args = (self.game.board, self._states, seen, self._masks, self._players)
        self._run(kernels.describe_batch, *args)
        return self._see(seen), {"player": self._players.copy()}

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_pool": None}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        vars(self).update(kept)
        self._pool = self._make_pool()

    def _make_pool(self) -> ThreadPoolExecutor | None:
        return ThreadPoolExecutor(len(self._ranges) - 1) if len(self._ranges) > 1 else None

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()
