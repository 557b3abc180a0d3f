"""One round of airenv's own figures, pinned to a core (but those of all cores); prints one JSON object."""

from __future__ import annotations

import argparse
import json
import os

import airenv
from experiments.bench import FIGURES, rate, start_up


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--game", required=True)
    parser.add_argument("--players", type=int, required=True)
    parser.add_argument("--figures", nargs="+", choices=sorted(FIGURES), required=True)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--core", type=int, required=True)
    parser.add_argument("--start-up", action="store_true", help="measure compiling and starting too")
    arguments = parser.parse_args()
    everywhere = os.sched_getaffinity(0)
    game = airenv.game(arguments.game, players=arguments.players)
    found = {}
    for name in arguments.figures:
        os.sched_setaffinity(0, everywhere if name.endswith("_all") else {arguments.core})
        found[name] = rate(FIGURES[name][1](game), arguments.seconds)
    os.sched_setaffinity(0, {arguments.core})
    if arguments.start_up:
        found |= start_up(arguments.game)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
