"""`airenv check`: the conformance suite on one game, with a line a law."""

from __future__ import annotations

import time
from collections.abc import Sequence
from importlib.util import find_spec

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

import airenv
from airenv.core.errors import BadOption, unknown
from experiments.conformance import CHECKS, Check


def show_laws(console: Console) -> None:
    table = Table("group", "law", "says")
    for check in CHECKS:
        table.add_row(check.group, check.name, check.says)
    console.print(table)


def chosen_checks(only: Sequence[str] | None) -> list[Check]:
    names = [check.name for check in CHECKS]
    for name in only or []:
        if name not in names:
            raise unknown("law", name, names)
    return [check for check in CHECKS if not only or check.name in only]


def run(console: Console, name: str, players: int | None, only: Sequence[str] | None) -> bool:
    """Run the laws at every number of players; says for each whether it holds, and what broke it."""
    if not __debug__:
        raise BadOption("the laws are assertions, and python -O (PYTHONOPTIMIZE) switches those off: run without it")
    checks = chosen_checks(only)
    counts = airenv.facts(name).players
    if players is not None and players not in counts:
        raise BadOption(f"{name} is for {', '.join(map(str, counts))} players, not {players}")
    tables = counts if players is None else (players,)
    broken = 0
    checks = [check for check in checks if can_run(console, check)]
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task(name, total=len(checks) * len(tables))
        for check in checks:
            start = time.perf_counter()
            faults = []
            for number in tables:
                progress.update(bar, description=f"{check.name}, {number} players")
                faults += attempt(check, name, number)
                progress.advance(bar)
            broken += bool(faults)
            tell(console, check, faults, time.perf_counter() - start)
    verdict = "every law holds" if not broken else f"{broken} of {len(checks)} laws are broken"
    console.print(f"{name}, {', '.join(map(str, tables))} players: {verdict}", style="red" if broken else "green")
    return not broken


def can_run(console: Console, check: Check) -> bool:
    """Whether what a law needs is installed; says so if it is not."""
    if check.needs and find_spec(check.needs) is None:
        console.print(f"not run {check.group:12s} {check.says} Install airenv[learn] to run it.", soft_wrap=True)
        return False
    return True


def attempt(check: Check, name: str, players: int) -> list[str]:
    """What is wrong with a law at one number of players: nothing, or one message."""
    try:
        check.law(name, players)
    except Exception as error:  # whatever a game under test raises is a finding, not a crash of the suite
        return [f"{players} players: {type(error).__name__}: {error}"]
    return []


def tell(console: Console, check: Check, faults: list[str], seconds: float) -> None:
    console.print(
        Text.assemble(
            ("broken ", "red") if faults else ("holds  ", "green"),
            f"{check.group:12s} {check.says} ",
            (f"({check.name}, {seconds:.1f} s)", "dim"),
        ),
        soft_wrap=True,
    )
    for fault in faults:
        console.print(Text(f"       {fault[:1500]}", style="red"), soft_wrap=True)
