"""`make demo`: a bot learns, plays and is reported on; stopped, it goes on."""

import pytest
import yaml
from rich.console import Console

import airenv
from experiments import demo
from experiments.configs import BadConfig, load_config, parse_config
from experiments.results import Results

NAME = airenv.game_names()[0]
FEWEST = min(airenv.facts(NAME).players)


def small(tmp_path, **changes):
    """The demo with everything in it smaller."""
    learner = {"name": "bot", "game": NAME, "players": [FEWEST], "decisions": 800, "trunk": [8], "out": str(tmp_path)}
    learner["ppo"] = {"games": 20, "steps": 10, "batch": 100, "epochs": 1}
    learner["evaluation"] = {"every": 400, "games": 2, "against": ["random"]}
    agents = ["random", "greedy", f"ppo:{tmp_path / 'bot' / 'best'}"]
    games = {"name": "demo", "tables": [{"game": NAME, "players": [FEWEST]}], "agents": agents, "deals": 2}
    games |= {"out": str(tmp_path), "executor": "inline", "learning": [str(tmp_path / "bot")]}
    return parse_config(demo.DemoConfig, {"train": {**learner, **changes}, "tournament": games}, "test")


def test_a_bot_learns_plays_and_is_reported_on(tmp_path, capsys):
    assert demo.run(Console(), small(tmp_path))
    page = (tmp_path / "demo/report/report.html").read_text()
    assert "greedy" in page and "data:image/png;base64" in page and "learning" in page.lower()
    with Results(tmp_path / "demo/results.sqlite") as results:
        assert len(list(results.rows(str(tmp_path / "demo")))) == 3 * 2 * FEWEST
    told = capsys.readouterr().out
    assert "95%" in told and "report.html" in told
    assert demo.run(Console(), small(tmp_path)), "what is done is not done again"
    assert "has learned from all its 800 decisions" in capsys.readouterr().out


def test_a_bot_of_another_configuration_is_not_gone_on_with(tmp_path):
    demo.train.begin_or_go_on(Console(), small(tmp_path).train)
    with pytest.raises(BadConfig, match="another configuration"):
        demo.train.begin_or_go_on(Console(), small(tmp_path, decisions=900).train)


def test_a_run_killed_before_anything_was_kept_begins_anew(tmp_path):
    config = small(tmp_path).train
    config.folder.mkdir()
    (config.folder / "config.yaml").write_text(demo.as_yaml(config))
    assert demo.train.begin_or_go_on(Console(), config)
    assert (config.folder / "best.safetensors").exists()


def test_the_demo_that_ships_is_valid_and_shows_its_bot():
    config = load_config(demo.DemoConfig, demo.FILE)
    assert f"ppo:{config.train.folder / 'best'}" in config.tournament.agents
    assert config.tournament.learning == [str(config.train.folder)]
    assert yaml.safe_load(demo.as_yaml(config))["kind"] == "demo"
