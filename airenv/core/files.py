"""Files that are whole or not there: written to a temporary name, synced, renamed."""

from __future__ import annotations

import os
import threading
from pathlib import Path


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file whole or not at all, its folder too if there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str) -> None:
    """The same for a text, in UTF-8."""
    write_bytes(path, text.encode("utf-8"))
