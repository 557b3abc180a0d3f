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
import re
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba

PACKAGE = Path(__file__).resolve().parents[1]
# Everything compiled stands in these packages, or in the folders of games somebody else wrote.
COMPILED_PACKAGES = ("airenv", "agents")
KEEP_BUILDS = 21 * 24 * 3600  # seconds
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
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "airenv"
    except RuntimeError:  # nobody's home
        return _spare_root()


def _spare_root() -> Path:
    return Path(tempfile.gettempdir()) / f"airenv-{os.getuid() if hasattr(os, 'getuid') else 'cache'}"


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _cache_dir() -> Path:
    """The folder of builds of these sources; in the temporary folder where the usual one cannot be written."""
    folder = _cache_root() / source_hash()
    if not _writable(folder):
        spare = _spare_root() / folder.name
        warnings.warn(f"compiled code cannot be kept in {folder}; it is kept in {spare}", RuntimeWarning, stacklevel=2)
        spare.mkdir(parents=True, exist_ok=True)
        return spare
    os.utime(folder)
    _remove_old_builds(folder)
    return folder


def _remove_old_builds(current: Path) -> None:
    """Builds of other sources that nobody has used for some weeks."""
    for folder in current.parent.iterdir():
        ours = folder.is_dir() and re.fullmatch("[0-9a-f]{16}", folder.name) and folder != current
        if ours and folder.stat().st_mtime < time.time() - KEEP_BUILDS:
            shutil.rmtree(folder, ignore_errors=True)


CACHE_DIR = _cache_dir() if JIT_ON else None


@contextlib.contextmanager
def _cache_lock() -> Iterator[None]:
    if fcntl is None or CACHE_DIR is None:
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
    others = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(CACHE_DIR or "")  # for this function; a user's own functions keep their place
    try:
        compiled = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    finally:
        numba.config.CACHE_DIR = others
    if JIT_ON:
        _lock_saves(compiled._cache._cache_file)
    return compiled


def direct(kernel: Any, *examples: Any) -> Any:
    """The build of a kernel for arguments of these types, to be called without numba's look at the types.

    That look is half of what a call costs. What is no array of that item size is still refused, by a TypeError;
    the rest the caller has to see to.
    """
    if not JIT_ON:
        return kernel
    return kernel.compile(tuple(numba.typeof(example) for example in examples))
