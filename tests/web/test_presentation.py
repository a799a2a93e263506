"""Strangers' text and values as segments and rows, as a table: pure, no page and no database."""

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.rules.presentation import Found, Kind, changes, masked_value, notice, pretty, tree
from approvals.rules.visible import Segment, Trait, visible, visible_json
from placet.protocol.canonical import canonical
from placet.protocol.reading import JSONValue, read_json


def shown(segments: tuple[Segment, ...] | None) -> str:
    """What a reader sees."""
    return "".join(segment.text for segment in segments or ())


def restored(segments: tuple[Segment, ...]) -> str:
    """What a copy holds: each spelled-out character as itself again."""
    return "".join(segment.exact for segment in segments)


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("", ""),
        ("plain text, 2 blanks  here", "plain text, 2 blanks  here"),
        ("/tmp/\u202egpj.exe", "/tmp/U+202Egpj.exe"),
        ("ac\u200bct", "acU+200Bct"),
        ("a\u2066b\u2069", "aU+2066bU+2069"),
        ("a\u00adb", "aU+00ADb"),
        ("\ufeffa", "U+FEFFa"),
        ("a\u2028b\u2029c", "aU+2028bU+2029c"),
        ("a\u00a0b\u3000c", "aU+00A0bU+3000c"),
        ("\u001b[2K", "U+001B[2K"),
        ("a\u0085b\u007f", "aU+0085bU+007F"),
        ("a\tb", "a⇥b"),
        ("a\nb", "a↵b"),
        ("a\r\nb", "aCR↵b"),
        ("\ue000\U000e0041", "U+E000U+E0041"),
        ("\u0378", "U+0378"),
        ("a   b", "a␣×3b"),
        ("a" + " " * 4000 + "b", "a␣×4000b"),
        ("\u200b" * 50, "U+200B×50"),
        ("e\u0301", "eU+0301"),
        ("\u00e9", "\u00e9"),
        ("p\u0430ypal", "p\u0430⟨U+0430⟩ypal"),
        ("\uff21BC", "\uff21⟨U+FF21⟩BC"),
        ("\u0441\u043e\u0440", "\u0441⟨U+0441⟩\u043e⟨U+043E⟩\u0440⟨U+0440⟩"),
        ("Привет, мир", "Привет, мир"),
        ("日本語テキスト", "日本語テキスト"),
        ("Grüße, naïve café", "Grüße, naïve café"),
        ("हिन्दी", "हिन्दी"),
        ("a\u2215b", "a\u2215⟨U+2215⟩b"),
        ("\u3164", "U+3164"),
        ("👍\ufe0f", "👍U+FE0F"),
        ("<b>&amp;", "<b>&amp;"),
    ],
)
def test_what_hides_or_imitates_is_spelled_out(text: str, seen: str) -> None:
    """H-32: the reader sees that it is there, and where."""
    assert shown(visible(text)) == seen


@given(st.text())
def test_nothing_is_left_out_and_the_copy_is_exact(text: str) -> None:
    """H-32: the order of reading is the order of sending."""
    pieces = visible(text)

    assert restored(pieces) == text


@given(st.text())
def test_no_unseen_character_is_shown_as_itself(text: str) -> None:
    for piece in visible(text):
        for char in piece.text:
            assert unicodedata.category(char) not in ("Cc", "Cf", "Zl", "Zp", "Co", "Cn", "Cs")


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs", "Cn"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs", "Cn"])),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(json_values)
def test_the_edit_box_and_the_exact_text_hold_the_same_value(value: JSONValue) -> None:
    """H-33: whatever stands in the box reads back as exactly what was asked."""
    text = canonical(value)

    assert canonical(read_json(pretty(value).encode())) == text
    assert canonical(read_json(shown(visible_json(text)).encode())) == text
    assert restored(visible_json(text)) == text


