"""Golden playthroughs: whole games as text, kept beside each game to be read and compared.

`python -m experiments.playthrough` writes those that are missing; a change of rules on purpose is
recorded by deleting the files first.
"""

from __future__ import annotations

import re
from pathlib import Path

import airenv
from agents import make_agent
from agents.match import play_game
from airenv.byhand import Game
from airenv.core.files import write_text

AGENT = "greedy:epsilon=0.15"
SEED = 7
TABLE_EVERY = 12
MOVE = re.compile(r"^\s*\d+\. \[(.+?)\]", re.MULTILINE)


def tell(game: Game, seed: int, actions: list[int]) -> str:
    """A game as text: every decision with the choices there were, what came of it, the table now and then."""
    state = game.new(seed)
    lines = [f"{game.facts.title}, {game.players} players, seed {seed}", "", game.table(state, None), ""]
    for number, action in enumerate(actions, 1):
        legal = game.legal_actions(state)
        told = game.describe(state, action, None)
        before = game.clone(state)
        game.apply(state, action)
        lines.append(f"{number:4d}. [{game.action_name(action)}] {'; '.join([told, *game.happenings(before, state)])}")
        others = [game.action_name(other) for other in legal if other != action]
        if others:
            lines.append(f"      instead of: {', '.join(others)}")
        if number % TABLE_EVERY == 0 or game.is_over(state):
            lines += ["", game.table(state, None), ""]
    scores = ", ".join(f"{score:g}" for score in game.scores(state))
    lines.append(f"scores {scores}; digest {game.digest(state)}")
    return "\n".join(lines) + "\n"


def actions_of(game: Game, text: str) -> list[int]:
    """The actions of a game that was told."""
    return [game.parse_action(name) for name in MOVE.findall(text)]


def path_of(game: Game) -> Path:
    return game.folder / "playthroughs" / f"{game.players}_players.txt"


def main() -> None:
    for name in airenv.game_names():
        for players in airenv.facts(name).players:
            game = airenv.game(name, players=players)
            if not path_of(game).exists():
                _, replay = play_game(game, [make_agent(AGENT) for _ in range(players)], SEED)
                write_text(path_of(game), tell(game, SEED, replay.actions))
                print(f"wrote {path_of(game)}")


if __name__ == "__main__":
    main()
