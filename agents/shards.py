"""How a run's games are split into shards: parts that are played apart, each with random numbers of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from airenv.core.errors import BadOption
from airenv.vector import game_seed

SHARD_STREAM = 2  # of a run's seeds: streams 0 and 1 are those of its tables and of who plays


def shard_size(games: int, shards: int) -> int:
    """How many games a shard has; all have as many."""
    if games % shards:
        fitting = ", ".join(str(number) for number in range(1, shards + 1) if games % number == 0)
        raise BadOption(f"{games} games cannot be split into {shards} equal shards; {fitting} would do")
    return games // shards


def shard_seed(seed: int, number: int) -> int:
    """The seed of a shard; the first has that of the run, so that a single one is the run that was not split."""
    return seed if number == 0 else game_seed(seed, number, SHARD_STREAM)


@dataclass(frozen=True)
class Shard:
    """All there is to know of a shard's games, as a task for a worker: a snapshot of them."""

    number: int
    arrays: dict[str, np.ndarray]
    facts: dict[str, Any]


def in_shard(number: int, key: str) -> str:
    """What a shard's part of a saved state is called; that of the first as if it were alone."""
    return f"shard{number}.{key}" if number else key


def part(whole: dict[str, Any], prefix: str) -> dict[str, Any]:
    """What is called by names that begin so, by the rest of their names."""
    return {key.removeprefix(prefix): value for key, value in whole.items() if key.startswith(prefix)}
