"""Where an agent that waits for people is kept meanwhile, so that any process can go on with it.

What is kept is trusted as the program itself is: keep it where only the program can write. It
never lets anything run: what people decided is read from the server each time.
"""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Protocol

from placet.errors import PlacetError


class NothingPaused(PlacetError):
    """The run has no paused agent here: it never paused, or somebody else went on to its end."""


class Pauses(Protocol):
    """A store of paused agents, one for a run."""

    async def load(self, run_id: str) -> str | None:
        """What was kept for the run, or None."""

    async def save(self, run_id: str, state: str) -> None:
        """Keep it instead of what was kept before; durable when this returns."""

    async def drop(self, run_id: str) -> None:
        """Keep nothing more for the run."""


class SQLitePauses:
    """Paused agents in a SQLite file, which several processes of one machine may share."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._path.touch(mode=0o600)  # arguments are in it
        self._do("CREATE TABLE IF NOT EXISTS pause (run_id TEXT PRIMARY KEY, state TEXT NOT NULL)")

    async def load(self, run_id: str) -> str | None:
        """What was kept for the run, or None."""
        rows = await self._aside("SELECT state FROM pause WHERE run_id = ?", run_id)
        return str(rows[0][0]) if rows else None

    async def save(self, run_id: str, state: str) -> None:
        """Keep it instead of what was kept before; durable when this returns."""
        await self._aside("INSERT OR REPLACE INTO pause VALUES (?, ?)", run_id, state)

    async def drop(self, run_id: str) -> None:
        """Keep nothing more for the run."""
        await self._aside("DELETE FROM pause WHERE run_id = ?", run_id)

    async def _aside(self, statement: str, *values: str) -> list[tuple[object, ...]]:
        return await asyncio.to_thread(self._do, statement, *values)

    def _do(self, statement: str, *values: str) -> list[tuple[object, ...]]:
        with closing(sqlite3.connect(self._path, timeout=30)) as connection, connection:
            return connection.execute(statement, values).fetchall()
