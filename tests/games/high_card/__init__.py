"""High card: a tiny game for the tests, as somebody else might write one."""

from airenv.core.registry import Facts

FACTS = Facts(
    name="high_card",
    title="High card",
    author="the tests",
    year="2024",
    players=(2, 3),
    summary="keep your hidden card or swap it for the top of the pack, twice; the highest card wins",
)
