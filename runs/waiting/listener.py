"""Hears wake-ups: one connection that listens, and comes back when it is lost."""

import asyncio
import random
from collections.abc import Callable

import psycopg
import structlog
from psycopg import sql

from runs.waiting.connecting import CHANNEL, connection_parameters

FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 5.0

log = structlog.get_logger()


class Listener:
    """Tells the ids of each wake-up, and of each gap in which some may have been missed."""

    def __init__(self, *, on_ids: Callable[[set[str]], None], on_gap: Callable[[], None]) -> None:
        self._on_ids = on_ids
        self._on_gap = on_gap
        self._pause_s = FIRST_PAUSE_S

    async def run(self) -> None:
        """Listen until cancelled; a lost connection is made again, with growing pauses."""
        while True:
            try:
                await self._listen()
            except (psycopg.Error, OSError) as error:
                log.warning("listener.lost", error=type(error).__name__)
            await asyncio.sleep(self._pause_s * random.uniform(0.5, 1.0))
            self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)

    async def _listen(self) -> None:
        connection = await psycopg.AsyncConnection.connect(**connection_parameters())
        try:
            await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(CHANNEL)))
            self._pause_s = FIRST_PAUSE_S
            self._on_gap()  # only now: whatever is committed later is heard
            async for notify in connection.notifies():
                self._on_ids(set(notify.payload.split(",")))
        finally:
            await connection.close()
