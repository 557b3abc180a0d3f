"""What the peers' scripts share: their arguments, repeated timing, and a stdout that carries only JSON."""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any, TextIO

Figure = dict[str, Any]
# A piece of work does a little of what is measured and returns how many units of it were done.
Work = Callable[[], int]


def parse_arguments(description: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--seconds", type=float, default=2.0, help="length of one measurement")
    parser.add_argument("--repeats", type=int, default=3, help="measurements per figure")
    parser.add_argument("--core", type=int, default=None, help="run on this core only")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.seconds <= 0 or arguments.repeats < 1:
        parser.error("--seconds must be above 0 and --repeats at least 1")
    if arguments.core is not None:
        os.sched_setaffinity(0, {arguments.core})
    return arguments


def keep_stdout_for_json() -> TextIO:
    """Return the real stdout, and send whatever libraries print (from C++ as well) to stderr."""
    real_stdout = os.fdopen(os.dup(1), "w")
    sys.stdout.flush()
    os.dup2(2, 1)
    return real_stdout


def rates(work: Work, seconds: float, repeats: int) -> list[float]:
    """Units of work per second, measured `repeats` times after one short warm-up."""
    _rate(work, min(seconds, 0.2))
    return [_rate(work, seconds) for _ in range(repeats)]


def _rate(work: Work, seconds: float) -> float:
    done = 0
    start = now = time.perf_counter()
    while now - start < seconds:
        done += work()
        now = time.perf_counter()
    return done / (now - start)


def figure(unit: str, measurements: list[float], **details: Any) -> Figure:
    return {
        "unit": unit,
        "median": round(statistics.median(measurements), 1),
        "measurements": [round(value, 1) for value in measurements],
        **details,
    }


def write_report(out: TextIO, packages: list[str], arguments: argparse.Namespace, figures: dict[str, Figure]) -> None:
    report = {
        "python": platform.python_version(),
        "packages": {name: version(name) for name in packages},
        "arguments": vars(arguments),
        "figures": figures,
    }
    json.dump(report, out, indent=2)
    out.write("\n")
    out.flush()
