"""The documents of the repository as tests read them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_FENCE = re.compile(
    r"^```(?P<word>\S*)(?: (?P<how>\S+))?\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
_ROW = re.compile(r"^\| (?P<cells>.+) \|$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: the words after its fence, the second "" where there is none; its text."""

    word: str
    how: str
    text: str


def documents() -> list[Path]:
    """Every Markdown file that belongs to the repository."""
    folders = ("docs", "client", "examples", "bench", "tests")
    below = [path for folder in folders for path in (ROOT / folder).rglob("*.md")]
    return sorted([*ROOT.glob("*.md"), *below])


def text_of(path: str) -> str:
    """The text of a document, by its path in the repository."""
    return (ROOT / path).read_text(encoding="utf-8")


def blocks(text: str, word: str) -> list[str]:
    """The texts of all fenced blocks with this word."""
    return [block.text for block in all_blocks(text) if block.word == word]


def all_blocks(text: str) -> Iterator[Block]:
    """Every fenced block in its order."""
    for found in _FENCE.finditer(text):
        yield Block(found["word"], found["how"] or "", found["text"])


def rows(text: str) -> list[list[str]]:
    """The cells of every row of every table, heads and lines between left out."""
    found = [match["cells"].split(" | ") for match in _ROW.finditer(text)]
    return [cells for cells in found if not set(cells[0]) <= set("- ")]


def names(cell: str) -> list[str]:
    """What a cell or a text sets in code, in its order."""
    return re.findall(r"`([^`]+)`", cell)


def section(text: str, heading: str) -> str:
    """What stands under a heading, to the next one of its level."""
    level = heading.split(" ", 1)[0]
    after = text.split(f"\n{heading}\n", 1)[1]
    return re.split(rf"\n{level} ", after, maxsplit=1)[0]
