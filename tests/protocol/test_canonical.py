"""The one spelling: our vectors, and what has none."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from placet.protocol.canonical import NotCanonical, canonical
from placet.protocol.digest import sha256_hex

VECTORS = Path(__file__).parents[1] / "vectors" / "jcs"
MANIFEST = json.loads((VECTORS / "manifest.json").read_text())
OWN = {vector["name"]: vector for vector in MANIFEST["vectors"]}
UTF16_ORDER = [vector for vector in OWN.values() if "wrong_sha256_of_a_code_point_sort" in vector]


def digest_of(name: str) -> str:
    return sha256_hex(canonical(json.loads((VECTORS / OWN[name]["input"]).read_bytes())))


def loop() -> list[Any]:
    items: list[Any] = []
    items.append(items)
    return items


@pytest.mark.parametrize("vector", OWN.values(), ids=OWN.keys())
def test_a_vector_has_its_exact_form_and_digest(vector: dict[str, Any]) -> None:
    value = json.loads((VECTORS / vector["input"]).read_bytes())

    text = canonical(value)

    assert text.encode() == (VECTORS / vector["output"]).read_bytes()
    assert sha256_hex(text) == vector["sha256"]


@pytest.mark.parametrize("vector", UTF16_ORDER, ids=lambda vector: vector["name"])
def test_names_are_sorted_by_utf_16_and_not_by_code_point(vector: dict[str, Any]) -> None:
    """H-41: a sort of Python strings gives another digest, which the vector names."""
    value = json.loads((VECTORS / vector["input"]).read_bytes())
    by_code_point = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))

    assert len(UTF16_ORDER) == 3
    assert sha256_hex(by_code_point) == vector["wrong_sha256_of_a_code_point_sort"]
    assert digest_of(vector["name"]) == vector["sha256"]


@pytest.mark.parametrize("group", MANIFEST["same_hash_groups"], ids=lambda group: group["why"])
def test_what_means_the_same_has_one_digest(group: dict[str, Any]) -> None:
    assert len({digest_of(name) for name in group["names"]}) == 1


@pytest.mark.parametrize("pair", MANIFEST["different_hash_pairs"], ids=lambda pair: pair["why"])
def test_what_means_something_else_has_another_digest(pair: dict[str, Any]) -> None:
    first, second = pair["names"]

    assert digest_of(first) != digest_of(second)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (2**53, "an integer is beyond ±(2^53 - 1)"),
        (-(2**53), "an integer is beyond ±(2^53 - 1)"),
        (10**5000, "an integer is beyond ±(2^53 - 1)"),
        (float("nan"), "NaN and infinity are no JSON numbers"),
        (float("-inf"), "NaN and infinity are no JSON numbers"),
        ("\ud800", "input contains non-UTF-8 codepoints"),
        ({"\ud83d": 1}, "a member name holds a lone surrogate"),
        ({1: "one"}, "object keys must be strings"),
        ({"when": {1, 2}}, "unsupported type: <class 'set'>"),
        (b"bytes", "unsupported type: <class 'bytes'>"),
        (loop(), "the value contains itself or nests too deeply"),
    ],
    ids=lambda part: type(part).__name__,
)
def test_a_value_without_a_canonical_form_is_refused_without_repeating_it(
    value: Any, why: str
) -> None:
    with pytest.raises(NotCanonical) as refused:
        canonical(value)

    assert str(refused.value) == why


def test_the_digest_is_of_the_utf_8_bytes() -> None:
    assert sha256_hex(canonical("€")) == sha256(b'"\xe2\x82\xac"').hexdigest()
