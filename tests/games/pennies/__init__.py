"""Pennies: a secret choice for two to five players, to test that a search lets nobody answer what is hidden."""

from airenv.core.registry import Facts

FACTS = Facts(
    name="pennies",
    title="Matching pennies",
    author="the tests",
    year="2024",
    players=(2, 3, 4, 5),
    summary="all choose heads or tails in secret; the first player wins by matching the second, who wins otherwise",
)
