"""The program of the documents that checks an export finds nothing, and finds what is altered."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from audit.export import export_lines
from audit.numbering import number_events
from tests.cast import Cast
from tests.docs.pages import all_blocks, text_of

TEXT = text_of("docs/howto/verify-the-record.md")


@pytest.fixture
def check() -> Callable[[Path], None]:
    """The function of the document."""
    (program,) = [block.text for block in all_blocks(TEXT) if block.how == "check"]
    names: dict[str, Any] = {}
    exec(program, names)
    found: Callable[[Path], None] = names["check"]
    return found


@pytest.fixture
def export(cast: Cast, tmp_path: Path) -> Path:
    """An export with an answer, a refusal and events without a run."""
    question = cast.ask(cast.run())
    cast.decide(question, cast.rae)
    cast.decide(question, cast.alice)
    number_events()
    path = tmp_path / "acme.jsonl"
    path.write_text("".join(export_lines(cast.tenant.pk)), encoding="utf-8")
    return path


def test_a_true_export_agrees_with_itself(export: Path, check: Callable[[Path], None]) -> None:
    events = [json.loads(line) for line in export.read_text(encoding="utf-8").splitlines()][:-1]

    check(export)

    assert {"interrupt.decided", "command.refused"} <= {event["type"] for event in events}


def test_a_changed_name_or_a_missing_line_shows(
    export: Path, check: Callable[[Path], None]
) -> None:
    lines = export.read_text(encoding="utf-8").splitlines(keepends=True)

    for altered in (lines[:2] + lines[3:], [lines[0].replace("acme", "evil"), *lines[1:]]):
        export.write_text("".join(altered), encoding="utf-8")
        with pytest.raises(AssertionError):
            check(export)
