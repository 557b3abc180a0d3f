"""Where work is done: in this process, in several of this machine or on a Ray cluster; the results are the same.

A piece of work is `function(shared, task)`: a function of a module, so that another process can find it, something
that all pieces share and that is sent once, and what this piece is about. Pieces know nothing of the worker that does
them, and a piece may be done twice when a worker dies: they must not have side effects. Results are handed to the
caller, who alone writes anything down.
"""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import os
import pickle
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Generic, Literal, Protocol, TypeVar, get_args

from airenv.core.errors import AirenvError, BadOption

Kind = Literal["inline", "processes", "ray"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Task = TypeVar("Task")
Found = TypeVar("Found")
Work = Callable[[Any, Task], Found]

PIECES_AHEAD = 2  # given to each worker at the most: enough to keep it busy, few enough to stop soon
RETRIES = 2  # of a piece whose worker died each time
WATCH_SECONDS = 1.0  # between a worker's looks at whether anybody still waits for it


class WorkersDied(AirenvError):
    """Pieces of work, any of which may be why workers died each time they were tried."""

    def __init__(self, message: str, tasks: list[Any]) -> None:
        super().__init__(message)
        self.tasks = tasks


class WorkFailed(AirenvError):
    """A mistake in the work that cannot be sent from one process to another as it is."""


class Executor(Protocol):
    """Does pieces of work and hands over the results as they are ready."""

    workers: int

    def results(
        self, function: Work[Task, Found], tasks: Iterable[Task], shared: Any = None
    ) -> Iterator[tuple[Task, Found]]:
        """Every task with what came of it, in the order they are done; tasks are taken as workers get free."""
        ...

    def warm(self, function: Callable[[], object]) -> None:
        """Do something once on every machine before work begins, such as compiling what all its workers will load."""
        ...

    def close(self) -> None: ...


def available_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def make_executor(kind: Kind, workers: int | None = None, address: str | None = None) -> Executor:
    """The executor of a configuration; by default as many workers as there are cores."""
    if workers is not None and workers < 1:
        raise BadOption(f"workers is a positive integer, not {workers}")
    if address is not None and kind != "ray":
        raise BadOption(f"an address is that of a Ray cluster; it does not go with executor {kind}")
    if kind == "inline":
        return Inline()
    if kind == "processes":
        return Processes(workers or available_cores())
    from agents.clusters import RayCluster

    return RayCluster(workers, address)


class Inline:
    """All work here, one piece after the other."""

    workers = 1

    def results(
        self, function: Work[Task, Found], tasks: Iterable[Task], shared: Any = None
    ) -> Iterator[tuple[Task, Found]]:
        for task in tasks:
            yield task, function(shared, task)

    def warm(self, function: Callable[[], object]) -> None:
        pass  # whatever is needed is made ready when it is first used, which is once

    def close(self) -> None:
        pass


# -- processes ---------------------------------------------------------------------------------------


class Processes:
    """Workers in processes of their own, started afresh (spawn) so that they inherit no locks or threads."""

    def __init__(self, workers: int, retries: int = RETRIES) -> None:
        self.workers, self.retries = workers, retries
        self._pool: ProcessPoolExecutor | None = None

    def results(
        self, function: Work[Task, Found], tasks: Iterable[Task], shared: Any = None
    ) -> Iterator[tuple[Task, Found]]:
        with _kept_file(shared) as file:
            waiting: dict[Future[Found], _Piece[Task]] = {}
            supply = iter(tasks)
            try:
                while True:
                    for task in itertools.islice(supply, self.workers * PIECES_AHEAD - len(waiting)):
                        waiting[self._submit(function, file, task)] = _Piece(task)
                    if not waiting:
                        return
                    for done in wait(waiting, return_when=FIRST_COMPLETED).done:
                        if isinstance(done.exception(), BrokenProcessPool):
                            waiting = self._again(function, file, waiting)
                            break
                        yield waiting.pop(done).task, done.result()
            finally:
                for future in waiting:
                    future.cancel()

    def _submit(self, function: Work[Task, Found], file: Path | None, task: Task) -> Future[Found]:
        try:
            return self._workers().submit(_do, function, file, task)
        except BrokenProcessPool:  # a worker died while nobody looked
            self.close()
            return self._workers().submit(_do, function, file, task)

    def _again(
        self, function: Work[Task, Found], file: Path | None, waiting: dict[Future[Found], _Piece[Task]]
    ) -> dict[Future[Found], _Piece[Task]]:
        """A worker died, which takes the others with it: start new ones and give them all that was not finished."""
        self.close()
        kept = {f: piece for f, piece in waiting.items() if not isinstance(f.exception(), BrokenProcessPool)}
        lost = [_Piece(piece.task, piece.deaths + 1) for future, piece in waiting.items() if future not in kept]
        if deadly := [piece.task for piece in lost if piece.deaths > self.retries]:
            raise WorkersDied(f"workers died {self.retries + 1} times with the same work in their hands", deadly)
        return kept | {self._submit(function, file, piece.task): piece for piece in lost}

    def _workers(self) -> ProcessPoolExecutor:
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self.workers, context, _begin_work, (os.getpid(),))
        return self._pool

    def warm(self, function: Callable[[], object]) -> None:
        """Once, in a worker: what it compiles is kept on the disk, where all find it. A worker may die of it."""
        try:
            self._workers().submit(function).result()
        except BrokenProcessPool:
            self.close()

    def close(self) -> None:
        """End all workers at once, whatever they are doing: nobody waits for it any more."""
        if self._pool is not None:
            for process in list((self._pool._processes or {}).values()):
                process.terminate()
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None


@dataclass(frozen=True)
class _Piece(Generic[Task]):
    """A piece of work in the hands of a worker, and how often workers have died with it."""

    task: Task
    deaths: int = 0


def _begin_work(parent: int) -> None:
    """In a new worker: Ctrl-C is for whoever gave the work, and without them there is nothing left to do."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(WATCH_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextlib.contextmanager
def _kept_file(shared: Any) -> Iterator[Path | None]:
    """Put what all pieces share into a file, once."""
    if shared is None:
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "shared"
        path.write_bytes(pickle.dumps(shared))
        yield path


@lru_cache(maxsize=2)
def _kept(path: Path) -> Any:
    return pickle.loads(path.read_bytes())


def _do(function: Work[Task, Found], file: Path | None, task: Task) -> Found:
    try:
        return function(None if file is None else _kept(file), task)
    except Exception as error:
        raise portable(error) from None


def portable(error: Exception) -> Exception:
    """The same error if it can be sent to another process, else one that says what it said."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return WorkFailed(told(error))
    return error


def told(error: BaseException) -> str:
    """What an error is and says; there are some that cannot even be asked."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__
