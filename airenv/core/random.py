"""The generator inside the state: sfc32, four 32-bit words.

Only additions, shifts and exclusive-ors, done in 64-bit integers and cut back to 32 bits, so that the
compiled and the plain Python run give the same numbers without overflow.
"""

from __future__ import annotations

import numpy as np

from airenv.core.errors import BadSeed
from airenv.core.jit import jit

WORD = 0xFFFFFFFF
WARM_UP = 12
SEED_MAX = 2**63 - 1


@jit
def next_word(rng):
    """The next 32 random bits, as an integer."""
    a = np.int64(rng[0])
    b = np.int64(rng[1])
    c = np.int64(rng[2])
    counter = np.int64(rng[3])
    word = (a + b + counter) & WORD
    rng[0] = b ^ (b >> 9)
    rng[1] = (c + (c << 3)) & WORD
    rng[2] = (((c << 21) | (c >> 11)) + word) & WORD
    rng[3] = (counter + 1) & WORD
    return word


@jit
def below(rng, n):
    """A random integer in 0 .. n-1 (bias under n / 2**32)."""
    return (next_word(rng) * n) >> 32


@jit
def seed_generator(rng, seed):
    """Start the generator from a seed of 63 bits."""
    rng[0] = seed & WORD
    rng[1] = (seed >> 32) & WORD
    rng[2] = 0x9E3779B9
    rng[3] = 1
    for _ in range(WARM_UP):
        next_word(rng)


@jit
def derive_seed(seed, stream, number, rng):
    """The seed of item `number` of a stream, as a hash of all three; `rng` is four words of scratch."""
    seed_generator(rng, seed)
    rng[2] = np.int64(rng[2]) ^ (stream & WORD)
    rng[1] = np.int64(rng[1]) ^ (number & WORD)
    rng[0] = np.int64(rng[0]) ^ ((number >> 32) & WORD)
    for _ in range(WARM_UP):
        next_word(rng)
    return ((next_word(rng) << 31) ^ next_word(rng)) & SEED_MAX


def valid_seed(seed: object) -> int:
    """The seed as an int, or a BadSeed that says what is allowed."""
    if isinstance(seed, (bool, np.bool_)) or not isinstance(seed, (int, np.integer)):
        raise BadSeed(f"a seed is an integer from 0 to 2**63 - 1, not {seed!r}")
    if not 0 <= int(seed) <= SEED_MAX:
        raise BadSeed(f"a seed is an integer from 0 to 2**63 - 1; {seed} is outside")
    return int(seed)
