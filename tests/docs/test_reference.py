"""The reference cannot fall behind the code: each list is compared with what it lists."""

import ast
import re
from pathlib import Path
from typing import Any

from django.core.management import find_commands
from django.test import Client

from approvals.rules.policy_file import RULE_MEMBERS
from approvals.web.words import PLAIN
from placet.protocol.digest import asked_sha256, canonical_asked
from placet.protocol.reading import read_json
from placet.protocol.refusals import RefusalCode
from tests.docs.pages import ROOT, blocks, names, rows, section, text_of

READERS = frozenset({"text", "secret", "integer", "boolean", "items", "rate", "networks", "path"})
APPS = ("approvals", "audit", "config", "identity", "notices", "runs", "webhooks")


def test_every_refusal_is_told_with_its_status_in_its_order() -> None:
    table = rows(section(text_of("docs/reference/refusals.md"), "## Codes"))

    told = [(names(cells[0])[0], int(cells[1])) for cells in table if cells[1].isdigit()]

    assert told == [(code.value, code.status) for code in RefusalCode]


def test_every_call_of_the_api_is_told_and_no_other() -> None:
    schema: dict[str, Any] = Client().get("/api/v1/openapi.json").json()
    there = {
        f"{method.upper()} {re.sub(r'{[^}]*}', '{id}', path)}"
        for path, calls in schema["paths"].items()
        for method in calls
    }

    table = rows(section(text_of("docs/reference/http.md"), "## Calls"))
    told = {name for cells in table for name in names(cells[0]) if "/api/v1/" in name}

    assert told == there


def test_every_query_parameter_and_member_of_a_body_is_told() -> None:
    schema: dict[str, Any] = Client().get("/api/v1/openapi.json").json()
    text = section(text_of("docs/reference/http.md"), "## Calls")

    words = set(re.findall(r"[a-z_0-9]+", text))

    parameters = {
        parameter["name"]
        for calls in schema["paths"].values()
        for call in calls.values()
        for parameter in call.get("parameters", [])
        if parameter["in"] == "query"
    }
    bodies = {
        member
        for name in ("RunBody", "AskBody", "CancelRunBody", "FinishBody", "Question")
        for member in schema["components"]["schemas"][name]["properties"]
    }
    assert (parameters | bodies) - words == set()


def test_every_member_of_an_answer_is_told() -> None:
    schema: dict[str, Any] = Client().get("/api/v1/openapi.json").json()
    shapes = schema["components"]["schemas"]
    text = text_of("docs/reference/http.md")

    for heading, shape in (
        ("### Run", "RunOut"),
        ("### Interrupt", "InterruptOut"),
        ("### Decision", "DecisionOut"),
    ):
        told = {name for cells in rows(section(text, heading)) for name in names(cells[0])}
        assert shapes[shape]["properties"].keys() - told == set(), heading


def test_every_command_is_told_and_no_other() -> None:
    there = {command for app in APPS for command in find_commands(str(ROOT / app / "management"))}

    told = re.findall(r"^### (\w+)$", text_of("docs/reference/commands.md"), re.MULTILINE)

    assert sorted(told) == sorted(there)


def test_every_option_of_a_command_is_told() -> None:
    text = text_of("docs/reference/commands.md")
    for app in APPS:
        for file in (ROOT / app / "management" / "commands").glob("[!_]*.py"):
            told = section(text, f"### {file.stem}")
            options = {option for option in _arguments(file) if option.startswith("--")}
            assert {option for option in options if option not in told} == set(), file.name


def test_every_command_of_bootstrap_is_told() -> None:
    usage = ast.get_docstring(ast.parse((ROOT / "bootstrap.py").read_text())) or ""
    there = set(re.findall(r"^ +python3 bootstrap\.py (\w+)", usage, re.MULTILINE))

    told = set(re.findall(r"`python3 bootstrap\.py (\w+)", text_of("docs/reference/commands.md")))

    assert told == there


def test_every_variable_that_is_read_is_told_and_no_other() -> None:
    there = {name for file in (ROOT / "config").glob("*.py") for name in _variables(file)}

    table = rows(text_of("docs/reference/environment.md"))
    told = {name for cells in table for name in names(cells[0])}

    assert told == there


def test_every_member_of_a_rule_is_told_and_no_other() -> None:
    table = rows(section(text_of("docs/reference/policy.md"), "## Members of a rule"))

    told = [name for cells in table for name in names(cells[0])]

    assert sorted(told) == sorted(RULE_MEMBERS)


def test_every_event_that_pages_put_in_words_is_told() -> None:
    table = rows(section(text_of("docs/reference/events.md"), "## Types"))
    told = {name for cells in table for name in names(cells[0])}

    with_words_of_their_own = {
        "action.known",
        "action.reconciled",
        "command.refused",
        "interrupt.decided",
        "run.state_changed",
    }
    assert told == PLAIN.keys() | with_words_of_their_own


def test_the_example_of_the_digest_holds() -> None:
    text = text_of("docs/reference/digest.md")
    sent, canonical = blocks(text, "json")
    asked: Any = read_json(sent.encode())

    assert canonical_asked(**asked) == canonical.strip()
    assert asked_sha256(**asked) in text


def _variables(file: Path) -> set[str]:
    """The names that a file reads from the environment through a typed reader."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="env" | "ENV"), attr=reader),
                args=[ast.Constant(value=str(name)), *_],
            ) if reader in READERS:
                found.add(name)
    return found


def _arguments(file: Path) -> set[str]:
    """The names of the arguments that a command adds itself."""
    return {
        str(argument.value)
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "add_argument"
        for argument in node.args
        if isinstance(argument, ast.Constant)
    }
