"""The catalogs say everything that the code says, and what is compiled is what is written."""

import re
from pathlib import Path

import polib
import pytest
from django.conf import settings

from tests.languages.catalog import CATALOGS, ROOT, brought_up, compiled, entries, messages

each_catalog = pytest.mark.parametrize("path", CATALOGS, ids=lambda path: path.parts[-3])


def test_there_is_a_catalog_for_every_language_but_the_codes_own() -> None:
    codes = {code for code, _name in settings.LANGUAGES} - {"en"}

    assert {path.parts[-3].lower().replace("_", "-") for path in CATALOGS} == codes


@each_catalog
def test_a_catalog_holds_exactly_what_the_code_says(path: Path) -> None:
    held, said = entries(polib.pofile(str(path))), messages()

    assert sorted(said.keys() - held.keys()) == [], "run python -m tests.languages.catalog"
    assert sorted(held.keys() - said.keys()) == [], "run python -m tests.languages.catalog"


@each_catalog
def test_everything_is_translated_and_nothing_guessed(path: Path) -> None:
    catalog = polib.pofile(str(path))

    assert [entry.msgid for entry in catalog.untranslated_entries()] == []
    assert [entry.msgid for entry in catalog.fuzzy_entries()] == []
    assert [entry.msgid for entry in catalog.obsolete_entries()] == []


@each_catalog
def test_a_translation_has_the_places_of_its_text(path: Path) -> None:
    wrong = [
        (entry.msgid, told)
        for entry in polib.pofile(str(path))
        for told in (entry.msgstr_plural.values() if entry.msgid_plural else [entry.msgstr])
        if _places(told) != _places(entry.msgid_plural or entry.msgid)
    ]

    assert wrong == []


@each_catalog
def test_what_is_compiled_is_what_is_written(path: Path) -> None:
    assert path.with_suffix(".mo").read_bytes() == compiled(path)


@each_catalog
def test_a_catalog_is_written_as_the_tool_writes_it(path: Path) -> None:
    assert path.read_text() == f"{brought_up(polib.pofile(str(path)), messages())}\n"


def test_texts_are_found_where_they_are_marked() -> None:
    found = {message.text: files for message, files in messages().items()}

    assert found["This tool may not be used here."] == ["approvals/sentences.py"]
    assert "templates/settings/you.html" in found["Your settings"]
    assert (ROOT / "templates/settings/you.html").is_file()


@pytest.mark.parametrize(
    "path", sorted((ROOT / "static/js").glob("*.js")), ids=lambda path: path.name
)
def test_a_script_says_only_what_the_page_gave_it(path: Path) -> None:
    code = re.sub(r"^\s*//.*$", "", path.read_text(), flags=re.MULTILINE)
    strings = [text for found in re.findall(r'"([^"\n]*)"|`([^`]*)`', code) for text in found]

    assert [text for text in strings if re.match(r"[A-Z][a-z]+(?: [a-z]+)+\b", text)] == []


def _places(text: str) -> list[str]:
    return sorted(set(re.findall(r"%\(\w+\)[sd]|{\w+}", text)))
