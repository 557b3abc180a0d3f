"""The engine by hand: `airenv.game("aviation", players=4)`.

A state is a NumPy structured array of one record. Cloning is copying, saving is `to_bytes`; every
method checks its input and leaves the state untouched when it complains.
"""

from __future__ import annotations

import hashlib
import threading
import zlib
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from airenv.core import engine, kernels, registry
from airenv.core.boards import board_names, find_board, load_board, problems
from airenv.core.errors import BadOption, BadState, GameOver, IllegalAction, one_of, positive, unknown
from airenv.core.jit import direct
from airenv.core.random import valid_seed

REWARDS = {"rank": kernels.RANK, "win": kernels.WIN, "score": kernels.SCORE, "margin": kernels.MARGIN}
MAGIC = b"airenv1\0"
ONE = (1,)  # the shape of a state


def fresh_seed() -> int:
    """A seed from the operating system, for when the caller gives none."""
    return int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> 1)


class _Scratch(threading.local):
    """An array that calls write into and never hand out. Each thread has its own."""

    def __init__(self, actions: int) -> None:
        self.actions = np.zeros(actions, np.int64)


class Game:
    """One game with its options and board: a stateless engine over plain records."""

    def __init__(self, name: str, board: str | Path | None = None, reward: str = "rank", **options: Any) -> None:
        self.facts = registry.facts(name)
        self.name = name
        self.folder = Path(str(files(f"{registry.GAMES}.{name}")))
        self._layout = registry.game_module(name, "layout")
        self._text = registry.game_module(name, "text")
        _register_engine(name)
        self.reward = one_of("reward", reward, REWARDS)
        self.options = _read_options(registry.game_module(name, "board").Options, options)
        self.board_name = self._name_of(board)
        module = registry.game_module(name, "board")
        self.board_file = load_board(find_board(self.folder, self.board_name), module.BoardFile)
        self.board: np.ndarray = module.build(self.board_file, self.options)
        self.dtype: np.dtype = self._layout.STATE
        self.players = int(self.options.players)
        self.num_actions: int = self._layout.ACTIONS
        self.action_kinds: dict[str, range] = self._layout.ACTION_KINDS
        self.observation_size: int = self._layout.OBSERVATION
        self.laws: dict[int, str] = self._layout.LAWS
        self._mode = REWARDS[reward]
        self._names: list[str] = self._text.action_names(self.board_file)
        self._scratch = _Scratch(self.num_actions)
        # The three calls a loop in Python makes for every decision.
        one, mask = self._blank(), np.zeros(self.num_actions, np.int8)
        seen = np.zeros(self.observation_size, np.float32)
        self._legal_one = self._make_direct("legal_one", self.board, one, 0, self._scratch.actions)
        self._apply_one = self._make_direct("apply_one", self.board, one, 0, 0, self.num_actions)
        self._observe_one = self._make_direct("observe_one", self.board, one, 0, 0, seen, mask)

    def _name_of(self, board: str | Path | None) -> str:
        """A shipped board's name, or where a person's own file is, whatever folder one is in later."""
        names = board_names(self.folder)
        if board is None:
            return next(iter(names))
        return str(Path(board).resolve()) if str(board).endswith(".toml") and str(board) not in names else str(board)

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, or the same game in another process, is made anew from its name and options."""
        return _rebuilt, (self.name, self.board_name, self.reward, self.options.model_dump())

    def _make_direct(self, kernel: str, *examples: Any) -> Any:
        """Stands in for a kernel until it is first called: then it is loaded or compiled, and takes its place."""

        def first_call(*args: Any) -> Any:
            made = direct(getattr(kernels, kernel), *examples)
            setattr(self, f"_{kernel}", made)
            return made(*args)

        return first_call

    def __repr__(self) -> str:
        given = ", ".join(f"{key}={value!r}" for key, value in self.options.model_dump().items())
        return f"airenv.game({self.name!r}, {given}, board={self.board_name!r}, reward={self.reward!r})"

    # -- playing -----------------------------------------------------------------------------------

    def new(self, seed: int | None = None) -> np.ndarray:
        """A new game; the same seed deals the same game."""
        state = self._blank()
        kernels.reset_one(self.board, state, 0, fresh_seed() if seed is None else valid_seed(seed))
        return state

    def player(self, state: np.ndarray) -> int:
        """The seat to act, -1 when the game is over."""
        if getattr(state, "dtype", None) is not self.dtype or state.shape != ONE:
            self._own(state)
        return int(state["player"][0])

    def legal_actions(self, state: np.ndarray) -> list[int]:
        """The legal actions, in order; an empty list when the game is over."""
        if getattr(state, "dtype", None) is not self.dtype or state.shape != ONE:
            self._own(state)
        actions = self._scratch.actions
        return actions[: self._legal_one(self.board, state, 0, actions)].tolist()

    def legal_mask(self, state: np.ndarray) -> np.ndarray:
        """A new int8 array with 1 for every legal action."""
        state = self._own(state)
        mask = np.empty(self.num_actions, np.int8)
        kernels.mask_one(self.board, state, 0, mask)
        return mask

    def apply(self, state: np.ndarray, action: int) -> None:
        """Carry out a legal action in place; anything else is an error and changes nothing."""
        # Only whether anything may be wrong, as this is asked for every decision; `_own` says what it is.
        if getattr(state, "dtype", None) is not self.dtype or state.shape != ONE or not state.flags.writeable:
            self._own(state, to_write=True)
        if type(action) is not int:
            action = self.as_integer(action)
        try:
            if self._apply_one(self.board, state, 0, action, self.num_actions) > kernels.ILLEGAL:
                return
        except OverflowError:  # no action has so large a number
            pass
        raise self.illegal(state, action)

    def attempt(self, state: np.ndarray, action: int) -> int:
        """Carry out an integer action if it is legal: the next seat, or what `kernels.apply_one` answers instead."""
        known = action if 0 <= action < self.num_actions else kernels.NO_ACTION
        return self._apply_one(self.board, state, 0, known, self.num_actions)

    def is_over(self, state: np.ndarray) -> bool:
        if getattr(state, "dtype", None) is not self.dtype or state.shape != ONE:
            self._own(state)
        return bool(state["over"][0])

    def is_secret(self, state: np.ndarray) -> bool:
        """Whether the choice now to be made is hidden from those who choose next, as at the same time."""
        return bool(kernels.secret_one(self.board, self._own(state), 0))

    def is_truncated(self, state: np.ndarray) -> bool:
        """Whether the game was cut off by its length instead of ending by its rules."""
        return self.is_over(state) and bool(state["over"][0] == engine.TRUNCATED)

    def scores(self, state: np.ndarray) -> np.ndarray:
        """Each seat's score as it stands."""
        state = self._own(state)
        out = np.zeros(self.players, np.float64)
        kernels.scores_one(self.board, state, 0, out)
        return out

    def returns(self, state: np.ndarray) -> np.ndarray:
        """Each seat's reward by the chosen mode; zeros while the game runs."""
        state = self._own(state)
        out = np.zeros(self.players, np.float64)
        kernels.rewards_one(self.board, state, 0, self._mode, np.zeros(self.players), out)
        return out

    def random_playouts(self, games: int, seed: int = 0) -> int:
        """Play whole random games in one compiled call; returns the decisions made."""
        return self._scratch_call(kernels.random_playouts, positive("games", games), valid_seed(seed))

    def check_playouts(self, games: int, seed: int = 0) -> str | None:
        """Random games with every law checked after every step; None, or which law broke where."""
        game, step, law = self._scratch_call(kernels.checked_playouts, positive("games", games), valid_seed(seed))
        if law == 0:
            return None
        return f"game {game}, step {step}: broken law: {self._law(law)}"

    def check_random_choices(self, games: int, seed: int = 0) -> int | None:
        """None if the game's own way to choose at random is that of its masks; else the first step where it is not."""
        step = int(self._scratch_call(kernels.first_other_choice, positive("games", games), valid_seed(seed)))
        return None if step < 0 else step

    def check_forgetting(self, games: int, seed: int = 0) -> int | None:
        """None if a game that forgets who knows what goes on as it would have; else the first step that differs."""
        step = int(self._scratch_call(kernels.first_change_by_forgetting, positive("games", games), valid_seed(seed)))
        return None if step < 0 else step

    def random_position(self, seed: int, plies: int) -> np.ndarray:
        """The position after so many random decisions (or the end, if it comes first)."""
        state = self._blank()
        mask, rng = np.zeros(self.num_actions, np.int8), np.zeros(4, np.uint32)
        wanted = 0 if type(plies) is int and plies == 0 else positive("plies", plies)
        kernels.random_position(self.board, state, 0, valid_seed(seed), wanted, mask, rng)
        return state

    # -- what a seat sees --------------------------------------------------------------------------

    def observe(self, state: np.ndarray, seat: int) -> np.ndarray:
        """What a seat sees, as a new float32 array."""
        return self.observe_with_mask(state, seat)[0]

    def observe_with_mask(self, state: np.ndarray, seat: int) -> tuple[np.ndarray, np.ndarray]:
        """What a seat sees and its action mask (all zero unless it is to act), as new arrays."""
        state = self._own(state)
        out = np.empty(self.observation_size, np.float32)
        mask = np.empty(self.num_actions, np.int8)
        self._observe_one(self.board, state, 0, self.valid_seat(seat), out, mask)
        return out, mask

    def determinize(self, state: np.ndarray, seat: int, seed: int) -> np.ndarray:
        """A copy in which all that the seat cannot know is drawn anew, future chance included."""
        world = self.clone(state)
        kernels.determinize_one(self.board, world, 0, self.valid_seat(seat), valid_seed(seed))
        return world

    def suggest(self, state: np.ndarray) -> int:
        """The rule-of-thumb player's action."""
        state = self._own(state)
        if self.is_over(state):
            raise GameOver("the game is over: there is nothing to suggest")
        return int(kernels.suggest_one(self.board, state, 0))

    def value(self, state: np.ndarray) -> np.ndarray:
        """The rule of thumb's estimate of each seat's chance to win, all hands open. Privileged, of a true state."""
        state = self._own(state)
        out = np.zeros(self.players, np.float64)
        kernels.value_one(self.board, state, 0, out)
        return out

    def view(self, state: np.ndarray, seat: int | None) -> dict[str, Any]:
        """What a seat sees, as JSON; None for a spectator who sees everything."""
        state = self._own(state)
        who = None if seat is None else self.valid_seat(seat)
        return self._text.view(self.board_file, self.board[0], state[0], who)

    def svg(self, state: np.ndarray, seat: int | None) -> str:
        """The table as a seat sees it, as a picture."""
        return self._text.svg(self.view(state, seat))

    def table(self, state: np.ndarray, seat: int | None) -> str:
        """The table as a seat sees it, as text."""
        return self._text.table(self.view(state, seat))

    def hand(self, state: np.ndarray, seat: int) -> str:
        """What a seat holds, as text."""
        return self._text.hand(self.view(state, self.valid_seat(seat)))

    def describe(self, state: np.ndarray, action: int, seat: int | None) -> str:
        """What a seat sees of an action about to be made."""
        state = self._own(state)
        return self._text.describe(self.board_file, self.board[0], state[0], self.valid_action(action), seat)

    def happenings(self, before: np.ndarray, after: np.ndarray) -> list[str]:
        """What everybody saw happen because of the action that led from one state to the other."""
        return self._text.happenings(self.board_file, self.board[0], before[0], after[0])

    def action_name(self, action: int) -> str:
        return self._names[self.valid_action(action)]

    def action_kind(self, action: int) -> str:
        """What sort of action it is: draw, discard, fly ..."""
        number = self.valid_action(action)
        return next(kind for kind, actions in self.action_kinds.items() if number in actions)

    def parse_action(self, name: str) -> int:
        """The action of a name, of any case; the inverse of action_name."""
        wanted = " ".join(str(name).lower().split())
        for action, known in enumerate(self._names):
            if known.lower() == wanted:
                return action
        raise unknown("action", name, self._names)

    # -- copies and bytes --------------------------------------------------------------------------

    def clone(self, state: np.ndarray) -> np.ndarray:
        """An independent copy; by way of bytes, as NumPy copies a record field by field."""
        if getattr(state, "dtype", None) is not self.dtype or state.shape != ONE:
            self._own(state)
        return np.ndarray(1, self.dtype, bytearray(state.tobytes()))

    def signature(self) -> bytes:
        """Eight bytes that differ when states of two games cannot be exchanged."""
        what = (self.name, self.facts.rules, self.dtype.descr, self.board.tobytes())
        return hashlib.sha256(repr(what).encode()).digest()[:8]

    def to_bytes(self, state: np.ndarray) -> bytes:
        """A state as bytes that `from_bytes` takes back, with a check sum."""
        state = self._own(state)
        body = MAGIC + self.signature() + state.tobytes()
        return body + zlib.crc32(body).to_bytes(4, "little")

    def from_bytes(self, data: bytes) -> np.ndarray:
        """The state that `to_bytes` made; damaged or foreign bytes are an error."""
        head = len(MAGIC) + 8
        if len(data) != head + self.dtype.itemsize + 4 or not data.startswith(MAGIC):
            raise BadState(f"these {len(data)} bytes are not a saved state of {self!r}")
        if zlib.crc32(data[:-4]).to_bytes(4, "little") != data[-4:]:
            raise BadState("a saved state is damaged: its check sum does not fit")
        if data[len(MAGIC) : head] != self.signature():
            raise BadState(f"a saved state belongs to another game, board, options or rules than {self!r}")
        return np.frombuffer(data[head:-4], self.dtype).copy()

    def digest(self, state: np.ndarray) -> str:
        """A hash of the whole state, generator included."""
        return hashlib.sha256(state.tobytes()).hexdigest()[:32]

    def check(self, state: np.ndarray) -> None:
        """Raise BadState if a law of the game does not hold."""
        state = self._own(state)
        law = int(kernels.check_one(self.board, state, 0))
        if law:
            raise BadState(f"broken law: {self._law(law)}")

    # -- checks ------------------------------------------------------------------------------------

    def valid_seat(self, seat: int) -> int:
        if (
            isinstance(seat, (bool, np.bool_))
            or not isinstance(seat, (int, np.integer))
            or not 0 <= seat < self.players
        ):
            raise BadOption(f"a seat is an integer from 0 to {self.players - 1}, not {seat!r}")
        return int(seat)

    def as_integer(self, action: Any) -> int:
        """An action as an int: 0-d integer arrays and NumPy integers are taken, floats and bools are not."""
        if isinstance(action, np.ndarray) and action.shape == ():
            action = action[()]
        if isinstance(action, (bool, np.bool_)) or not isinstance(action, (int, np.integer)):
            raise IllegalAction(f"an action is an integer from 0 to {self.num_actions - 1}, not {action!r}")
        return int(action)

    def valid_action(self, action: Any) -> int:
        """The number of an action there is, legal now or not."""
        number = self.as_integer(action)
        if not 0 <= number < self.num_actions:
            raise IllegalAction(f"there is no action {number}: actions go from 0 to {self.num_actions - 1}")
        return number

    def illegal(self, state: np.ndarray, action: int) -> IllegalAction | GameOver:
        """The error for an action that cannot be made now."""
        if self.is_over(state):
            return GameOver("the game is over: no action can be made")
        legal = ", ".join(f"{a} ({self._names[a]})" for a in self.legal_actions(state))
        name = f" ({self._names[action]})" if 0 <= action < self.num_actions else ""
        return IllegalAction(f"action {action}{name} is not legal for player {self.player(state)}; legal: {legal}")

    def _blank(self) -> np.ndarray:
        return np.ndarray(1, self.dtype, bytearray(self.dtype.itemsize))

    def _own(self, state: np.ndarray, to_write: bool = False) -> np.ndarray:
        """The state if it is one of this game, a clone of a read-only one (kernels want to be able to write)."""
        if not isinstance(state, np.ndarray) or state.dtype != self.dtype or state.shape != ONE:
            raise BadState(f"not a state of {self.name}: an array of one {self.name} record is needed")
        if state.flags.writeable:
            return state
        if to_write:
            raise BadState("this state is read-only: play on in a clone of it")
        return np.ndarray(1, self.dtype, bytearray(state.tobytes()))

    def _law(self, law: int) -> str:
        return self.laws.get(law, "the mask, its count, the player to act and the end agree")

    def _scratch_call(self, kernel: Any, games: int, seed: int) -> Any:
        mask, rng = np.zeros(self.num_actions, np.int8), np.zeros(4, np.uint32)
        return kernel(self.board, np.zeros(1, self.dtype), 0, games, seed, mask, rng)


def _register_engine(name: str) -> None:
    parts = {part: registry.game_module(name, part) for part in ("rules", "observe", "heuristic")}
    functions = {n: getattr(m, n) for n in engine.CONTRACT for m in parts.values() if hasattr(m, n)}
    engine.register(registry.game_module(name, "layout").STATE, functions)


def _rebuilt(name: str, board: str, reward: str, options: dict[str, Any]) -> Game:
    return Game(name, board=board, reward=reward, **options)


def _read_options(model: Any, given: dict[str, Any]) -> Any:
    for key in given:
        if key not in model.model_fields:
            raise unknown("option", key, [*model.model_fields, "board", "reward"])
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise BadOption("; ".join(problems(error))) from None
