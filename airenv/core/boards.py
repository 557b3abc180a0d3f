"""Board files: what is printed on boards and cards, as typed TOML.

A file with mistakes gets one message that names the file and lists every problem by key.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from airenv.core.errors import BoardError, unknown


class Typed(BaseModel):
    """A table whose keys are all declared: a misspelt one is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Section(Typed):
    """A section of a board file, marked with where its facts come from."""

    source: Literal["rulebook", "derived", "reconstructed"]
    note: str


Model = TypeVar("Model", bound=Typed)


def complain(*found: tuple[bool, str]) -> None:
    """In a validator: raise one error with a line for every problem that is there."""
    lines = [text for wrong, text in found if wrong]
    if lines:
        raise ValueError("\n".join(lines))


def problems(error: ValidationError) -> list[str]:
    """Each problem of a failed validation as 'key: what is wrong', with the value that was given."""
    lines = []
    for item in error.errors():
        key = ".".join(str(part) for part in item["loc"]) or "(file)"
        given = (
            "" if item["type"] in ("missing", "extra_forbidden") or not item["loc"] else f" (given: {item['input']!r})"
        )
        if item["type"] == "value_error":  # ours, from `complain`
            lines += [f"{key}: {text}" for text in str(item["ctx"]["error"]).split("\n")]
        else:
            lines.append(f"{key}: {item['msg']}{given}")
    return lines


def board_names(folder: Path) -> dict[str, Path]:
    """The boards shipped with a game: board.toml is 'standard', board_usa.toml is 'usa'."""
    return {p.stem.removeprefix("board").lstrip("_") or "standard": p for p in sorted(folder.glob("board*.toml"))}


def find_board(folder: Path, board: str | Path) -> Path:
    """The file of a shipped board's name, or of a person's own file."""
    names = board_names(folder)
    if str(board) in names:
        return names[str(board)]
    if str(board).endswith(".toml"):
        path = Path(board)
        if not path.is_file():
            raise BoardError(f"there is no board file {path}")
        return path
    raise unknown("board", str(board), names)


def load_board(path: Path, model: type[Model]) -> Model:
    """Read and validate a board file; a BoardError lists all its problems at once."""
    try:
        data: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BoardError(f"{path} is not TOML: {error}") from None
    try:
        return model.model_validate(data)
    except ValidationError as error:
        lines = problems(error)
        raise BoardError(f"{path} has {len(lines)} problem(s):\n  " + "\n  ".join(lines)) from None
