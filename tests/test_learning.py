"""Learning: per-seat returns, masks, the pool, checkpoints, exact resumption, and that it learns at all."""

import json
import shutil
from itertools import pairwise

import numpy as np
import pytest
import torch
from gymnasium import Env, spaces

import airenv
from agents import make_agent
from agents.checkpoints import load_checkpoint, paths_of, save_checkpoint
from agents.forward import forward_rows, likeliest_rows, log_shares, packed, sample_rows, workspace
from agents.policy import ZOO, PolicyAgent
from agents.ppo import PpoSettings, PpoTrainer, make_model
from agents.returns import seat_returns
from agents.selfplay import LEARNER, SEATS, EmptyMask, Pool, SelfPlayGames, check_masks
from agents.weights import BadCheckpoint, Weights, layout_hash
from airenv.core.errors import AirenvError, BadOption
from airenv.core.random import seed_generator
from airenv.seat import Seat
from experiments import zoo
from experiments.matches import play_match

NAMES = airenv.game_names()
SMALL = PpoSettings(games=24, steps=16, batch=128, epochs=2, pool_every=2, pool_size=3)


def games_of(name):
    return [airenv.game(name, players=players) for players in airenv.facts(name).players]


def network(inputs, actions, widths=(32,), seed=0):
    """A random network."""
    rng = np.random.default_rng(seed)
    sizes = [inputs, *widths]

    def layer(i, o):
        return rng.normal(0, i**-0.5, (i, o)).astype(np.float32), rng.normal(0, 0.1, o).astype(np.float32)

    trunk = tuple(layer(i, o) for i, o in pairwise(sizes))
    return Weights(trunk, layer(sizes[-1], actions), layer(sizes[-1], 1))


def same(a, b):
    return all((x == y).all() for x, y in zip(a.arrays().values(), b.arrays().values(), strict=True))


# -- returns of seats --------------------------------------------------------------------------------


def returns_of(values, rewards, over, movers, last, gamma=1.0, trace=1.0, watching=None):
    values, movers = np.array(values, np.float32), np.array(movers, np.int64)
    watching = np.full(values.shape, -1, np.int64) if watching is None else np.array(watching, np.int64)
    advantages, returns, watched = (np.zeros(values.shape, np.float32) for _ in range(3))
    seats = np.zeros((*values.shape, SEATS), np.float32)
    seats[..., : np.array(rewards).shape[-1]] = rewards
    last_values = np.zeros((values.shape[1], SEATS), np.float32)
    last_values[:, : np.array(last).shape[-1]] = last
    over = np.array(over, bool)
    seat_returns(values, seats, over, movers, last_values, gamma, trace, advantages, returns, watching, watched)
    return advantages[:, 0], returns[:, 0], watched[:, 0]


def test_returns_of_a_hand_made_game():
    """Seats 0, 1, 0, 1; seat 0 wins with the last move of seat 1, and a new game begins with seat 1 to move."""
    values = [[0.1], [0.2], [0.3], [0.4], [0.5]]
    rewards = [[[0, 0]], [[0, 0]], [[0, 0]], [[1, -1]], [[0, 0]]]
    over, movers = [[0], [0], [0], [1], [0]], [[0], [1], [0], [1], [1]]
    last = [[0.7, 0.9]]
    advantages, returns, _ = returns_of(values, rewards, over, movers, last)
    assert returns == pytest.approx([1, -1, 1, -1, 0.9])  # its own reward; the new game's own bootstrap
    assert advantages == pytest.approx([0.9, -1.2, 0.7, -1.4, 0.4])
    one_step, _, _ = returns_of(values, rewards, over, movers, last, trace=0.0)
    assert one_step == pytest.approx([0.3 - 0.1, 0.4 - 0.2, 1 - 0.3, -1 - 0.4, 0.9 - 0.5])
    _, halved, _ = returns_of(values, rewards, over, movers, last, gamma=0.5, trace=1.0)
    assert halved == pytest.approx([0.5, -0.5, 1, -1, 0.45])


def test_onlookers_are_worth_what_their_seat_comes_to():
    values = [[0.1], [0.2], [0.3], [0.4]]
    rewards = [[[0, 0, 0]], [[0, 0, 0]], [[0.5, -1, 0.5]], [[0, 0, 0]]]
    over, movers = [[0], [0], [1], [0]], [[0], [1], [0], [2]]
    watching = [[1], [2], [-1], [0]]
    _, returns, watched = returns_of(values, rewards, over, movers, [[0.6, 0.7, 0.8]], watching=watching)
    assert returns == pytest.approx([0.5, -1, 0.5, 0.8])
    assert watched == pytest.approx([-1, 0.5, 0, 0.6])


