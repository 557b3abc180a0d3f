"""Waiting for an agent to think: an indicator that moves, and Ctrl-C to have its best move so far."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, TypeVar

from rich.console import Console

LOOK = 0.1  # seconds between two looks at how far it is
Found = TypeVar("Found")


def think(console: Console, agent: Any, label: str, work: Callable[[], Found]) -> Found:
    """Do an agent's work with an indicator; Ctrl-C stops a search, which then answers, and anything else."""
    if not hasattr(agent, "stop"):
        with console.status(f"{label} ..."):
            return work()
    start = time.perf_counter()
    with ThreadPoolExecutor(1) as pool, console.status(f"{label} ...") as status:
        found = pool.submit(work)
        while True:
            try:
                if wait([found], timeout=LOOK).done:
                    return found.result()
                seconds = time.perf_counter() - start
                status.update(f"{label}: {agent.thought():,} simulations, {seconds:.1f} s (Ctrl-C: enough)")
            except KeyboardInterrupt:
                if found.done():
                    raise
                agent.stop()
