"""The commands by which an operator exports and verifies the record."""

import json
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from django.core.management import CommandError, call_command

from audit import subjects as registry
from audit.chain import SequenceDigest, event_hash
from audit.export import ExportedHead, read_head
from audit.models import Event, Numbered
from placet.protocol.canonical import canonical

if TYPE_CHECKING:
    from tests.audit.conftest import History, Tamper

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def told(history: "History", monkeypatch: pytest.MonkeyPatch) -> "History":
    subjects = history.subjects()
    for name in ("tenants", "run_heads", "contents"):
        monkeypatch.setattr(registry.SUBJECTS, name, getattr(subjects, name))
    history.tell("run_a", history.draft(detail={"kind": "approve"}), history.draft(tool="pay"))
    history.tell("run_x", tenant_id=history.other_tenant_id)
    return history


def _run(*args: str) -> str:
    out = StringIO()
    call_command(*args, stdout=out)
    return out.getvalue()


def _refused(*args: str) -> tuple[str, str, int]:
    out = StringIO()
    with pytest.raises(CommandError) as error:
        call_command(*args, stdout=out)
    return out.getvalue(), str(error.value), error.value.returncode


def test_the_export_has_every_committed_event_and_ends_with_the_head() -> None:
    *events, head = map(json.loads, _run("audit_export", "--tenant", "acme").splitlines())

    digest = SequenceDigest()
    for event in Event.objects.filter(run_id="run_a").order_by("run_seq"):
        digest.add(event.hash)
    assert head["head"].pop("at").endswith("Z")
    assert head == {"head": {"tenant": 7001, "n": 2, "events_sha256": digest.hex()}}
    assert events[0] == {
        "n": 1,
        "run_seq": 1,
        "type": "run.state_changed",
        "at": "2031-05-04T12:00:00.000250Z",
        "actor": {"kind": "user", "id": "101", "name": "Alice"},
        "run_id": "run_a",
        "interrupt_id": None,
        "action_id": None,
        "from": None,
        "to": None,
        "revision": None,
        "digest": None,
        "refused": None,
        "tenant_id": 7001,
        "agent_id": None,
        "tool": None,
        "content_sha256": None,
        "detail": {"kind": "approve"},
        "previous_hash": "",
        "hash": Event.objects.get(run_id="run_a", run_seq=1).hash,
    }


def test_hashes_can_be_computed_anew_from_an_exported_line() -> None:
    *lines, _head = map(json.loads, _run("audit_export", "--tenant", "acme").splitlines())

    assert [event_hash(_members(line)) for line in lines] == [line["hash"] for line in lines]


def _members(line: dict[str, Any]) -> dict[str, Any]:
    actor, refused = line["actor"], line["refused"]
    same = ("tenant_id", "run_id", "run_seq", "type", "at", "interrupt_id", "action_id")
    rest = ("agent_id", "tool", "revision", "digest", "content_sha256", "previous_hash")
    return {name: line[name] for name in same + rest} | {
        "actor_kind": actor["kind"],
        "actor_id": actor["id"],
        "actor_name": actor["name"],
        "from_state": line["from"],
        "to_state": line["to"],
        "code": refused and refused["code"],
        "refused": refused and canonical(refused),
        "detail": canonical(line["detail"]),
    }


def test_an_intact_record_is_said_to_be_intact() -> None:
    assert _run("audit_verify") == "acme: intact, 2 events\nglobex: intact, 1 events\n"
    assert json.loads(_run("audit_verify", "--tenant", "acme", "--json")) == {
        "ok": True,
        "tenants": [{"tenant": "acme", "ok": True, "events": 2, "seal": None, "first_bad": None}],
    }


def test_an_altered_record_is_status_1_and_names_the_first_bad_place(tamper: "Tamper") -> None:
    event = Event.objects.get(run_id="run_a", run_seq=2)
    with tamper():
        Event.objects.filter(pk=event.pk).update(actor_name="Mallory")

    told, error, status = _refused("audit_verify")
    assert (error, status) == ("The record was altered.", 1)
    assert told.splitlines() == [
        f"acme: ALTERED at run run_a, event 2, event id {event.id}:"
        " the event is not the one that was recorded",
        "globex: intact, 1 events",
    ]

    told, _, status = _refused("audit_verify", "--json", "--tenant", "acme")
    assert status == 1
    assert json.loads(told)["tenants"][0]["first_bad"] == {
        "flaw": "hash",
        "sentence": "the event is not the one that was recorded",
        "tenant_id": 7001,
        "run_id": "run_a",
        "run_seq": 2,
        "event_id": event.id,
        "n": None,
    }


def test_the_exported_head_finds_a_record_that_was_wiped_out(
    told: "History", tamper: "Tamper", tmp_path: Path
) -> None:
    whole, only_head = tmp_path / "whole.jsonl", tmp_path / "head.json"
    whole.write_text(_run("audit_export", "--tenant", "acme"))
    only_head.write_text(whole.read_text().splitlines()[-1])
    assert _run("audit_verify", "--head", str(whole)).startswith("acme: intact, 2 events\n")

    told.heads.clear()
    with tamper():
        Numbered.objects.all().delete()
        Event.objects.all().delete()

    for head in (whole, only_head):
        said, _, status = _refused("audit_verify", "--tenant", "acme", "--head", str(head))
        assert status == 1
        assert said == "acme: ALTERED at number 1: the record ends before the exported head\n"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["audit_verify", "--tenant", "nobody"], "There is no tenant nobody."),
        (["audit_export", "--tenant", "nobody"], "There is no tenant nobody."),
    ],
)
def test_a_tenant_that_does_not_exist_is_status_2(args: list[str], message: str) -> None:
    assert _refused(*args) == ("", message, 2)


def test_a_head_of_another_tenant_or_no_head_is_status_2(tmp_path: Path) -> None:
    other, broken = tmp_path / "other", tmp_path / "broken"
    other.write_text(_run("audit_export", "--tenant", "globex"))
    broken.write_text("{}\n")

    assert _refused("audit_verify", "--tenant", "acme", "--head", str(other)) == (
        "",
        "--head is the export of another tenant.",
        2,
    )
    assert _refused("audit_verify", "--head", str(broken))[2] == 2
    assert _refused("audit_verify", "--head", str(tmp_path / "absent"))[2] == 2


def test_a_head_is_read_from_the_last_line_only() -> None:
    head = '{"head":{"tenant":1,"n":2,"events_sha256":"s","at":"x"}}'

    assert read_head(['{"n":1}\n', head + "\n", "\n"]) == ExportedHead(1, 2, "s")
    for lines in (
        [],
        [head, "{}"],
        ["[]"],
        ["not json"],
        ['{"head":{"tenant":"1","n":2,"events_sha256":"s"}}'],
        ['{"head":{"tenant":1,"n":true,"events_sha256":"s"}}'],
    ):
        with pytest.raises(ValueError, match="not the head of an export"):
            read_head(lines)
