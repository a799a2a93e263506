"""Where the asynchronous adapters keep their threads: a SQLite file for each."""

from pathlib import Path
from tempfile import TemporaryDirectory

from placet.pauses import SQLitePauses

_FOLDER = TemporaryDirectory(prefix="placet-pauses-")


def pauses(thread: str) -> SQLitePauses:
    """The thread's file, which every process that opens the thread shares."""
    return SQLitePauses(Path(_FOLDER.name) / f"{thread}.sqlite")
