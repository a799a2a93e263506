"""Where LangGraph keeps threads: a PostgreSQL database beside the server's, or a SQLite file."""

import os
import sqlite3
from collections.abc import Callable
from typing import Any, TypeAlias

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from psycopg import Connection
from psycopg.rows import dict_row

from conformance.site import Site

Store: TypeAlias = Callable[[Site], tuple[Any, BaseCheckpointSaver[Any]]]
"""Gives a connection of one process, to be closed with it, and its checkpointer."""

_is_set_up: set[str] = set()


def postgres(site: Site) -> tuple[Connection[dict[str, Any]], PostgresSaver]:
    """In PostgreSQL."""
    connection = Connection.connect(
        site.checkpoints, autocommit=True, prepare_threshold=0, row_factory=dict_row
    )
    saver = PostgresSaver(connection)
    if site.url not in _is_set_up:
        connection.execute("SELECT pg_advisory_lock(1)")  # other workers do the same
        saver.setup()
        connection.execute("SELECT pg_advisory_unlock(1)")
        _is_set_up.add(site.url)
    return connection, saver


def sqlite(site: Site) -> tuple[sqlite3.Connection, SqliteSaver]:
    """In a file that all agents of this process share."""
    file = site.folder / f"threads-{os.getpid()}.sqlite"
    connection = sqlite3.connect(file, check_same_thread=False)
    return connection, SqliteSaver(connection)
