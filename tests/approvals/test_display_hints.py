"""Display hints: how a file is read, what a pointer finds, and what saving leaves behind."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from approvals.models import DisplayVersion
from approvals.rules.display import Hint, Place, hint_for, place, read_hints
from audit.models import Event
from identity.management.reporting import OPERATOR
from placet.protocol.reading import read_json
from tests.cast import Cast
from tests.docs.pages import all_blocks, text_of

ARGS: Any = {"a": {"b": [10, None]}, "": 1, "x/y": 2, "01": 3, "list": ["only"]}


@pytest.mark.parametrize(
    ("pointer", "found"),
    [
        ("/a/b/0", Place(True, 10)),
        ("/a/b/1", Place(True, None)),
        ("/a/b/2", Place(False)),
        ("/a/b/-", Place(False)),
        ("/list/0", Place(True, "only")),
        ("/list/00", Place(False)),
        ("/list/9999999999999999999999", Place(False)),
        ("/", Place(True, 1)),
        ("/x~1y", Place(True, 2)),
        ("/a/b/0/c", Place(False)),
        ("/missing", Place(False)),
    ],
)
def test_a_pointer_finds_what_stands_there_and_nothing_else(pointer: str, found: Place) -> None:
    assert place(ARGS, pointer) == found


def test_the_first_hint_that_names_a_tool_holds() -> None:
    hints = (Hint("pay_vendor", ("/a",)), Hint("pay_*", ("/b",)), Hint("*", ("/c",)))

    assert [hint_for(hints, tool) for tool in ("pay_vendor", "pay_", "mail")] == list(hints)
    assert hint_for(hints[:2], "mail") is None


@pytest.mark.parametrize(
    ("document", "where"),
    [
        ({}, [""]),
        (["x"], ["/0"]),
        ([{"tool": "t", "show": ["/a"], "hide": []}], ["/0/hide"]),
        ([{"show": ["/a"]}], ["/0/tool"]),
        ([{"tool": "a b", "show": ["/a"]}], ["/0/tool"]),
        ([{"tool": "t", "show": ["/a"]}, {"tool": "t", "show": ["/b"]}], ["/1/tool"]),
        ([{"tool": "t"}], ["/0/show"]),
        ([{"tool": "t", "show": []}], ["/0/show"]),
        ([{"tool": "t", "show": [f"/{number}x" for number in range(7)]}], ["/0/show"]),
        ([{"tool": "t", "show": ["", "a", 1, None]}], [f"/0/show/{at}" for at in range(4)]),
        ([{"tool": "t", "show": ["/a", "/a"]}], ["/0/show/1"]),
        ([{"tool": "t", "show": ["/-1", "/01", "/ 1", "/+1"]}], [f"/0/show/{n}" for n in range(4)]),
        ([{"tool": "t", "show": ["/ -1", "/\t+1", "/a/\n-2"]}], [f"/0/show/{n}" for n in range(3)]),
        ([{"tool": "t", "show": ["/" + "x" * 500]}], ["/0/show/0"]),
    ],
)
def test_a_file_that_is_not_understood_whole_is_refused(document: Any, where: list[str]) -> None:
    assert [fault.pointer for fault in read_hints(document)[1]] == where


def test_the_file_that_the_documents_show_is_taken() -> None:
    text = text_of("docs/howto/choose-what-the-inbox-shows.md")
    (block,) = [block.text for block in all_blocks(text) if block.how == "display"]

    hints, faults = read_hints(read_json(block.encode()))

    assert faults == ()
    assert hints[0] == Hint("pay_vendor", ("/amount_paise", "/vendor_id", "/invoice"))


@pytest.mark.django_db
def test_saving_makes_a_version_and_an_event_of_the_tenant(cast: Cast, tmp_path: Path) -> None:
    file = tmp_path / "display.json"
    said = StringIO()
    for show in ("/a", "/b"):
        file.write_text(json.dumps([{"tool": "t", "show": [show]}]))
        call_command("display_set", file, "--tenant", "acme", "--json", stdout=said)

    assert said.getvalue().splitlines()[1] == '{"tenant": "acme", "version": 2}'
    assert DisplayVersion.hints_of(cast.tenant.pk) == (Hint("t", ("/b",)),)
    assert DisplayVersion.hints_of(cast.other_tenant.pk) == ()
    events = Event.objects.filter(type="display.saved")
    saved = DisplayVersion.objects.order_by("version")
    assert {event.tenant_id for event in events} == {cast.tenant.pk}
    assert [event.content_sha256 for event in events.order_by("run_seq")] == [
        version.content_digest() for version in saved
    ]


@pytest.mark.django_db
def test_a_refused_file_saves_nothing_and_says_where(cast: Cast, tmp_path: Path) -> None:
    file = tmp_path / "display.json"
    file.write_text('[{"tool": "t", "show": ["amount"]}]')

    with pytest.raises(CommandError, match="/0/show/0: This is no JSON Pointer"):
        call_command("display_set", file, "--tenant", "acme")

    assert not DisplayVersion.objects.exists()


@pytest.mark.django_db
def test_altered_hints_are_found_by_the_verifier(cast: Cast) -> None:
    saved = DisplayVersion.set(cast.tenant, [{"tool": "t", "show": ["/a"]}], by=OPERATOR)
    assert isinstance(saved, DisplayVersion)
    call_command("audit_verify", "--tenant", "acme", stdout=StringIO())
    digest = saved.content_digest()

    saved.text = "[]"

    assert saved.content_digest() != digest
