"""What choix and OpenSpiel make of some rankings, payoffs and votes, kept for the tests of our own ratings.

Run from the root of the project, with an environment apart, as these packages are needed for nothing else:

    python -m venv build/peers-ratings
    build/peers-ratings/bin/pip install choix==0.4.1 open_spiel==2.0.2 cvxpy==1.9.3 ecos==2.0.14 matplotlib networkx
    build/peers-ratings/bin/python benchmarks/peers/ratings_fixtures.py tests/data/ratings
"""

from __future__ import annotations

import argparse
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import choix
import numpy as np
from open_spiel.python.egt import alpharank
from open_spiel.python.voting import base, maximal_lotteries

Case = dict[str, Any]
COMMAND = "benchmarks/peers/ratings_fixtures.py"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(20240607)
    write(
        folder / "plackett_luce.json",
        f"choix {version('choix')}, ilsr_rankings with alpha=0 (maximum likelihood) and tol=1e-12",
        [plackett_luce(rng, agents, seats) for agents, seats in ((2, 2), (4, 2), (5, 3), (8, 4), (12, 5))],
    )
    spiel = f"open_spiel {version('open_spiel')}"
    write(
        folder / "alpha_rank.json",
        f"{spiel}, alpharank.compute; alpha null is use_inf_alpha=True with inf_alpha_eps=1e-10",
        [alpha_rank(rng, agents, alpha, m) for agents in (2, 3, 5, 8) for alpha in (0.1, 2.0, None) for m in (10, 50)],
    )
    write(
        folder / "maximal_lotteries.json",
        f"{spiel} with cvxpy {version('cvxpy')}, MaximalLotteriesVoting(iterative=False); odd numbers of full votes",
        [lottery(rng, agents, voters) for agents in (3, 4, 5, 7) for voters in (3, 5, 11)],
    )


def write(path: Path, made_by: str, cases: list[Case]) -> None:
    path.write_text(json.dumps({"note": f"made by {COMMAND}: {made_by}", "cases": cases}) + "\n", encoding="utf-8")


def plackett_luce(rng: np.random.Generator, agents: int, seats: int) -> Case:
    """Rankings without ties, best first, drawn from the model, in which every agent wins and loses at times."""
    strengths = rng.normal(scale=0.8, size=agents)
    rankings = []
    for _ in range(60 * agents):
        seated = rng.choice(agents, seats, replace=False)
        rankings.append([int(agent) for agent in seated[np.argsort(-(strengths + rng.gumbel(size=agents))[seated])]])
    found = choix.ilsr_rankings(agents, rankings, max_iter=1000, tol=1e-12)
    return {"agents": agents, "rankings": rankings, "parameters": found.tolist()}


def alpha_rank(rng: np.random.Generator, agents: int, alpha: float | None, m: int) -> Case:
    payoffs = rng.normal(size=(agents, agents))
    kind = {"use_inf_alpha": True, "inf_alpha_eps": 1e-10} if alpha is None else {"alpha": alpha}
    found = alpharank.compute([payoffs], m=m, **kind)[2]
    return {"payoffs": payoffs.tolist(), "alpha": alpha, "population": m, "shares": found.tolist()}


def lottery(rng: np.random.Generator, agents: int, voters: int) -> Case:
    """An odd number of voters makes all margins odd, and the lottery unique."""
    votes = [[int(agent) for agent in rng.permutation(agents)] for _ in range(voters)]
    profile = base.PreferenceProfile(votes=votes, alternatives=list(range(agents)))
    outcome = maximal_lotteries.MaximalLotteriesVoting(iterative=False).run_election(profile)
    chances = dict(zip(outcome.ranking, outcome.scores, strict=True))
    margins = np.asarray(profile.margin_matrix()).tolist()
    return {"margins": margins, "lottery": [float(chances[agent]) for agent in range(agents)]}


if __name__ == "__main__":
    main()
