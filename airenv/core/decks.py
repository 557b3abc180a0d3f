"""Packs and piles of cards: the first `size` places of an array, the top card last.

Places above the top are kept at zero: two games that differ in nothing but what is hidden must not be told
apart by cards long gone.
"""

from __future__ import annotations

from airenv.core.jit import jit
from airenv.core.random import below


@jit
def fill_pack(cards, counts):
    """Lay out a pack with counts[kind] cards of each kind, in order; returns how many cards there are."""
    size = 0
    for kind in range(counts.shape[0]):
        for _ in range(counts[kind]):
            cards[size] = kind
            size += 1
    return size


@jit
def shuffle(rng, cards, size):
    """Shuffle a pile in place (Fisher-Yates)."""
    for i in range(size - 1, 0, -1):
        j = below(rng, i + 1)
        card = cards[i]
        cards[i] = cards[j]
        cards[j] = card


@jit
def bring_random(rng, cards, place, size):
    """Exchange the card at a place with a random one from there on; returns the card that is there now."""
    j = place + below(rng, size - place)
    card = cards[j]
    cards[j] = cards[place]
    cards[place] = card
    return card


@jit
def take_top(cards, size):
    """The top card of a pile of so many; its place is empty then. The caller counts one card less."""
    card = cards[size - 1]
    cards[size - 1] = 0
    return card


@jit
def count_cards(cards, size, counts):
    """Add the cards of a pile to the counts of their kinds."""
    for i in range(size):
        counts[cards[i]] += 1
