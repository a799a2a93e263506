"""The published RFC 8785 vectors, which test the canonicalizer; the reader refuses one."""

import json
import struct
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from placet.protocol.canonical import canonical
from placet.protocol.digest import sha256_hex
from placet.protocol.reading import InvalidJSON, read_json

PUBLISHED = Path(__file__).parents[3] / "shared" / "vectors" / "jcs"
MANIFEST = json.loads((PUBLISHED / "manifest.json").read_text())
OFFICIAL = [vector for vector in MANIFEST["vectors"] if vector["origin"] == "official"]


def double(bits: str) -> float:
    number: float = struct.unpack(">d", bytes.fromhex(bits.zfill(16)))[0]
    return number


@pytest.mark.parametrize("vector", OFFICIAL, ids=lambda vector: vector["name"])
def test_a_published_vector_has_its_published_form_and_digest(vector: dict[str, Any]) -> None:
    """H-41: `official/weird` is sorted by UTF-16 code units."""
    value = json.loads((PUBLISHED / vector["input"]).read_bytes())

    text = canonical(value)

    assert text.encode() == (PUBLISHED / vector["output"]).read_bytes()
    assert sha256_hex(text) == vector["sha256"]


def test_only_the_vector_with_inexact_numbers_is_refused_at_the_door() -> None:
    def is_refused(vector: dict[str, Any]) -> bool:
        try:
            read_json((PUBLISHED / vector["input"]).read_bytes())
        except InvalidJSON:
            return True
        return False

    assert [vector["name"] for vector in OFFICIAL if is_refused(vector)] == ["official/values"]


def test_ten_thousand_doubles_are_spelled_as_published() -> None:
    numbers = MANIFEST["numbers"]
    raw = (PUBLISHED / numbers["file"]).read_bytes()
    pairs = [line.split(",") for line in raw.decode().splitlines()]

    wrong = [(bits, text) for bits, text in pairs if canonical(double(bits)) != text]

    assert sha256(raw).hexdigest() == numbers["sha256"]
    assert len(pairs) == numbers["lines"]
    assert wrong == []
