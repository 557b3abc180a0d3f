"""Runs as YAML files: typed, unknown keys refused with the nearest valid one, `key=value` overrides."""

from __future__ import annotations

import platform
import subprocess
from difflib import get_close_matches
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from airenv.core.errors import AirenvError

NAME_PATTERN = r"^\w[\w.-]*$"  # of a run, whose folder is called so
PACKAGES = ("airenv", "numpy", "numba", "torch", "stable-baselines3", "sb3-contrib")


class BadConfig(AirenvError):
    """A configuration with mistakes; the message lists all of them."""


class Config(BaseModel):
    """A part of a configuration: every key has its place, and nothing else has."""

    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True, allow_inf_nan=False)


Kind = TypeVar("Kind", bound=BaseModel)


def read_yaml(path: Path) -> dict[str, Any]:
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BadConfig(f"there is no file {path}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadConfig(f"{path} cannot be read: {error}") from None
    except yaml.YAMLError as error:
        raise BadConfig(f"{path} is no YAML: {' '.join(str(error).split())}") from None
    if not isinstance(found, dict):
        raise BadConfig(f"{path} holds no keys: a configuration is `key: value` lines")
    return found


def override(values: dict[str, Any], changes: list[str]) -> dict[str, Any]:
    """The values with `a.b=c` changes made; the original is left as it is."""
    found = yaml.safe_load(yaml.safe_dump(values))
    for change in changes:
        key, equals, text = change.partition("=")
        if not equals or not key.strip():
            raise BadConfig(f"{change!r} is no override: it goes key=value, as in ppo.games=512")
        place = found
        *path, last = key.strip().split(".")
        for step in path:
            place = place.setdefault(step, {})
            if not isinstance(place, dict):
                raise BadConfig(f"{change!r}: {step} has no keys of its own")
        try:
            place[last] = yaml.safe_load(text)
        except yaml.YAMLError:
            raise BadConfig(f"{change!r}: {text!r} is no value") from None
    return found


def load_config(kind: type[Kind], path: Path, changes: list[str] | None = None) -> Kind:
    """The configuration in a file, with overrides; a BadConfig lists everything that is wrong with it."""
    return parse_config(kind, override(read_yaml(path), changes or []), str(path))


def parse_config(kind: type[Kind], values: dict[str, Any], where: str) -> Kind:
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        told = "\n".join(f"  {_problem(kind, problem)}" for problem in error.errors())
        raise BadConfig(f"{where} has mistakes:\n{told}") from None


def _problem(kind: type[BaseModel], problem: Any) -> str:
    key = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "value_error":  # ours, from a validator
        return f"{key}: {problem['ctx']['error']}".removeprefix(": ")
    if problem["type"] != "extra_forbidden":
        return (
            f"{key}: {problem['msg']}, not {problem['input']!r}"
            if problem["type"] != "missing"
            else f"{key}: is missing"
        )
    allowed = _fields(kind, problem["loc"][:-1])
    near = get_close_matches(str(problem["loc"][-1]), allowed, n=1, cutoff=0.5)
    hint = f" Did you mean {near[0]}?" if near else ""
    return f"{key}: there is no such key.{hint} Allowed: {', '.join(sorted(allowed))}."


def _fields(kind: type[BaseModel], path: tuple[Any, ...]) -> list[str]:
    """The keys allowed at a place within a configuration."""
    for step in path:
        annotation = kind.model_fields[step].annotation if isinstance(step, str) and step in kind.model_fields else None
        for option in (annotation, *get_args(annotation)):
            if isinstance(option, type) and issubclass(option, BaseModel):
                kind = option
    return list(kind.model_fields)


def as_yaml(config: BaseModel) -> str:
    return yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False)


def versions() -> dict[str, str]:
    """What a run was made with."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    done = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, cwd=Path(__file__).parent)
    return found | {"git": done.stdout.strip() or "unknown"}
