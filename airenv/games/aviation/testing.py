"""Positions of aviation built by hand, for its tests."""

from functools import cache

import numpy as np

import airenv
from airenv.games.aviation import layout
from airenv.games.aviation.layout import DELAY, FAIR_WEATHER, PARACHUTE, TRANSFER

BOSTON, NEW_YORK, PHILADELPHIA, BALTIMORE, WASHINGTON, CLEVELAND = range(1, 7)
DETROIT, CHICAGO, MINNEAPOLIS, ST_LOUIS, DENVER, SAN_FRANCISCO = range(7, 13)
PILE, TOP = "draw from the pile", "draw the top discard"
LEFT, SECOND, THIRD = (
    "delay the player on your left",
    "delay the second player to the left",
    "delay the third player to the left",
)
DULL = [CLEVELAND, DETROIT, CHICAGO, MINNEAPOLIS, ST_LOUIS]  # fits no pile below Washington
SEEDS = range(12)


@cache
def game(players=4, **options):
    return airenv.game("aviation", players=players, **options)


class Table:
    """A position built by hand, and played on by the names of the actions; the laws hold throughout."""

    def __init__(self, rules, state):
        self.game, self.state = rules, state
        self.game.check(state)

    def play(self, *names):
        for name in names:
            self.game.apply(self.state, self.game.parse_action(name))
            self.game.check(self.state)
        return self

    def turn(self, card=None):
        """A dull turn: draw from the pile, discard a card (the last of those held, if none is named)."""
        self.play(PILE)
        return self.play(f"discard {card}" if card else self.legal()[-1])

    def __getitem__(self, field):
        return self.state[field][0]

    def hand(self, seat):
        return [city for city in range(1, 13) for _ in range(self["hand"][seat][city])]

    def discards(self):
        return self["discard"][: self["discard_size"]].tolist()

    def legal(self):
        return [self.game.action_name(a) for a in self.game.legal_actions(self.state)]

    def known(self, observer, seat):
        """The cards an observer knows to be in another's hand, read from its observation."""
        row = (seat - observer) % self.game.players - 1
        counts = self.game.observe(self.state, observer)[layout.SLICES["known"]].reshape(3, 12)[row]
        return [city + 1 for city in range(12) for _ in range(int(counts[city]))]

    def may_fit(self, observer, seat):
        """How many of another's unknown cards an observer thinks may fit, read from its observation."""
        row = (seat - observer) % self.game.players - 1
        return round(float(self.game.observe(self.state, observer)[layout.SLICES["may_fit"]][row]) * 6)

    def lacking(self, observer, seat):
        return self.may_fit(observer, seat) == 0

    def worlds(self, seat, number=30):
        """Worlds the seat must hold possible, each lawful."""
        found = [Table(self.game, self.game.determinize(self.state, seat, seed)) for seed in range(number)]
        assert len({world.game.digest(world.state) for world in found}) > 1
        return found


def table(
    players=4,
    hands=(),
    piles=(),
    red=(),
    blue=(),
    discard=(DETROIT,),
    delayed=(),
    parachute=(),
    rest="pile",
    **options,
):
    """Seat 0 is on turn. Cards are named bottom to top; hands not named are dull, other piles not begun.

    The rest of both packs lies under the named cards (rest="pile") or at the bottom of the discards.
    """
    rules = game(players, **options)
    state = rules.new(0)
    board, s = rules.board[0], state[0]
    left = board["red"].astype(int)
    piles = [*piles, *[0] * (players - len(piles))]
    hands = [*hands, *[None] * (players - len(hands))]
    for number in piles:
        left[1 : number + 1] -= 1
    for cards in (red, discard, *(hand for hand in hands if hand is not None)):
        np.subtract.at(left, list(cards), 1)
    for field in ("red", "discard", "hand", "known", "passing", "blue", "blue_discard"):
        s[field][:] = 0
    for seat in range(players):
        if hands[seat] is None:
            hands[seat] = dull_hand(left, piles[seat] + 1)
        np.add.at(s["hand"][seat], list(hands[seat]), 1)
        s["held"][seat] = len(hands[seat])
        s["pile"][seat] = piles[seat]
        s["delayed"][seat], s["parachute"][seat] = seat in delayed, seat in parachute
    assert left.min() >= 0, "the pack has not that many cards of a city"
    spare = np.repeat(np.arange(13), left).tolist()
    lay(s, "red", [*spare, *red] if rest == "pile" else [*red])
    lay(s, "discard", [*discard] if rest == "pile" else [*spare, *discard])
    blue_left = board["blue"].astype(int)
    np.subtract.at(blue_left, list(blue), 1)
    blue_left[DELAY] -= len(delayed)
    blue_left[PARACHUTE] -= len(parachute)
    if rest == "pile":
        lay(s, "blue", [*np.repeat(np.arange(5), blue_left), *blue])
    else:
        lay(s, "blue", [*blue])
        s["blue_discard"][:] = blue_left
    s["blue_top"] = -1
    s["may_fit"][:] = 6
    s["pool"][:] = board["red"]
    s["dealer"], s["on_turn"], s["player"], s["phase"] = players - 1, 0, 0, layout.DRAWING
    return Table(rules, state)


def dull_hand(left, fits):
    """Five cards of the middle cities of which most are left, none of which fits; taken out of the pack."""
    hand = []
    for _ in range(5):
        city = max((c for c in DULL if c != fits), key=lambda c: left[c])
        left[city] -= 1
        hand.append(city)
    return hand


def lay(s, pile, cards):
    s[pile][: len(cards)] = cards
    s[f"{pile}_size"] = len(cards)


def positions(players=4, games=6, plies=700):
    """Running positions all through random games."""
    for seed in range(games):
        for ply in range(0, plies, 7):
            state = game(players).random_position(seed, ply)
            if game(players).is_over(state):
                break
            yield state


HANDS = [
    [CLEVELAND, DETROIT, CHICAGO, CHICAGO, DENVER],
    [CLEVELAND, DETROIT, CHICAGO, MINNEAPOLIS, MINNEAPOLIS],
    [CLEVELAND, DETROIT, CHICAGO, ST_LOUIS, ST_LOUIS],
    [CLEVELAND, DETROIT, CHICAGO, DENVER, SAN_FRANCISCO],
]


def transfer(players=4, **position):
    position = {"hands": HANDS[:players], "red": [ST_LOUIS], "blue": [FAIR_WEATHER, TRANSFER], **position}
    return table(players, **position).turn("St. Louis")


def passed_on():
    return transfer().play("pass Denver", "pass Minneapolis", "pass St. Louis", "pass San Francisco")


def draws_until_discard(t):
    draws = 0
    while t["phase"] == layout.DRAWING:
        t.play(PILE)
        draws += 1
    return draws