@pytest.mark.parametrize("name", NAMES)
def test_collected_decisions_belong_to_their_seats(name):
    """What is in the buffer is what each mover saw, and its return the reward of that very seat."""
    trainer = PpoTrainer(
        games_of(name), SMALL.model_copy(update={"steps": 400, "games": 12, "trace": 1.0}), [16], 3, 10**6
    )
    model, env = trainer.model, trainer.games
    seen = []
    take = env.step_async

    def watch(actions):
        seen.append((env.observations.copy(), env.movers.copy(), env.masks.copy()))
        take(actions)

    env.step_async = watch
    model.collect(env)
    buffer = model.rollout_buffer
    assert buffer.over.any()
    for step, (observations, movers, masks) in enumerate(seen):
        assert (buffer.observations[step] == observations).all() and (buffer.movers[step] == movers).all()
        assert (buffer.action_masks[step] == masks).all()
        assert masks[np.arange(12), buffer.actions[step, :, 0].astype(int)].all()
    for slot in range(12):
        ends = np.flatnonzero(buffer.over[:, slot])
        for step in range(ends[0] + 1 if len(ends) else 0):
            final = buffer.seat_rewards[ends[0], slot, buffer.movers[step, slot]]
            assert buffer.returns[step, slot] == pytest.approx(final, abs=1e-4)


# -- masks -------------------------------------------------------------------------------------------


def test_a_mask_without_a_legal_action_is_an_error_before_anything_is_sampled():
    masks = np.ones((4, 3), np.int8)
    check_masks(masks)
    masks[2] = 0
    with pytest.raises(EmptyMask, match="row 2 of 4"):
        check_masks(masks)
    trainer = PpoTrainer(games_of(NAMES[0]), SMALL, [16], 1, 1000)
    trainer.games.masks[5] = 0
    with pytest.raises(EmptyMask, match="row 5"):
        trainer.advance()
    agent = PolicyAgent(weights=network(6, 3))
    with pytest.raises(BadOption, match="no legal action"):
        agent.act_batch(airenv.game(NAMES[0]), np.zeros((4, 6), np.float32), masks, np.random.default_rng(1))


def test_illegal_actions_are_never_sampled_in_ten_million_decisions():
    rng, words = np.random.default_rng(1), np.zeros(4, np.uint32)
    seed_generator(words, 5)
    rows, width, made = 50_000, 12, 0
    actions, shares = np.empty(rows, np.int64), np.empty(width)
    while made < 10_000_000:
        masks = (rng.random((rows, width)) < rng.choice([0.1, 0.5, 0.9])).astype(np.int8)
        masks[np.arange(rows), rng.integers(width, size=rows)] = 1
        logits = rng.normal(0, rng.choice([0.1, 3.0, 50.0]), (rows, width)).astype(np.float32)
        sample_rows(words, logits, masks, shares, actions)
        assert masks[np.arange(rows), actions].all()
        made += rows


def test_sampling_follows_the_shares():
    words, rows = np.zeros(4, np.uint32), 200_000
    seed_generator(words, 9)
    logits = np.tile(np.log(np.array([0.1, 0.5, 0.2, 0.2], np.float32)), (rows, 1))
    masks = np.tile(np.array([1, 1, 0, 1], np.int8), (rows, 1))
    actions = np.empty(rows, np.int64)
    sample_rows(words, logits, masks, np.empty(4), actions)
    assert np.bincount(actions, minlength=4) / rows == pytest.approx([0.125, 0.625, 0, 0.25], abs=0.006)


class Wide(Env):
    """A bandit of 5,000 arms of which a few are legal; the last legal one pays."""

    observation_space = spaces.Box(-1, 1, (4,), np.float32)

    def __init__(self, arms=5000):
        self.action_space, self.rng = spaces.Discrete(arms), np.random.default_rng(0)
        self.mask = np.zeros(arms, np.int8)

    def reset(self, *, seed=None, options=None):
        self.mask[:] = 0
        self.mask[self.rng.integers(self.action_space.n, size=3)] = 1
        return np.ones(4, np.float32), {}

    def action_masks(self):
        return self.mask

    def step(self, action):
        reward = float(action == np.flatnonzero(self.mask)[-1])
        return self.reset()[0], reward, True, False, {}


