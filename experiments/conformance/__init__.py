"""The laws every game keeps, as functions of a game's name and a number of players.

The project's own tests and `airenv check GAME` run the same ones. Each raises an AssertionError (or the
error it met) that says which law broke where; none knows any game.
"""

from experiments.conformance import copies, environments, mistakes, processes, rules, searches, secrets
from experiments.conformance.suite import CHECKS, Check

__all__ = ["CHECKS", "Check", "copies", "environments", "mistakes", "processes", "rules", "searches", "secrets"]
