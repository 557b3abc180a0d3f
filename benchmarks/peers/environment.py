"""The environment the peers run in: made once, from exact pins, apart from the project's own."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

REQUIREMENTS = Path(__file__).with_name("requirements.txt")
ENVIRONMENT_NAME = ".venv-peers"
STAMP_NAME = "pins.sha256"
INSTALL_TIMEOUT_SECONDS = 900
ERROR_LINES_KEPT = 12


class PeersUnavailableError(RuntimeError):
    """The peers could not be installed here; the message says which step failed and how."""


def ensure(root: Path) -> Path:
    """Return the peers' python under `root`, making its environment first if the pins are not yet in it."""
    environment = Path(root) / ENVIRONMENT_NAME
    python = _python_of(environment)
    stamp = environment / STAMP_NAME
    wanted = _wanted_stamp()
    if python.exists() and stamp.exists() and stamp.read_text().strip() == wanted:
        return python

    # Starting over leaves no package of earlier pins behind, nor a half-finished install.
    shutil.rmtree(environment, ignore_errors=True)
    _run([sys.executable, "-m", "venv", str(environment)], "making the peers' environment")
    (environment / ".gitignore").write_text("*\n")
    # The pins are complete, so dependencies need no resolving; `pip check` then confirms that they are.
    pip = [str(python), "-m", "pip", "--disable-pip-version-check"]
    _run([*pip, "install", "--quiet", "--no-deps", "-r", str(REQUIREMENTS)], "installing the peers' pins")
    _run([*pip, "check"], "checking the peers' pins against each other")
    stamp.write_text(wanted + "\n")
    return python


def _python_of(environment: Path) -> Path:
    return environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _wanted_stamp() -> str:
    """Pins and interpreter together: compiled wheels do not outlive a change of python version."""
    digest = hashlib.sha256(REQUIREMENTS.read_bytes())
    digest.update(f"python {sys.version_info.major}.{sys.version_info.minor}".encode())
    return digest.hexdigest()


def _run(command: list[str], purpose: str) -> None:
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=INSTALL_TIMEOUT_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PeersUnavailableError(f"{purpose} failed: {error}") from error
    if done.returncode != 0:
        raise PeersUnavailableError(f"{purpose} failed (exit {done.returncode}):\n{_essence(done)}")


def _essence(done: subprocess.CompletedProcess[str]) -> str:
    """The lines that say what went wrong: pip's warnings can be many and would push them out."""
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    telling = [line for line in lines if not line.startswith("WARNING")]
    return "\n".join((telling or lines)[-ERROR_LINES_KEPT:])


if __name__ == "__main__":
    try:
        print(ensure(Path(__file__).resolve().parents[2]))
    except PeersUnavailableError as problem:
        sys.exit(str(problem))