def test_masked_policies_are_stable_at_five_thousand_actions_and_gradients_flow_through_the_mask():
    from sb3_contrib import MaskablePPO

    settings = PpoSettings(steps=64, batch=64, epochs=1)
    model = make_model(Wide(), settings, [16], 1, kind=MaskablePPO)
    model.learn(128)
    observations, masks = torch.randn(32, 4), torch.zeros(32, 5000)
    masks[:, 40:44] = 1
    values, logs, entropy = model.policy.evaluate_actions(observations, torch.full((32,), 41), action_masks=masks)
    assert torch.isfinite(values).all() and torch.isfinite(logs).all()
    assert (entropy <= np.log(4) + 1e-4).all() and (entropy >= 0).all() and (logs <= 0).all()
    model.policy.zero_grad()
    logs.sum().backward()
    slope = model.policy.action_net.weight.grad.abs().sum(1)
    assert (slope[40:44] > 1).all() and slope[:40].max() < 1e-6 and slope[44:].max() < 1e-6


# -- the network in all its forms --------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_the_export_equals_torch(name):
    trainer = PpoTrainer(games_of(name), SMALL, [64, 32], 2, 10**6)
    trainer.advance()
    weights, observations = trainer.weights(), trainer.games.observations
    with torch.no_grad():
        hidden = trainer.model.policy.extract_features(torch.from_numpy(observations))
        logits, values = trainer.model.policy.action_net(hidden).numpy(), trainer.model.policy.value_net(hidden).numpy()
    numbers, shapes = packed(weights)
    found, worth = np.empty_like(logits), np.empty(len(values), np.float32)
    forward_rows(numbers, shapes, observations, workspace(shapes), found, worth)
    assert np.abs(found - logits).max() < 1e-5 and np.abs(worth - values[:, 0]).max() < 1e-5
    plain, plain_values = weights.forward(observations)
    assert np.abs(plain - logits).max() < 1e-5 and np.abs(plain_values - values[:, 0]).max() < 1e-5
    masks = trainer.games.masks
    tensors = (
        torch.from_numpy(observations),
        torch.from_numpy(masks.argmax(1)),
        torch.from_numpy(masks.astype(np.float32)),
    )
    _, logs, _ = trainer.model.policy.evaluate_actions(*tensors[:2], action_masks=tensors[2])
    own = np.empty(len(masks), np.float32)
    log_shares(found, masks, masks.argmax(1), own)
    assert np.abs(own - logs.detach().numpy()).max() < 1e-5


@pytest.mark.parametrize("name", NAMES)
def test_an_agent_alone_and_in_a_batch_chooses_alike(name):
    game = games_of(name)[-1]
    agent = PolicyAgent(weights=network(game.observation_size, game.num_actions))
    states = [game.random_position(seed, 3 * seed) for seed in range(30)]
    seats = [Seat(game, state) for state in states if not game.is_over(state)]
    rng = np.random.default_rng(1)
    one_by_one = [agent.act(seat, rng) for seat in seats]
    observations, masks = np.stack([s.observation for s in seats]), np.stack([s.action_mask for s in seats])
    at_once = agent.act_batch(game, observations, masks, rng)
    assert one_by_one == at_once.tolist()
    assert all(action in seat.legal_actions for action, seat in zip(one_by_one, seats, strict=True))
    sampler = PolicyAgent(weights=network(game.observation_size, game.num_actions), pick="sampled")
    drawn = {sampler.act(seats[0], np.random.default_rng(n)) for n in range(60)}
    assert drawn <= set(seats[0].legal_actions)
    assert len(drawn) > 1 or len(seats[0].legal_actions) == 1
    logits = np.zeros((1, 3), np.float32)
    actions = np.zeros(1, np.int64)
    likeliest_rows(logits, np.array([[0, 1, 1]], np.int8), actions)
    assert actions[0] == 1


# -- checkpoints -------------------------------------------------------------------------------------


@pytest.fixture
def checkpoint(tmp_path):
    game = airenv.game(NAMES[0])
    save_checkpoint(tmp_path / "net", network(game.observation_size, game.num_actions), [game], {"decisions": 5})
    return tmp_path / "net"


def test_a_checkpoint_comes_back_to_the_bit(checkpoint):
    game = airenv.game(NAMES[0])
    found = load_checkpoint(checkpoint)
    assert same(found.weights, network(game.observation_size, game.num_actions))
    assert found.manifest.layout == layout_hash(game) and found.manifest.training == {"decisions": 5}
    for name in (checkpoint, f"{checkpoint}.safetensors", f"{checkpoint}.json"):
        agent = make_agent(f"ppo:{name}")
        assert agent.act(Seat(game, game.new(1)), np.random.default_rng(1)) in game.legal_actions(game.new(1))
    assert make_agent(f"ppo:{checkpoint},pick=sampled").pick == "sampled"


