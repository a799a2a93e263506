"""Answers are read exactly: what is missing or of another type is named, what is new is let by."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import pytest

import placet
from placet.shapes import read_shape


class Color(StrEnum):
    RED = "red"


@dataclass(frozen=True, slots=True)
class Inner:
    name: str


@dataclass(frozen=True, slots=True)
class Shape:
    text: str
    number: int
    flag: bool
    at: datetime
    color: Color
    anything: Any
    members: Mapping[str, Any]
    inner: Inner | None
    many: tuple[Inner, ...]


GIVEN: dict[str, Any] = {
    "text": "a",
    "number": 1,
    "flag": True,
    "at": "2026-11-30T12:00:00.5Z",
    "color": "red",
    "anything": [1],
    "members": {"x": 1},
    "inner": None,
    "many": [{"name": "n", "new": 1}],
    "a_member_of_tomorrow": {},
}


def test_every_kind_of_member_is_read() -> None:
    assert read_shape(Shape, GIVEN) == Shape(
        text="a",
        number=1,
        flag=True,
        at=datetime(2026, 11, 30, 12, 0, 0, 500_000, UTC),
        color=Color.RED,
        anything=[1],
        members={"x": 1},
        inner=None,
        many=(Inner("n"),),
    )


@pytest.mark.parametrize(
    ("members", "named"),
    [
        ({"text": None}, "text"),
        ({"number": True}, "number"),
        ({"number": 1.0}, "number"),
        ({"flag": 1}, "flag"),
        ({"at": "soon"}, "at is not a time"),
        ({"at": "2026-11-30T12:00:00"}, "offset"),
        ({"color": "blue"}, "color is 'blue', which this version does not know"),
        ({"members": []}, "members"),
        ({"inner": {}}, r"no inner\.name"),
        ({"many": {}}, "many"),
        ({"many": [{"name": "n"}, {"name": 3}]}, r"many\.1\.name"),
    ],
)
def test_what_is_not_as_it_has_to_be_is_named(members: dict[str, Any], named: str) -> None:
    with pytest.raises(placet.UnexpectedAnswer, match=named):
        read_shape(Shape, {**GIVEN, **members})


@pytest.mark.parametrize("value", [None, [], "x", 3])
def test_what_is_no_object_is_no_shape(value: Any) -> None:
    with pytest.raises(placet.UnexpectedAnswer, match="body is not an object"):
        read_shape(Shape, value)
