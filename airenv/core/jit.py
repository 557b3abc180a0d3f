"""The one jit decorator.

numba's own cache looks at the file of the function it compiles, not at the functions that one calls:
after a change of rules it would go on running the old ones. So the cache folder is keyed by a hash of
all sources that may be compiled. Within it, numba numbers a function's builds 1, 2, 3 ... by reading
an index and writing it back, which two processes can do at the same time; a lock round each save
keeps a build from being stored under another build's number.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba

PACKAGE = Path(__file__).resolve().parents[1]
# Everything compiled stands in these packages, or in the folders of games somebody else wrote.
COMPILED_PACKAGES = ("airenv", "agents")
JIT_ON = not numba.config.DISABLE_JIT

try:
    import fcntl
except ImportError:  # not POSIX: the cache still works, without the lock between processes
    fcntl = None  # type: ignore[assignment]


def source_folders() -> list[Path]:
    """The folders whose sources can end up in compiled code."""
    own = [PACKAGE.parent / name for name in COMPILED_PACKAGES]
    extra = [Path(p) for p in os.environ.get("AIRENV_GAMES", "").split(os.pathsep) if p]
    return [folder for folder in own + extra if folder.is_dir()]


def source_hash() -> str:
    """A hash of every source file that can end up in compiled code, and of the flags that change a build."""
    digest = hashlib.sha256(f"{numba.__version__} bounds={numba.config.BOUNDSCHECK}".encode())
    for folder in source_folders():
        for path in sorted(folder.rglob("*.py")):
            if not path.name.startswith("test_"):
                digest.update(path.relative_to(folder).as_posix().encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _cache_root() -> Path:
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "airenv"


CACHE_DIR = _cache_root() / source_hash()
numba.config.CACHE_DIR = str(CACHE_DIR)


@contextlib.contextmanager
def _cache_lock() -> Iterator[None]:
    if fcntl is None:
        yield
        return
    CACHE_DIR.mkdir(parents=True, exist_ok=True)
    with open(CACHE_DIR / ".lock", "w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _lock_saves(cache_file: Any) -> None:
    save = cache_file.save

    def locked_save(key: Any, data: Any) -> None:
        with _cache_lock():
            save(key, data)

    cache_file.save = locked_save


def jit(function: Callable[..., Any]) -> Any:
    """Compile on first use, without the GIL, cached on disk; the plain function when NUMBA_DISABLE_JIT=1."""
    compiled = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    if JIT_ON:
        _lock_saves(compiled._cache._cache_file)
    return compiled


def direct(kernel: Any, *examples: Any) -> Any:
    """The build of a kernel for arguments of these types, to be called without numba's look at the types.

    That look is half of what a call costs. Arguments of another type are still refused, by a TypeError.
    """
    if not JIT_ON:
        return kernel
    return kernel.compile(tuple(numba.typeof(example) for example in examples))
