"""Work on a Ray cluster: this machine's own, started for the occasion, or one that is there already."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from agents.executors import PIECES_AHEAD, RETRIES, Found, Task, Work, WorkersDied, available_cores, portable
from airenv.core.errors import BadOption


class RayCluster:
    """Workers of a Ray cluster. Ray itself gives a piece to another worker when one dies."""

    def __init__(self, workers: int | None, address: str | None) -> None:
        try:
            import ray
        except ImportError:
            raise BadOption("executor ray needs Ray: pip install 'airenv[ray]'") from None
        self._ray = ray
        self._own = not ray.is_initialized()
        if self._own:
            _connect(ray, workers, address)
        self.workers = workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
        self._do = ray.remote(max_retries=RETRIES, num_cpus=1)(_do)

    def results(
        self, function: Work[Task, Found], tasks: Iterable[Task], shared: Any = None
    ) -> Iterator[tuple[Task, Found]]:
        kept = self._ray.put(shared)  # once: every node fetches it once and all its workers read the same copy
        waiting: dict[Any, Task] = {}
        supply = iter(tasks)
        try:
            while True:
                for task in itertools.islice(supply, self.workers * PIECES_AHEAD - len(waiting)):
                    waiting[self._do.remote(function, kept, task)] = task
                if not waiting:
                    return
                for done in self._ray.wait(list(waiting), num_returns=1)[0]:
                    task = waiting.pop(done)
                    yield task, self._result(done, task)
        finally:
            for reference in waiting:
                self._ray.cancel(reference, force=False)

    def _result(self, reference: Any, task: Any) -> Any:
        try:
            return self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except self._ray.exceptions.WorkerCrashedError as error:
            raise WorkersDied(f"the workers that tried a piece of work died, {RETRIES + 1} times", [task]) from error

    def warm(self, function: Callable[[], object]) -> None:
        """Once on every node: workers of a node share what is compiled there. A worker may die of it."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        nodes = [node["NodeID"] for node in self._ray.nodes() if node["Alive"]]
        places = [NodeAffinitySchedulingStrategy(node, soft=False) for node in nodes]
        task = self._ray.remote(max_retries=0)(_call)
        for done in [task.options(scheduling_strategy=place).remote(function) for place in places]:
            with contextlib.suppress(self._ray.exceptions.WorkerCrashedError):
                self._ray.get(done)

    def close(self) -> None:
        if self._own:
            self._ray.shutdown()


def _connect(ray: Any, workers: int | None, address: str | None) -> None:
    """Join the cluster at an address ("auto": the one of this machine); without one, start a small one here."""
    quiet = {"log_to_driver": False, "logging_level": "error"}
    try:
        if address is None:
            ray.init(num_cpus=workers or available_cores(), include_dashboard=False, **quiet)
        else:
            ray.init(address=address, **quiet)
    except (ConnectionError, ValueError) as error:
        raise BadOption(f"no Ray cluster at {address!r}: {error}") from None


def _do(function: Work[Task, Found], shared: Any, task: Task) -> Found:
    try:
        return function(shared, task)
    except Exception as error:
        raise portable(error) from None


def _call(function: Callable[[], object]) -> None:
    function()