def test_the_tree_names_every_value_with_its_type() -> None:
    args: JSONValue = {
        "cents": 4900,
        "rate": 0.1,
        "dry_run": False,
        "ids": [1, 2],
        "note": None,
        "zip": "01234",
        "empty": "",
        "none": {},
        "nobody": [],
        "who": {"name": "Ada"},
        "long": "x" * 81,
    }

    rows = [
        (shown(row.name), row.kind, row.size, shown(row.value), row.opens, len(row.closes))
        for row in tree(args).rows
    ]

    assert rows == [
        ("cents", Kind.NUMBER, None, "4900", False, 0),
        ("dry_run", Kind.BOOLEAN, None, "false", False, 0),
        ("empty", Kind.TEXT, 0, "", False, 0),
        ("ids", Kind.LIST, 2, "[1,2]", False, 0),
        ("long", Kind.TEXT, 81, "x" * 81, False, 0),
        ("nobody", Kind.LIST, 0, "[]", False, 0),
        ("none", Kind.OBJECT, 0, "{}", False, 0),
        ("note", Kind.NULL, None, "null", False, 0),
        ("rate", Kind.NUMBER, None, "0.1", False, 0),
        ("who", Kind.OBJECT, 1, "", True, 0),
        ("name", Kind.TEXT, None, "Ada", False, 1),
        ("zip", Kind.TEXT, None, "01234", False, 0),
    ]


def test_levels_are_closed_as_often_as_they_were_opened() -> None:
    deep: JSONValue = {"a": [{"b": [{"c": "x"}, "y\u202e"]}], "z": {"q": {"r": 1}}}

    rows = tree(deep).rows

    assert sum(row.opens for row in rows) == sum(len(row.closes) for row in rows) == 6


def test_deep_places_say_their_level_and_open_with_their_whole_pointer() -> None:
    value: JSONValue = "end"
    for name in "hgfedcba":
        value = {name: value}

    assert [(shown(row.name), row.kind, row.level) for row in tree(value, at=("args",)).rows][
        -3:
    ] == [
        ("f", Kind.OBJECT, None),
        ("/args/a/b/c/d/e/f/g", Kind.OBJECT, 7),
        ("h", Kind.TEXT, 8),
    ]


@pytest.mark.parametrize("leaf", [1, "\u200b", {"k": 1}])
def test_a_long_name_above_many_deep_places_is_not_repeated_at_each(leaf: JSONValue) -> None:
    """H-40: what is shown grows with what was sent."""
    deep: JSONValue = {f"m{number}": leaf for number in range(2000)}
    for name in ["f", "e", "d", "c", "b", "n" * 24_000]:
        deep = {name: deep}

    found = tree(deep)
    emptied = changes({"n" * 24_000: {str(n): n for n in range(2000)}}, {"n" * 24_000: {}})

    names = [row.name for row in found.rows] + [one.where for one in found.notices]
    assert sum(len(shown(name)) for name in names) < 100_000
    assert sum(len(shown(one.where)) for one in emptied) < 100_000


def test_many_changes_and_many_masks_are_compared_in_little_time() -> None:
    """H-40: the work is not changes times masks."""
    before: JSONValue = {f"m{number}": 0 for number in range(5000)}
    after: JSONValue = {f"m{number}": 1 for number in range(5000)}
    began = time.monotonic()

    found = changes(before, after, sensitive=[f"/m{number}/x" for number in range(5000)])

    assert [one.is_masked for one in found] == [True] * 5000
    assert time.monotonic() - began < 2


SECRETS: JSONValue = {
    "config": {"password": "hunter2", "user": "ada"},
    "items": [{"api_key": "sk-test"}, {"api_key": "sk-two"}],
    "url": "https://u:p@h/",
    "a/b": {"c~d": "tilde"},
}


