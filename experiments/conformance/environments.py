"""Laws of the environments: other people's checkers, and one game whatever the way in."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np

import airenv
from airenv.aec import AirEnv
from airenv.core import kernels
from airenv.vector import VectorGames, game_seed
from experiments.conformance.suite import law


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Other people's checkers talk, and warn of what is as it should be."""
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def maker(name: str, players: int) -> Callable[..., AirEnv]:
    return lambda **options: airenv.make(name, players=players, **options)


def random_step(env: AirEnv, rng: np.random.Generator) -> None:
    """A random legal action for the agent whose move it is; None once its game is over."""
    seen, _, terminated, truncated, _ = env.last()
    legal = np.flatnonzero(seen["action_mask"])
    env.step(None if terminated or truncated else int(rng.choice(legal)))


# -- other people's checkers -------------------------------------------------------------------------


@law("environments")
def pettingzoo_api_test(name: str, players: int) -> None:
    """PettingZoo's api_test passes."""
    from pettingzoo.test import api_test

    with quietly():
        api_test(maker(name, players)(seed=players), num_cycles=500)


@law("environments")
def pettingzoo_seed_test(name: str, players: int) -> None:
    """PettingZoo's seed_test passes."""
    from pettingzoo.test import seed_test

    with quietly():
        seed_test(maker(name, players), num_cycles=100)


@law("environments")
def pettingzoo_max_cycles_test(name: str, players: int) -> None:
    """PettingZoo's max_cycles_test passes.

    It samples actions without a mask and wants every agent to act in every cycle, so it is given the
    parallel environment, with legal actions in the place of illegal ones.
    """
    from pettingzoo.test import max_cycles_test
    from pettingzoo.utils.conversions import parallel_to_aec

    def parallel_env(max_cycles: int) -> Any:
        module = getattr(airenv, airenv.facts(name).module_name)
        return module.parallel_env(players=players, max_cycles=max_cycles, illegal="random", seed=1)

    with quietly():
        env = lambda max_cycles: parallel_to_aec(parallel_env(max_cycles))  # noqa: E731
        max_cycles_test(SimpleNamespace(parallel_env=parallel_env, env=env))


@law("environments")
def pettingzoo_render_test(name: str, players: int) -> None:
    """PettingZoo's render_test passes: text, pixels, and a window or the terminal."""
    from pettingzoo.test import render_test

    with quietly():
        render_test(maker(name, players))


@law("environments")
def gymnasium_checker(name: str, players: int) -> None:
    """Gymnasium's check_env passes, with legal actions in the place of its unmasked ones."""
    from gymnasium.utils.env_checker import check_env

    with quietly():
        env = gymnasium.make(airenv.facts(name).gym_id, players=players, illegal="random")
        check_env(env.unwrapped)


@law("environments", needs="stable_baselines3")
def stable_baselines_checker(name: str, players: int) -> None:
    """stable-baselines3's check_env passes."""
    from stable_baselines3.common.env_checker import check_env

    with quietly():
        env = gymnasium.make(airenv.facts(name).gym_id, players=players, illegal="random", seat=None)
        check_env(env.unwrapped)


# -- AEC ---------------------------------------------------------------------------------------------


@law("environments")
def aec_plays_the_game(name: str, players: int) -> None:
    """The AEC environment is the engine: same seed and actions, same players, masks and rewards, paid once."""
    env, game = maker(name, players)(), airenv.game(name, players=players)
    for seed in range(8):
        env.reset(seed)
        state, rng = game.new(seed), np.random.default_rng(seed)
        paid = dict.fromkeys(env.possible_agents, 0.0)
        for agent in env.agent_iter():
            seen, reward, terminated, truncated, _ = env.last()
            paid[agent] += reward
            if terminated or truncated:
                env.step(None)
                continue
            seat = game.player(state)
            assert agent == f"player_{seat}"
            expected = game.observe_with_mask(state, seat)
            assert (seen["observation"] == expected[0]).all() and (seen["action_mask"] == expected[1]).all()
            action = int(rng.choice(np.flatnonzero(seen["action_mask"])))
            env.step(action)
            game.apply(state, action)
        assert game.is_over(state) and env.agents == []
        assert list(paid.values()) == game.returns(state).tolist()


