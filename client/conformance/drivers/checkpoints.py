"""Where frameworks keep their threads: the PostgreSQL database beside the server's own."""

from typing import Any

from langgraph.checkpoint.postgres import PostgresSaver
from psycopg import Connection
from psycopg.rows import dict_row

from conformance.site import Site

_is_set_up: set[str] = set()


def postgres(site: Site) -> tuple[Connection[dict[str, Any]], PostgresSaver]:
    """A connection of one process, to be closed with it, and its checkpointer."""
    connection = Connection.connect(
        site.checkpoints, autocommit=True, prepare_threshold=0, row_factory=dict_row
    )
    saver = PostgresSaver(connection)
    if site.url not in _is_set_up:
        saver.setup()
        _is_set_up.add(site.url)
    return connection, saver
