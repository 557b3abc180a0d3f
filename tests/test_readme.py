"""The README's code blocks run, its commands exist, and what it says of the games is so."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

import airenv
from experiments.cli import app

ROOT = Path(airenv.__file__).parents[1]
README = (ROOT / "README.md").read_text()
FENCED = re.findall(r"^```(\w*)\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
BLOCKS = [body for language, body in FENCED if language == "python"]
SHELL = "".join(body for language, body in FENCED if not language)
COMMANDS = re.findall(r"^airenv (\w+)(.*?)(?:#.*)?$", SHELL, re.MULTILINE)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_python_block_runs(number, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [line for line in BLOCKS[number].splitlines() if line.strip()]
    assert len(lines) <= 14, "a way in is shown in about ten lines"
    exec(compile(BLOCKS[number], f"README block {number}", "exec"), {"__name__": "__main__"})


def test_every_way_in_is_shown():
    assert len(BLOCKS) >= 4
    for call in ("airenv.make(", "gymnasium.make(", "airenv.make_vec(", "airenv.game("):
        assert any(call in block for block in BLOCKS), call


@pytest.mark.parametrize(("command", "rest"), COMMANDS, ids=lambda part: part.strip())
def test_command_exists_and_knows_the_options_shown(command, rest):
    shown = CliRunner().invoke(app, [command, "--help"], terminal_width=200)
    assert shown.exit_code == 0, shown.output
    for word in shlex.split(rest):
        if word.startswith("--"):
            assert word.split("=")[0] in shown.output, f"airenv {command} has no {word}"


def test_every_command_is_shown():
    registered = {command.name or command.callback.__name__ for command in app.registered_commands}
    assert registered <= {command for command, _ in COMMANDS}


def test_every_game_is_in_the_table():
    for name in airenv.game_names():
        facts = airenv.facts(name)
        row = next((line for line in README.splitlines() if line.startswith(f"| [`{name}`]")), "")
        assert facts.title in row and f"{min(facts.players)}-{max(facts.players)}" in row, name


def test_links_lead_to_files():
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", README):
        assert (ROOT / target).exists(), target


def test_it_is_said_to_be_independent():
    assert "independent implementation" in README and "unaffiliated" in README
