"""JSON Pointers by RFC 6901."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placet.protocol.pointers import parse_pointer, pointer


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ((), ""),
        (("foo",), "/foo"),
        (("foo", 0), "/foo/0"),
        (("",), "/"),
        (("a/b",), "/a~1b"),
        (("m~n",), "/m~0n"),
        (("~1",), "/~01"),
        ((" ", 'k"l', "i\\j"), '/ /k"l/i\\j'),
    ],
)
def test_a_place_has_its_pointer_and_the_pointer_its_place(
    parts: tuple[str | int, ...], text: str
) -> None:
    assert pointer(parts) == text
    assert parse_pointer(text) == tuple(map(str, parts))


@pytest.mark.parametrize("text", ["a", "a/b", "#/a", "/~", "/~2", "/a~"])
def test_what_is_no_pointer_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^not a JSON Pointer$"):
        parse_pointer(text)


@given(st.lists(st.text()))
def test_any_names_come_back(parts: list[str]) -> None:
    assert parse_pointer(pointer(parts)) == tuple(parts)
