"""The SQL that one command really sends, as a script for pgbench.

Each id of the recorded command becomes one that is computed for each transaction, so every
transaction works on rows of its own, which `bench.copies` has made beforehand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db import connection

DIGITS = 26
BASE = 10**9
COUNT = f"\\set n :n + 1\n\\set k {BASE} + :first + :client_id * :each + :n\n"


@contextmanager
def statements() -> Iterator[list[str]]:
    """Collect the statements sent inside the block, with their values in them."""
    sent: list[str] = []

    def note(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        sent.append(context["cursor"].cursor.mogrify(sql, params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        yield sent


@dataclass(frozen=True, slots=True)
class Recording:
    """One transaction's statements, and the ids in them that every repetition has anew."""

    sent: tuple[str, ...]
    prefixes: Mapping[str, str]

    @classmethod
    def of(cls, command: Callable[[], object]) -> Recording:
        """Run a command once, and take every id that it names for one to be replaced."""
        with statements() as sent:
            command()
        found = {match for text in sent for match in _ID.findall(text)}
        return cls(tuple(sent), {each: each[:4] for each in found})

    def script(self, path: Path, *, is_transaction: bool = True) -> Path:
        """Write the script; the statements are one transaction unless told otherwise."""
        # What the command sent in one round trip stays in one.
        steps = [self._anew(text).strip().replace(";\n", " \\;\n") + ";" for text in self.sent]
        if is_transaction:
            steps = ["BEGIN;", *steps, "COMMIT;"]
        path.write_text(COUNT + "\n".join(steps) + "\n")
        path.chmod(0o644)
        return path

    def _anew(self, text: str) -> str:
        for found, prefix in self.prefixes.items():
            text = text.replace(found, f"{prefix}{'0' * (DIGITS - len(str(BASE)))}:k")
        return text


_ID = re.compile(r"\b(?:run|int|dec)_[0-9a-z]{26}\b")
