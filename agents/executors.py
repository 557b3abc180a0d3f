"""Where work is done: in this process, in several of this machine or on a Ray cluster; the results are the same.

A piece of work is `function(shared, task)`: a function of a module, so that another process can find it, something
that all pieces share and that is sent once, and what this piece is about. Pieces know nothing of the worker that does
them, and a piece may be done twice when a worker dies: they must not have side effects. Results are handed to the
caller, who alone writes anything down.
"""

from __future__ import annotations

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
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar, get_args

from airenv.core.errors import AirenvError, BadOption

Kind = Literal["inline", "processes", "ray"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Task = TypeVar("Task")
Found = TypeVar("Found")
Work = Callable[[Any, Task], Found]

PIECES_AHEAD = 2  # given to each worker at the most: enough to keep it busy, few enough to stop soon
RETRIES = 5  # of a piece whose worker died each time
WATCH_SECONDS = 1.0  # between a worker's looks at whether anybody still waits for it


class WorkersDied(AirenvError):
    """A piece of work whose worker died every time it was tried."""


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

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._pool: ProcessPoolExecutor | None = None

    def results(
        self, function: Work[Task, Found], tasks: Iterable[Task], shared: Any = None
    ) -> Iterator[tuple[Task, Found]]:
        with tempfile.TemporaryDirectory() as folder:
            file = _keep(shared, Path(folder))
            waiting: dict[Future[Found], Task] = {}
            deaths = 0
            supply = iter(tasks)
            try:
                while True:
                    for task in itertools.islice(supply, self.workers * PIECES_AHEAD - len(waiting)):
                        waiting[self._submit(function, file, task)] = task
                    if not waiting:
                        return
                    for done in wait(waiting, return_when=FIRST_COMPLETED).done:
                        if isinstance(done.exception(), BrokenProcessPool):
                            deaths += 1
                            waiting = self._again(function, file, waiting, deaths)
                            break
                        deaths = 0
                        task = waiting.pop(done)
                        yield task, done.result()
            finally:
                for future in waiting:
                    future.cancel()

    def _submit(self, function: Work[Task, Found], file: Path | None, task: Task) -> Future[Found]:
        try:
            return self._workers().submit(_do, function, file, task)
        except BrokenProcessPool:  # a worker died while nobody looked
            self._forget_workers()
            return self._workers().submit(_do, function, file, task)

    def _again(
        self, function: Work[Task, Found], file: Path | None, waiting: dict[Future[Found], Task], deaths: int
    ) -> dict[Future[Found], Task]:
        """A worker died, which takes the others with it: start new ones and give them all that was not finished."""
        if deaths > RETRIES:
            raise WorkersDied(f"workers died {deaths} times in a row, without finishing anything in between")
        self._forget_workers()
        kept = {future: task for future, task in waiting.items() if future.done() and future.exception() is None}
        lost = [task for future, task in waiting.items() if future not in kept]
        return kept | {self._submit(function, file, task): task for task in lost}

    def _workers(self) -> ProcessPoolExecutor:
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self.workers, context, _begin_work, (os.getpid(),))
        return self._pool

    def _forget_workers(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None

    def warm(self, function: Callable[[], object]) -> None:
        function()  # here: what it compiles is kept on the disk, where all workers find it

    def close(self) -> None:
        self._forget_workers()


def _begin_work(parent: int) -> None:
    """In a new worker: Ctrl-C is for whoever gave the work, and without them there is nothing left to do."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(WATCH_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _keep(shared: Any, folder: Path) -> Path | None:
    """Put what all pieces share into a file, once."""
    if shared is None:
        return None
    path = folder / "shared"
    path.write_bytes(pickle.dumps(shared))
    return path


@lru_cache(maxsize=2)
def _kept(path: Path) -> Any:
    return pickle.loads(path.read_bytes())


def _do(function: Work[Task, Found], file: Path | None, task: Task) -> Found:
    return function(None if file is None else _kept(file), task)
