"""Aviation, the Air Mail Game: a card race from Boston to San Francisco."""

from airenv.core.registry import Facts

FACTS = Facts(
    name="aviation",
    title="Aviation, the Air Mail Game",
    author="Parker Brothers",
    year="1928",
    players=(2, 3, 4),
    summary="a card race from Boston to San Francisco with delays, releases and secret transfers",
)
