"""The engine contract: one generic name for each thing a game can do, resolved by the type of its State.

`step(board, state, action)` in compiled code is the `step` of the game whose STATE dtype `state` has.
Because the dispatch hangs on the type, generic kernels are compiled once a game, cached on disk and
inlined; functions handed over as arguments would be compiled again in every process.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numba.extending import overload
from numba.np.numpy_support import as_dtype

from airenv.core.jit import JIT_ON

RUNNING, ENDED, TRUNCATED = 0, 1, 2  # state["over"]
MOST_SEATS = 5  # players at a table
NOBODY = -1  # state["player"] of a finished game

# Fields every STATE has, by which generic code knows whose turn it is and whether the game is over.
HEADER = {"rng": "<u4", "steps": "<i4", "player": "|i1", "over": "|i1"}

_engines: dict[np.dtype, dict[str, Callable[..., Any]]] = {}
CONTRACT: list[str] = []
DEFAULTS: dict[str, Callable[..., Any]] = {}  # for what a game need not say


def register(state_dtype: np.dtype, functions: dict[str, Callable[..., Any]]) -> None:
    """Make a game's functions the ones that the contract's names mean for its State."""
    functions = {**DEFAULTS, **functions}
    missing = [name for name in CONTRACT if name not in functions]
    if missing:
        raise TypeError(f"an engine lacks {', '.join(missing)}")
    for field, kind in HEADER.items():
        if state_dtype.names is None or field not in state_dtype.names:
            raise TypeError(f"a STATE needs the field {field!r} ({kind})")
    gaps = padding(state_dtype)
    if gaps:
        raise TypeError(f"a STATE has {gaps} bytes of padding: copies would not be byte-identical; add a spare field")
    _engines[state_dtype] = functions


def padding(dtype: np.dtype) -> int:
    """Bytes of a record that belong to no field. NumPy leaves them unset when it copies."""
    return dtype.itemsize - sum(field[0].itemsize for field in (dtype.fields or {}).values())


def _contract(stub: Callable[..., Any]) -> Callable[..., Any]:
    """Turn a signature into a generic function, for compiled code and for plain Python."""
    name = stub.__name__
    CONTRACT.append(name)

    def plain(*args: Any) -> Any:
        return _engines[args[1].dtype][name](*args)

    def resolve(*args: Any) -> Any:
        function = _engines[as_dtype(args[1])][name]
        return getattr(function, "py_func", function)

    plain.__name__, plain.__doc__ = name, stub.__doc__
    resolve.__signature__ = inspect.signature(stub)  # type: ignore[attr-defined]
    if JIT_ON:
        overload(plain, jit_options={"error_model": "numpy"})(resolve)
    return plain


@_contract
def new_game(board, state, seed):
    """Set up a game in any record, whatever it held before."""


@_contract
def legal_mask(board, state, out):
    """Write 1 for every legal action of the player to act, 0 elsewhere; returns how many are legal."""


@_contract
def step(board, state, action):
    """Carry out a legal action and all that the rules force after it."""


@_contract
def observe(board, state, seat, out):
    """Write what a seat sees, as numbers."""


@_contract
def determinize(board, state, seat, seed):
    """Re-draw all that a seat cannot know, the generator included."""


@_contract
def scores(board, state, out):
    """Write each seat's score; a higher one ranks better, an equal one ties."""


@_contract
def check(board, state):
    """0 if the game's laws hold, else the number of the broken one (the game's LAWS names it)."""


@_contract
def suggest(board, state):
    """The rule-of-thumb player's action for the player to act, from what that player may know."""


@_contract
def value(board, state, out):
    """Write each seat's estimated chance of winning, in [0, 1], all hands of this world open."""


@_contract
def secret_choice(board, state):
    """Whether those who choose next do not see the choice now to be made: a search may not let them answer it."""


@_contract
def random_choice(board, state, rng, mask):
    """A uniformly random legal action: the one that `below(rng, legal)` others go before. `mask` is scratch.

    A game need not have it. One that has makes random play faster: it need not write a mask to choose from it.
    """


@_contract
def forget(board, state):
    """Nobody will be asked any more what they know: from here on the game is only played to its end and scored.

    A game need not have it. One that keeps up what seats know, beside what is on the table, plays on faster without.
    """


def never(board, state):
    return False


def keep_on(board, state):
    pass


DEFAULTS["secret_choice"] = never
DEFAULTS["forget"] = keep_on
