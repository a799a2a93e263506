"""H-32: each hostile text as it is seen, told and copied, by the rules alone."""

import unicodedata
from itertools import combinations

import pytest

from approvals.rules.presentation import Kind, tree
from approvals.rules.visible import Trait, traits, visible, visible_json
from placet.protocol.canonical import canonical
from placet.protocol.reading import InvalidJSON, JSONValue, read_json
from tests.hostile import HOSTILE, Hostile

UNSEEN = ("Cc", "Cf", "Zl", "Zp", "Co", "Cn", "Cs")


def test_there_are_a_hundred_and_more_and_no_two_are_the_same() -> None:
    assert len(HOSTILE) >= 100
    assert len({one.name for one in HOSTILE}) == len({one.text for one in HOSTILE}) == len(HOSTILE)


@pytest.mark.parametrize("one", HOSTILE, ids=lambda one: one.name)
def test_a_hostile_text_is_seen_told_and_copied(one: Hostile) -> None:
    shown = visible(one.text)

    assert "".join(part.text for part in shown) == one.seen
    assert tuple(traits(one.text, shown)) == one.traits
    assert "".join(part.exact for part in shown) == one.text
    assert [char for char in one.seen if unicodedata.category(char) in UNSEEN] == []


@pytest.mark.parametrize("one", HOSTILE, ids=lambda one: one.name)
def test_its_json_is_seen_whole_and_is_json_of_the_same_text(one: Hostile) -> None:
    text = canonical(one.text)
    shown = visible_json(text)

    seen = "".join(part.text for part in shown)
    assert read_json(seen.encode()) == one.text
    assert "".join(part.exact for part in shown) == text
    assert [char for char in seen if unicodedata.category(char) in UNSEEN] == []


def test_no_two_of_them_are_seen_alike() -> None:
    """Marks are told from letters by their trait, in whatever font."""
    looks = [(one.name, [(part.text, part.trait) for part in visible(one.text)]) for one in HOSTILE]

    assert [(a, b) for (a, seen), (b, other) in combinations(looks, 2) if seen == other] == []


def test_every_trait_of_a_text_is_in_the_table() -> None:
    """Equal names are told of an object, and a line end needs no word."""
    assert {trait for one in HOSTILE for trait in one.traits} == set(Trait) - {
        Trait.TWIN,
        Trait.BREAK,
    }


@pytest.mark.parametrize("one", HOSTILE, ids=lambda one: one.name)
def test_as_a_value_and_as_a_name_it_is_told_where_it_stands(one: Hostile) -> None:
    value: JSONValue = {"deep": [{"here": one.text}], one.text: 1}

    found = [
        ("".join(part.exact for part in note.where), tuple(told.trait for told in note.found))
        for note in tree(value, at=("args",)).notices
    ]

    name = one.text.replace("~", "~0").replace("/", "~1")
    places = [f"/args/{name}", "/args/deep/0/here"] if one.traits else []
    assert sorted(found) == sorted((place, one.traits) for place in places)


@pytest.mark.parametrize(
    ("sent", "seen"),
    [
        ("1", "1"),
        ("1.0", "1"),
        ("-0", "0"),
        ("1e2", "100"),
        ("0.1", "0.1"),
        ("0.30000000000000004", "0.30000000000000004"),
        ("9007199254740991", "9007199254740991"),
        ("-9007199254740991", "-9007199254740991"),
        ("1e-7", "1e-7"),
        ("5e-324", "5e-324"),
        ("40000000", "40000000"),
        ("9007199254740992", None),
        ("9007199254740993", None),
        ("1e21", None),
        ("1e400", None),
        ("-1e400", None),
        ("0.10000000000000000055", None),
        ("1e-400", None),
        ("NaN", None),
        ("Infinity", None),
    ],
)
def test_a_number_is_seen_to_its_last_digit_or_is_not_taken(sent: str, seen: str | None) -> None:
    """H-09: never rounded, never grouped, never a different number."""
    try:
        value = read_json(f'{{"n":{sent}}}'.encode())
    except InvalidJSON:
        assert seen is None
        return
    (row,) = tree(value).rows
    assert ("".join(part.exact for part in row.value), row.kind) == (seen, Kind.NUMBER)


@pytest.mark.parametrize(
    ("value", "kind", "size"),
    [
        ("", Kind.TEXT, 0),
        ([], Kind.LIST, 0),
        ({}, Kind.OBJECT, 0),
        (None, Kind.NULL, None),
        (False, Kind.BOOLEAN, None),
        (0, Kind.NUMBER, None),
        ("null", Kind.TEXT, None),
        ("0", Kind.TEXT, None),
        ("masked", Kind.TEXT, None),
    ],
)
def test_what_is_empty_or_seems_so_is_told_by_its_kind(
    value: JSONValue, kind: Kind, size: int | None
) -> None:
    (row,) = tree({"it": value}).rows

    assert (row.kind, row.size, row.is_masked) == (kind, size, False)


@pytest.mark.parametrize(
    ("text", "is_boxed"),
    [("plain", False), ('5"\namount 1', True), ('x", "y": "z', True), ("a\nb", True), ("”", False)],
)
def test_a_text_that_could_close_its_own_quotes_stands_in_a_box(text: str, is_boxed: bool) -> None:
    (row,) = tree({"it": text}).rows

    assert row.is_boxed == is_boxed


def test_ten_thousand_items_are_all_there() -> None:
    value: JSONValue = {"ids": list(range(10_000)), "rows": [{"n": n} for n in range(10_000)]}

    rows = tree(value).rows

    ids = next(row for row in rows if row.kind is Kind.LIST and not row.opens)
    assert "".join(part.text for part in ids.value) == canonical(list(range(10_000)))
    assert (ids.size, len(rows)) == (10_000, 2 + 20_000)