@pytest.mark.parametrize(
    ("paths", "masked", "gone"),
    [
        (["/config/password"], ["/config/password"], ["hunter2"]),
        (["/config"], ["/config"], ["hunter2", "ada"]),
        (["/items/1/api_key"], ["/items/1/api_key"], ["sk-two"]),
        (["/items", "/items/0"], ["/items"], ["sk-test", "sk-two"]),
        (["/a~1b/c~0d"], ["/a~1b/c~0d"], ["tilde"]),
        ([""], [""], ["hunter2", "ada", "sk-test", "sk-two", "https", "tilde"]),
        (["/nowhere", "/config/password/0"], [], []),
    ],
)
def test_masks_hold_at_every_depth(paths: list[str], masked: list[str], gone: list[str]) -> None:
    """H-36: of what is named nothing is left, below it neither."""
    found = tree(SECRETS, sensitive=paths)

    text = "".join(shown(row.name) + shown(row.value) for row in found.rows)
    assert list(found.masked) == masked
    assert found.is_whole == (not masked)
    sent = canonical(masked_value(SECRETS, paths))
    for secret in ("hunter2", "ada", "sk-test", "sk-two", "https", "tilde"):
        assert (secret in text) == (secret in sent) == (secret not in gone)


def test_a_change_at_above_or_below_a_mask_is_told_without_values() -> None:
    """H-36: a difference tells no secret."""
    before: JSONValue = {"config": {"password": "old"}, "n": 1}
    after: JSONValue = {"config": "new and secret", "n": 2}

    found = changes(before, after, sensitive=["/config/password"])

    assert [
        (shown(c.where), c.is_masked, c.before and shown(c.before), c.after and shown(c.after))
        for c in found
    ] == [("/config", True, None, None), ("/n", False, "1", "2")]


def test_members_that_came_and_went_are_told() -> None:
    found = changes({"a": "x", "b": None}, {"b": None, "c": [1]})

    assert [
        (shown(c.where), c.before and shown(c.before), c.after and shown(c.after)) for c in found
    ] == [
        ("/a", '"x"', None),
        ("/c", None, "[1]"),
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("plain", None),
        ("a\nb", None),
        ("x\u202ey", (Found(Trait.DIRECTION, (0x202E,)),)),
        ("a    b", (Found(Trait.BLANKS, (0x20,)),)),
        ("שלום", (Found(Trait.RIGHT_TO_LEFT),)),
        ("\u200b\u200c\u200b", (Found(Trait.INVISIBLE, (0x200B, 0x200C)),)),
    ],
)
def test_a_notice_tells_what_is_there(text: str, found: tuple[Found, ...] | None) -> None:
    assert (told.found if (told := notice(text)) else None) == found


def test_notices_name_the_place_of_names_and_values() -> None:
    found = tree({"ok": 1, "a\u2028b": {"c": "d\u200be"}}, at=("args",)).notices

    assert [shown(one.where) for one in found] == ["/args/aU+2028b", "/args/aU+2028b/c"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("amount", "am\u043eunt"),
        ("item1", "iteml"),
        ("O2", "02"),
        ("modern", "modem"),
        ("to", "to "),
        ("to", "t\u200bo"),
        ("caf\u00e9", "cafe\u0301"),
        ("id", "\uff49d"),
    ],
)
def test_names_that_look_equal_are_told_at_both(one: str, other: str) -> None:
    found = tree({one: 1, other: 2, "third": 3}).notices

    twins = [shown(note.where) for note in found if note.found == (Found(Trait.TWIN),)]
    names = sorted((one, other), key=lambda name: name.encode("utf-16-be"))
    assert twins == [shown(visible(f"/{name}")) for name in names]


def test_names_that_differ_in_what_is_seen_are_not_told() -> None:
    assert tree({"to": 1, "too": 2, "from": 3, "form": 4, "p50": 5, "p5": 6}).notices == ()


def test_the_edit_box_is_in_lines_and_in_canonical_order() -> None:
    value: JSONValue = {"b": [1, 2], "a": {"c": "x", "d": [{"e": None}]}, "\u20ac": {}}

    assert pretty(value).splitlines() == [
        "{",
        '  "a": {',
        '    "c": "x",',
        '    "d": [',
        "      {",
        '        "e": null',
        "      }",
        "    ]",
        "  },",
        '  "b": [1, 2],',
        '  "€": {}',
        "}",
    ]


def test_a_long_text_takes_time_in_proportion() -> None:
    """H-40: no text makes a page slow by its shape."""
    text = "ж а" * 40_000

    assert len(visible(text)) > 0
    assert shown(visible("ж а")) == "ж а"