@law("environments")
def snapshots_restore(name: str, players: int) -> None:
    """restore() goes on from a snapshot exactly, in another environment too; damaged ones change nothing."""
    env, twin = maker(name, players)(illegal="random"), maker(name, players)(illegal="random")
    rng = np.random.default_rng(players)
    env.reset(5)
    for _ in range(min(25, env.game.random_playouts(20) // 40)):  # half of a short game
        random_step(env, rng)
    data = env.snapshot()
    twin.restore(data)
    assert twin.snapshot() == data
    for bad in (data[:-1], b"", data[:40] + bytes([data[40] ^ 1]) + data[41:]):
        with contextlib.suppress(airenv.core.errors.BadState):
            twin.restore(bad)
            raise AssertionError("a damaged snapshot was restored")
    assert twin.snapshot() == data
    while env.agents and twin.agents:
        action = None if env.terminations[env.agent_selection] or env.truncations[env.agent_selection] else 0
        env.step(action)  # often illegal: the replacement is drawn from the environment's own generator
        twin.step(action)
        assert env.agent_selection == twin.agent_selection
        assert env._cumulative_rewards == twin._cumulative_rewards
    assert env.agents == twin.agents == []
    env.reset()
    twin.reset()
    assert env.snapshot() == twin.snapshot()


@law("environments")
def central_state_fits_its_space(name: str, players: int) -> None:
    """state() holds every seat's observation and lies in state_space; observations lie in theirs."""
    env = maker(name, players)()
    env.reset(3)
    rng = np.random.default_rng(3)
    while env.agents:
        central = env.state()
        assert env.state_space.contains(central)
        for row, agent in zip(central.reshape(players, -1), env.possible_agents, strict=True):
            seen = env.observe(agent)
            assert env.observation_space(agent).contains(seen) and (row == seen["observation"]).all()
        random_step(env, rng)


@law("environments")
def render_modes_work(name: str, players: int) -> None:
    """ "ansi" is the table as text, "rgb_array" a picture with something on it, "human" returns nothing."""
    env = maker(name, players)(render_mode="ansi", render_seat=1)
    env.reset(1)
    assert env.render() == env.game.table(env.game.new(1), 1)
    env = maker(name, players)(render_mode="rgb_array")
    env.reset(1)
    image = env.render()
    assert isinstance(image, np.ndarray) and image.dtype == np.uint8 and image.std() > 1.0
    spoken = io.StringIO()
    with contextlib.redirect_stdout(spoken):
        env = maker(name, players)(render_mode="human")
        env.reset(1)
        assert env.render() is None
        env.close()


# -- Gymnasium ---------------------------------------------------------------------------------------


@law("environments")
def gymnasium_seat_plays_whole_games(name: str, players: int) -> None:
    """One learner's seat: masks tell what is legal, the reward is the seat's return, seeds repeat the game."""

    def play(seed: int) -> list[float]:
        env = gymnasium.make(airenv.facts(name).gym_id, players=players, opponents="greedy", seat=None)
        seen, info = env.reset(seed=seed)
        trace, rng, over = [float(seen.sum()), float(info["seat"])], np.random.default_rng(seed), False
        while not over:
            masks = env.unwrapped.action_masks()  # type: ignore[attr-defined]
            assert masks.any() and (masks == info["action_mask"]).all()
            seen, reward, terminated, truncated, info = env.step(int(rng.choice(np.flatnonzero(masks))))
            over = terminated or truncated
            assert over or reward == 0.0
            trace += [float(seen.sum()), float(reward)]
        assert -1.0 <= trace[-1] <= 1.0 and not env.unwrapped.action_masks().any()  # type: ignore[attr-defined]
        return trace

    for seed in range(4):
        assert play(seed) == play(seed)
    assert play(1) != play(2)


# -- batches -----------------------------------------------------------------------------------------


def scalar_twin(vec: VectorGames, slot: int, number: int) -> np.ndarray:
    return vec.game.new(game_seed(vec.seed, slot, number))


@law("environments")
def batch_equals_scalar(name: str, players: int) -> None:
    """1, 7 and 1,000 games in a batch are the games one would play one by one, through auto-resets."""
    for num_envs, steps, threads in ((1, 1500, 1), (7, 1200, 1), (1000, 120, 2)):
        _compare_with_scalar(airenv.make_vec(name, num_envs, players=players, seed=9, threads=threads), steps)


def _compare_with_scalar(vec: VectorGames, steps: int) -> None:
    game, slots = vec.game, range(vec.num_envs)
    twins, numbers = [scalar_twin(vec, slot, 0) for slot in slots], [0] * vec.num_envs
    seen, info = vec.reset()
    rng, actions = np.array([1, 2, 3, vec.num_envs], np.uint32), np.zeros(vec.num_envs, np.int64)
    finished = 0
    for _ in range(steps):
        kernels.random_actions(seen["action_mask"], rng, actions)
        seen, rewards, terminated, truncated, info = vec.step(actions)
        ended = dict(zip(info["finished"].tolist(), range(vec.num_envs), strict=False))
        for slot in slots:
            game.apply(twins[slot], int(actions[slot]))
            over = game.is_over(twins[slot])
            assert over == (slot in ended) == bool(terminated[slot] or truncated[slot])
            assert truncated[slot] == game.is_truncated(twins[slot])
            assert (rewards[slot] == game.returns(twins[slot])).all()
            if over:
                row = ended[slot]
                last = [game.observe(twins[slot], seat) for seat in range(game.players)]
                assert (info["final_observation"][row] == np.array(last)).all()
                assert (info["final_scores"][row] == game.scores(twins[slot])).all()
                numbers[slot] += 1
                twins[slot] = scalar_twin(vec, slot, numbers[slot])
                finished += 1
            player = game.player(twins[slot])
            expected = game.observe_with_mask(twins[slot], player)
            assert info["player"][slot] == player
            assert (seen["observation"][slot] == expected[0]).all()
            assert (seen["action_mask"][slot] == expected[1]).all()
    assert finished > 0, "no game ended: the auto-reset was not tried"
    assert vec.states().tobytes() == np.concatenate(twins).tobytes()
    vec.close()


@law("environments")
def batches_do_not_depend_on_threads(name: str, players: int) -> None:
    """The same seed gives the same batch with one thread and with several."""
    digests = []
    for threads in (1, 3):
        vec = airenv.make_vec(name, 1024, players=players, seed=4, threads=threads)
        seen, _ = vec.reset()
        rng, actions = np.array([1, 2, 3, 4], np.uint32), np.zeros(1024, np.int64)
        for _ in range(50):
            kernels.random_actions(seen["action_mask"], rng, actions)
            seen = vec.step(actions)[0]
        digests.append((vec.states().tobytes(), seen["observation"].tobytes()))
        vec.close()
    assert digests[0] == digests[1]


@law("environments")
def batch_arrays_are_new(name: str, players: int) -> None:
    """Arrays a step returns are not overwritten by the next one, unless reuse_buffers asks for it."""
    vec = airenv.make_vec(name, 16, players=players, seed=2)
    seen, info = vec.reset()
    kept: list[tuple[list[np.ndarray], list[np.ndarray]]] = []
    for _ in range(300):
        actions = seen["action_mask"].argmax(1)
        asked = actions.copy()
        seen, rewards, terminated, truncated, info = vec.step(actions)
        assert (actions == asked).all()
        arrays = [*seen.values(), rewards, terminated, truncated, *info.values()]
        kept.append((arrays, [array.copy() for array in arrays]))
    for arrays, copies in kept:
        assert all((a == b).all() for a, b in zip(arrays, copies, strict=True))
    shared = airenv.make_vec(name, 16, players=players, seed=2, reuse_buffers=True)
    first = shared.reset()[0]
    second = shared.step(first["action_mask"].argmax(1))[0]
    assert first["observation"] is second["observation"]
