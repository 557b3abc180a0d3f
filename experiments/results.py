"""Results: one SQLite file, a row a game, written by whoever runs the games and by nobody else.

A row is there or it is not, whenever the writer is killed; a game played twice is one row; several runs may write into
one file at the same time. `members` says which games belong to which run: a game that two runs have in common is
played once.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from airenv.core.errors import AirenvError
from experiments.units import Row

FORMAT = 1
PATIENCE = 60.0  # seconds to wait for another writer
SCHEMA = """
CREATE TABLE IF NOT EXISTS games (
    unit TEXT PRIMARY KEY,        -- hash of all that decides how the game goes
    game TEXT NOT NULL,
    players INTEGER NOT NULL,
    options TEXT NOT NULL,        -- JSON
    agents TEXT NOT NULL,         -- JSON, by seat, as all lists below
    seed INTEGER NOT NULL,        -- of the deal
    scores TEXT NOT NULL,
    ranks TEXT NOT NULL,          -- 1 is best, ties share the mean of their places
    errors TEXT NOT NULL,         -- "" or crash, illegal, timeout
    message TEXT NOT NULL,        -- of the error, if there was one
    decisions TEXT NOT NULL,
    milliseconds TEXT NOT NULL,
    digest TEXT NOT NULL,         -- of the state the game ended in
    replay TEXT NOT NULL,         -- JSON
    repeatable INTEGER NOT NULL   -- whether the same unit must end in the same state
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS members (run TEXT, unit TEXT, PRIMARY KEY (run, unit)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS alarms (unit TEXT, digest TEXT, other TEXT);
"""
COLUMNS = (
    *("unit", "game", "players", "options", "agents", "seed", "scores", "ranks", "errors", "message"),
    *("decisions", "milliseconds", "digest", "replay", "repeatable"),
)
MOST_PLACES = 500  # in one question to the database
LISTS = {"agents", "scores", "ranks", "errors", "decisions", "milliseconds"}


class BadResults(AirenvError):
    """A file that holds no results, or results that cannot be used."""


class Results:
    """An open file of results."""

    def __init__(self, path: Path, create: bool = True) -> None:
        """Open a file to write into it; without `create`, only to read what is there."""
        self.path = path
        if not create and not path.exists():
            raise BadResults(f"there are no results {path}")
        try:
            if create:
                path.parent.mkdir(parents=True, exist_ok=True)
                self._db = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
                self._db.execute("PRAGMA journal_mode=WAL")
                self._db.execute("PRAGMA synchronous=NORMAL")
                self._check_format()
                self._db.executescript(f"BEGIN IMMEDIATE;{SCHEMA}PRAGMA user_version={FORMAT};COMMIT;")
            else:
                address = f"{path.resolve().as_uri()}?mode=ro"
                self._db = sqlite3.connect(address, timeout=PATIENCE, isolation_level=None, uri=True)
                self._check_format()
        except (sqlite3.DatabaseError, OSError) as error:
            raise BadResults(f"{path} cannot be used for results: {error}") from None

    def _check_format(self) -> None:
        found = self._db.execute("PRAGMA user_version").fetchone()[0]
        if found not in (0, FORMAT):
            raise BadResults(f"{self.path} has format {found}; this is format {FORMAT}")

    def __enter__(self) -> Results:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._db.close()

    def add(self, run: str, rows: Iterable[Row]) -> int:
        """Keep some games, all or none of them; returns how many were new."""
        rows = list(rows)
        places = ", ".join("?" * len(COLUMNS))
        self._db.execute("BEGIN IMMEDIATE")
        try:
            before = self._db.total_changes
            for row in rows:
                self._raise_alarm(row)
            self._db.executemany(
                f"INSERT INTO games ({', '.join(COLUMNS)}) VALUES ({places}) ON CONFLICT DO NOTHING",
                [_as_columns(row) for row in rows],
            )
            added = self._db.total_changes - before
            self._join(run, [row.unit for row in rows])
            self._db.execute("COMMIT")
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        return added

    def begin(self, run: str, units: Collection[str]) -> list[Row]:
        """Make a run the owner of these games and no others; returns those that were played already."""
        known = self.known(units)
        self._db.execute("BEGIN IMMEDIATE")
        members = {unit for (unit,) in self._db.execute("SELECT unit FROM members WHERE run = ?", (run,))}
        gone = [(run, unit) for unit in members - set(units)]
        self._db.executemany("DELETE FROM members WHERE run = ? AND unit = ?", gone)
        self._join(run, known)
        self._db.execute("COMMIT")
        return list(self.rows(run, replays=False))

    def join(self, run: str, units: Collection[str]) -> list[Row]:
        """Count games that are there already among those of a run, and return them."""
        self._db.execute("BEGIN IMMEDIATE")
        self._join(run, units)
        self._db.execute("COMMIT")
        return [row for part in batched(units, MOST_PLACES) for row in self._some(part)]

    def _some(self, units: tuple[str, ...]) -> list[Row]:
        query = f"SELECT {', '.join(COLUMNS)} FROM games WHERE unit IN ({', '.join('?' * len(units))})"
        return [_as_row(dict(zip(COLUMNS, values, strict=True))) for values in self._db.execute(query, units)]

    def _join(self, run: str, units: Iterable[str]) -> None:
        self._db.executemany("INSERT OR IGNORE INTO members VALUES (?, ?)", [(run, unit) for unit in units])

    def _raise_alarm(self, row: Row) -> None:
        """The same unit must end in the same state: note it if it did not."""
        found = self._db.execute("SELECT digest FROM games WHERE unit = ? AND repeatable", (row.unit,)).fetchone()
        if found and row.repeatable and found[0] != row.digest:
            self._db.execute("INSERT INTO alarms VALUES (?, ?, ?)", (row.unit, found[0], row.digest))

    def alarms(self) -> int:
        """How often a game that must repeat exactly did not."""
        return int(self._db.execute("SELECT count(*) FROM alarms").fetchone()[0])

    def known(self, units: Iterable[str]) -> set[str]:
        """Those of some units that have been played."""
        found: set[str] = set()
        for part in batched(units, MOST_PLACES):
            query = f"SELECT unit FROM games WHERE unit IN ({', '.join('?' * len(part))})"
            found |= {unit for (unit,) in self._db.execute(query, part)}
        return found

    def rows(self, run: str | None = None, replays: bool = True) -> Iterator[Row]:
        """The games of a run, or all there are, in the order of their ids; replays are most of their size."""
        columns = [name if replays or name != "replay" else "''" for name in COLUMNS]
        whose = "" if run is None else "JOIN members USING (unit) WHERE run = ?"
        query = f"SELECT {', '.join(columns)} FROM games {whose} ORDER BY unit"
        for values in self._db.execute(query, () if run is None else (run,)):
            yield _as_row(dict(zip(COLUMNS, values, strict=True)))


def batched(items: Iterable[str], size: int) -> Iterator[tuple[str, ...]]:
    supply = iter(items)
    while part := tuple(islice(supply, size)):
        yield part


def _as_columns(row: Row) -> list[Any]:
    values = {**vars(row), "players": row.players, "seed": row.deal, "options": json.dumps(row.options, sort_keys=True)}
    values |= {name: json.dumps(values[name]) for name in LISTS}
    return [values[name] for name in COLUMNS]


def _as_row(values: dict[str, Any]) -> Row:
    values |= {name: tuple(json.loads(values[name])) for name in LISTS}
    del values["players"]
    values |= {"deal": values.pop("seed"), "options": json.loads(values["options"])}
    return Row(**{**values, "repeatable": bool(values["repeatable"])})
