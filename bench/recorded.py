"""The SQL that one command really sends, as a script for pgbench.

Each id of the recorded command becomes one that is computed for each transaction, so every
transaction works on rows of its own, which `bench.copies` has made beforehand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db import connection

DIGITS = 26
BASE = 10**9
COUNT = f"\\set n :n + 1\n\\set k {BASE} + :first + :client_id * :each + :n\n"

_ID = re.compile(r"\b(run|int|dec|act)_[0-9a-z]{26}\b")


@dataclass(frozen=True, slots=True)
class Sent:
    """A statement with its values in it, and whether it was part of a transaction block."""

    sql: str
    is_in_block: bool


@contextmanager
def statements() -> Iterator[list[Sent]]:
    """Collect what this thread sends to the database inside the block."""
    sent: list[Sent] = []

    def note(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        text = context["cursor"].cursor.mogrify(sql, params)
        sent.append(Sent(text, context["connection"].in_atomic_block))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        yield sent


def recorded(command: Callable[[], object], script: Path) -> Path:
    """Run a command once, and write what it sends as a script of pgbench."""
    with statements() as sent:
        command()
    script.write_text(COUNT + "\n".join(_steps(sent)) + "\n")
    script.chmod(0o644)
    return script


def _steps(sent: list[Sent]) -> Iterator[str]:
    is_in_block = False
    for each in sent:
        if each.is_in_block != is_in_block:
            yield "BEGIN;" if each.is_in_block else "COMMIT;"
        is_in_block = each.is_in_block
        # What was sent in one round trip stays in one.
        yield _with_computed_ids(each.sql).strip().replace(";\n", " \\;\n") + ";"
    if is_in_block:
        yield "COMMIT;"


def _with_computed_ids(sql: str) -> str:
    zeros = "0" * (DIGITS - len(str(BASE)))
    return _ID.sub(lambda found: f"{found[1]}_{zeros}:k", sql)


def computed_id(prefix: str, number: int) -> str:
    """The id that a script computes for this transaction, counted over all clients."""
    return f"{prefix}_{BASE + number:0{DIGITS}}"