def test_a_runs_folder_means_its_best(checkpoint, tmp_path):
    for source, target in zip(paths_of(checkpoint), paths_of(tmp_path / "best"), strict=True):
        shutil.copy(source, target)
    assert load_checkpoint(tmp_path).manifest == load_checkpoint(checkpoint).manifest


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda t, f: t.write_bytes(t.read_bytes()[:-7]), "cut short or changed"),
        (lambda t, f: t.write_bytes(bytes([*t.read_bytes()[:-1], 7])), "cut short or changed"),
        (lambda t, f: t.unlink(), "is missing"),
        (lambda t, f: f.unlink(), "is missing"),
        (lambda t, f: f.write_text(f.read_text()[:40]), "no manifest"),
        (lambda t, f: f.write_text("{}"), "no manifest"),
        (lambda t, f: change(f, format=9), "format 9"),
        (lambda t, f: change(f, trunk=[7]), "another architecture"),
        (lambda t, f: change(f, colour="red"), "no manifest"),
    ],
)
def test_a_damaged_checkpoint_says_what_is_wrong(checkpoint, damage, says):
    damage(*paths_of(checkpoint))
    with pytest.raises(BadCheckpoint, match=says):
        load_checkpoint(checkpoint)


def change(path, **values):
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"game": "another"}, "a checkpoint of another cannot play"),
        ({"rules": 99}, "rules version 99"),
        ({"layout": "0" * 16}, "another layout"),
    ],
)
def test_a_checkpoint_that_does_not_fit_is_refused_when_it_is_to_play(checkpoint, values, says):
    change(paths_of(checkpoint)[1], **values)
    game = airenv.game(NAMES[0])
    with pytest.raises(BadCheckpoint, match=says):
        make_agent(f"ppo:{checkpoint}").act(Seat(game, game.new(1)), np.random.default_rng(1))


def test_networks_that_do_not_fit_together_are_refused():
    arrays = network(6, 3).arrays()
    for bad, says in (
        ({**arrays, "policy.bias": np.zeros(4, np.float32)}, "do not fit"),
        ({**arrays, "more": np.zeros(1)}, "a trunk, a policy and a value"),
        ({**arrays, "value.bias": np.array([np.nan], np.float32)}, "not finite"),
    ):
        with pytest.raises(BadCheckpoint, match=says):
            Weights.from_arrays(bad)


def test_ppo_lines_say_what_they_need():
    for line, says in (
        ("ppo:nowhere/net", "is missing"),
        ("ppo:x,pck=best", "Did you mean pick"),
    ):
        with pytest.raises(AirenvError, match=says):
            make_agent(line)


@pytest.mark.parametrize("name", NAMES)
def test_a_small_network_ships_for_every_game_with_a_card(name):
    game = games_of(name)[0]
    assert make_agent("ppo").act(Seat(game, game.new(1)), np.random.default_rng(1)) in game.legal_actions(game.new(1))
    tensors, _ = paths_of(ZOO / name)
    assert tensors.stat().st_size < 2_000_000 and load_checkpoint(ZOO / name).manifest.players
    card = (ZOO / f"{name}.md").read_text()
    assert "python -m experiments.zoo" in card and "decisions" in card and "minutes" in card
    for players in airenv.facts(name).players:
        for line in zoo.AGAINST:
            assert f"| {players} | `{line}` | " in card


def test_a_game_nothing_ships_for_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr("agents.policy.ZOO", tmp_path)
    game = airenv.game(NAMES[0])
    with pytest.raises(BadCheckpoint, match="no network ships"):
        make_agent("ppo").act(Seat(game, game.new(1)), np.random.default_rng(1))


# -- the pool ----------------------------------------------------------------------------------------


def test_even_past_selves_are_met_most():
    pool = Pool(4)
    for number in range(4):
        pool.add(network(3, 2, seed=number))
    pool.scores = [0.5, 0.9, 0.1, 1.0]
    x = np.array([0.5, 0.9, 0.1, 0.98])
    assert pool.shares() == pytest.approx(x * (1 - x) / (x * (1 - x)).sum())
    kept = [*pool.members[:3]]
    pool.add(network(3, 2, seed=9))  # the one the learner always beats has to go
    assert pool.members[:3] == kept and pool.scores == [0.5, 0.9, 0.1, 0.5]
    pool.note(1, 0.0)
    assert pool.scores[1] == pytest.approx(0.98 * 0.9)


