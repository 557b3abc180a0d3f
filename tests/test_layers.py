"""The layers: each package imports only what stands below it, and nothing outside a game's folder names it."""

import ast
import re
from pathlib import Path

import pytest

import airenv

ROOT = Path(airenv.__file__).parents[1]
# each layer may import those before it
LAYERS = ["airenv.core", "airenv.games", "airenv", "agents", "experiments"]
LEARNING = ("torch", "stable_baselines3", "sb3_contrib")


def sources(*folders):
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def imports(path):
    """The modules a file imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
    return found


def layer_of(module):
    found = [layer for layer in LAYERS if module == layer or module.startswith(f"{layer}.")]
    return max(found, key=len) if found else None


def module_of(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


@pytest.mark.parametrize("path", sources("airenv", "agents", "experiments"), ids=module_of)
def test_imports_go_down_only(path):
    if path.name.startswith("test"):
        assert "games" in path.parts, "rule tests stand beside a game; others in tests/"
        return
    own = LAYERS.index(layer_of(module_of(path)))
    for module in imports(path):
        layer = layer_of(module)
        if layer is not None:
            assert LAYERS.index(layer) <= own, f"{module_of(path)} imports {module}"
        assert not module.startswith(("tests", "benchmarks")), f"{module_of(path)} imports {module}"


@pytest.mark.parametrize("path", sources("airenv/games"), ids=module_of)
def test_no_game_knows_another(path):
    for module in imports(path):
        if module.startswith("airenv.games."):
            assert module.split(".")[2] == module_of(path).split(".")[2]


@pytest.mark.parametrize("path", sources("airenv"), ids=module_of)
def test_environments_do_not_import_learning_libraries(path):
    assert not [module for module in imports(path) if module.startswith(LEARNING)]


def test_no_code_outside_a_games_folder_names_a_game():
    names = re.compile("|".join(rf"\b{name}\b" for name in airenv.game_names()))
    for path in sources("airenv", "agents", "experiments", "tests", "benchmarks"):
        if "games" in path.relative_to(ROOT).parts:
            continue
        tree = ast.parse(path.read_text())
        documents = {node.body[0].value for node in ast.walk(tree) if _has_docstring(node)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in documents:
                assert not names.search(node.value), f"{path}:{node.lineno} names a game: {node.value!r}"
            if isinstance(node, ast.Name | ast.Attribute):
                name = node.id if isinstance(node, ast.Name) else node.attr
                assert not names.search(name), f"{path}:{node.lineno} names a game: {name}"


def _has_docstring(node):
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return isinstance(node, kinds) and ast.get_docstring(node) is not None


def test_rules_touch_nothing_but_layout_and_core():
    for path in sources("airenv/games"):
        if path.name in ("rules.py", "observe.py", "heuristic.py", "layout.py"):
            allowed = ("airenv.core", "airenv.games", "numpy", "math", "__future__")
            outside = [module for module in imports(path) if not module.startswith(allowed)]
            assert not outside, f"{path} imports {outside}"
