"""What every document must keep: links that lead somewhere, JSON that is JSON, no machine."""

import json
import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, all_blocks, documents

LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?P<to>[^)\s]+)\)")
PICTURE = re.compile(r'!\[[^\]]*\]\(([^)\s]+)\)|(?:src|srcset)="([^"]+)"')
ELSEWHERE = re.compile(r"[a-z]+:")
MACHINE = re.compile(r"(?<![\w.])/(?:work|root)/")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)

DOCUMENTS = documents()


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_every_relative_link_leads_to_a_file_and_a_heading(path: Path) -> None:
    broken = []
    for found in LINK.finditer(without_blocks(path.read_text(encoding="utf-8"))):
        if ELSEWHERE.match(found["to"]):
            continue
        file, _, anchor = found["to"].partition("#")
        target = (path.parent / file).resolve() if file else path
        is_there = target.exists() and target.is_relative_to(ROOT)
        if not is_there or (anchor and anchor not in anchors(target)):
            broken.append(found["to"])

    assert broken == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_every_fenced_json_parses(path: Path) -> None:
    for block in all_blocks(path.read_text(encoding="utf-8")):
        if block.word == "json":
            json.loads(block.text)


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_no_document_names_a_path_of_one_machine(path: Path) -> None:
    assert MACHINE.findall(path.read_text(encoding="utf-8")) == []


def test_every_document_below_docs_can_be_reached_from_its_index() -> None:
    index = ROOT / "docs" / "README.md"
    reached: set[Path] = set()
    coming = [index]
    while coming:
        path = coming.pop()
        reached.add(path)
        links = LINK.finditer(without_blocks(path.read_text(encoding="utf-8")))
        targets = {(path.parent / found["to"].partition("#")[0]).resolve() for found in links}
        coming += [to for to in targets - reached - set(coming) if to.suffix == ".md"]

    assert {path for path in DOCUMENTS if "docs" in path.relative_to(ROOT).parts[:1]} <= reached


def test_pictures_lie_in_the_folder_of_pictures() -> None:
    """Whether they are there yet is seen on the page; where they belong is fixed."""
    for path in DOCUMENTS:
        for one, other in PICTURE.findall(path.read_text(encoding="utf-8")):
            folder = (path.parent / (one or other)).resolve().parent
            assert folder == ROOT / "docs" / "pictures", f"{name(path)}: {one or other}"


def without_blocks(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors(path: Path) -> set[str]:
    """The anchors of a document's headings, as GitHub makes them."""
    heads = HEADING.findall(without_blocks(path.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}