@pytest.mark.parametrize("name", NAMES)
def test_the_pools_sampling_follows_its_weights(name):
    games = games_of(name)
    env = SelfPlayGames(games, 3000, seed=1, pool_games=0.4)
    env.reset()
    assert (env.who == LEARNER).all() and env.learning.all()
    inputs, actions = games[0].observation_size, games[0].num_actions
    for number in range(3):
        env.add_to_pool(network(inputs, actions, (8,), seed=number))
    env.pool.scores = [0.5, 0.8, 0.95]
    env.reset()
    met = (env.who != LEARNER).any(1)
    assert met.mean() == pytest.approx(0.4, abs=0.04)
    counts = np.bincount(env.who[met].max(1), minlength=3) / met.sum()
    assert counts == pytest.approx(env.pool.shares(), abs=0.05)
    for slot in np.flatnonzero(met):
        seats = env.who[slot, : env.seats[slot]]
        assert (
            (seats == LEARNER).any()
            and (seats != LEARNER).any()
            and (env.who[slot, env.seats[slot] :] == LEARNER).all()
        )


@pytest.mark.parametrize("name", NAMES)
def test_decisions_of_past_selves_are_no_experience(name):
    trainer = PpoTrainer(games_of(name), SMALL.model_copy(update={"pool_games": 1.0, "onlookers": 0.0}), [16], 3, 10**6)
    trainer.games.add_to_pool(trainer.weights())
    trainer.games.reset()
    trainer.model.collect(trainer.games)
    learning = trainer.model.rollout_buffer.learning
    assert 0 < learning.sum() < learning.size
    assert len(trainer.model.rollout_buffer.rows().returns) == learning.sum()


# -- going on later ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_two_rounds_and_two_more_are_four_rounds_to_the_bit(name, tmp_path):
    whole, first, second = (PpoTrainer(games_of(name), SMALL, [16, 16], 7, 10**5) for _ in range(3))
    told = [whole.advance() for _ in range(4)]
    for _ in range(2):
        first.advance()
    first.save(tmp_path)
    second.load(tmp_path)
    again = [second.advance() for _ in range(2)]
    assert same(whole.weights(), second.weights()) and whole.decisions == second.decisions
    timeless = [
        {k: v for k, v in row.items() if k not in ("decisions_per_second", "environment_share")} for row in told + again
    ]
    assert timeless[2:4] == timeless[4:6]
    assert whole.games.observations.tobytes() == second.games.observations.tobytes()
    assert whole.games.pool.scores == second.games.pool.scores and len(whole.games.pool.members) == 2


def test_starting_from_a_network_of_another_shape_is_refused():
    games = games_of(NAMES[0])
    with pytest.raises(BadOption, match="another shape"):
        PpoTrainer(games, SMALL, [16], 1, 1000, network(games[0].observation_size, games[0].num_actions, (8,)))


# -- it learns ---------------------------------------------------------------------------------------


def test_it_solves_a_small_environment_in_seconds():
    from sb3_contrib import MaskablePPO

    settings = PpoSettings(steps=256, batch=128, epochs=6, learning_rate=3e-3, entropy=0.0)
    model = make_model(Wide(arms=4), settings, [16], 1, kind=MaskablePPO)
    env, won = Wide(arms=4), 0.0
    model.learn(8192)
    for _ in range(300):
        seen, _ = env.reset()
        action, _ = model.predict(seen, action_masks=env.action_masks(), deterministic=True)
        won += env.step(int(action))[1]
    assert won / 300 > 0.95


@pytest.mark.parametrize("name", NAMES)
def test_self_play_learns_to_beat_random(name):
    """With two players and about 500,000 decisions (seeds fixed), at least three of four games against random."""
    game = airenv.game(name, players=min(airenv.facts(name).players))
    settings = PpoSettings(games=128, batch=256, learning_rate=1e-3, entropy=0.01, last_entropy=0.002, onlookers=0.0)
    trainer = PpoTrainer([game], settings, [64, 64], 1, 500_000)
    before = play_match(game, PolicyAgent(weights=trainer.weights(), pick="sampled", name="new"), "random", 60)
    while trainer.decisions < 500_000:
        trainer.advance()
    after = play_match(game, PolicyAgent(weights=trainer.weights(), name="learned"), "random", 100)
    assert after.share > 0.75 and after.share > before.share + 0.1, (before.share, after.share)
