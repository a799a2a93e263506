"""Where the marks of plots lie: nothing leaves its room, and what is shared adds up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.rules.plots import (
    Column,
    Range,
    Segment,
    at,
    bars,
    columns,
    shares,
    spread,
    whole_percents,
)

COUNTS = st.dictionaries(
    st.sampled_from(["approve", "edit", "reject", "respond", "done", "expired"]),
    st.integers(0, 10_000_000),
)


def number(place: str) -> float:
    return float(place.removesuffix("%"))


def test_columns_stand_side_by_side_and_the_highest_fills_the_height() -> None:
    assert columns([5, 10], [5, 0], height=80) == (
        Column(5, 5, "3%", "44%", "25%", "50%", "40", "40", "40", "40"),
        Column(10, 0, "53%", "44%", "75%", "100%", "0", "80", "80", "0"),
    )


def test_columns_of_nothing_are_flat() -> None:
    assert [column.height for column in columns([0, 0], [0, 0], height=80)] == ["0", "0"]
    assert columns([], [], height=80) == ()
    assert bars([]) == ()
    assert bars([0, 0]) == ("0%", "0%")


def test_bars_are_as_long_as_their_numbers() -> None:
    assert bars([40, 10, 1]) == ("100%", "25%", "2.5%")


def test_parts_of_a_bar_follow_each_other_without_those_of_nothing() -> None:
    assert shares({"approve": 3, "edit": 0, "reject": 1}) == (
        Segment("approve", 3, 75, "0%", "75%", "37.5%", True),
        Segment("reject", 1, 25, "75%", "25%", "87.5%", True),
    )
    assert shares({"approve": 0}) == ()


def test_a_narrow_part_has_no_room_for_its_number() -> None:
    assert [part.has_room for part in shares({"approve": 95, "reject": 5})] == [True, False]


@pytest.mark.parametrize(
    ("counts", "percents"),
    [
        ({"a": 1, "b": 1, "c": 1}, [34, 33, 33]),
        ({"a": 9_999, "b": 1}, [99, 1]),
        ({"a": 1, "b": 0}, [100, 0]),
        ({"a": 0, "b": 0}, [0, 0]),
        ({"a": 1_000_000, "b": 1, "c": 1}, [98, 1, 1]),
        ({"a": 2, "b": 1}, [67, 33]),
    ],
)
def test_whole_percents_add_up_and_never_hide_the_few(
    counts: dict[str, int], percents: list[int]
) -> None:
    assert list(whole_percents(counts).values()) == percents


@given(COUNTS)
def test_whole_percents_of_anything_add_up(counts: dict[str, int]) -> None:
    told = whole_percents(counts)

    assert told.keys() == counts.keys()
    assert sum(told.values()) == (100 if any(counts.values()) else 0)
    assert all((told[name] > 0) == (count > 0) for name, count in counts.items())


@given(COUNTS)
def test_parts_of_any_bar_fill_it(counts: dict[str, int]) -> None:
    parts = shares(counts)

    assert sum(number(part.width) for part in parts) == pytest.approx(100 if parts else 0, abs=0.1)
    assert all(0 <= number(part.x) <= number(part.middle) <= 100 for part in parts)


def test_the_scale_of_time_is_tenfold_by_equal_steps_and_ends_at_a_day() -> None:
    assert (at(0), at(1), at(86_400), at(1e9)) == ("0%", "0%", "100%", "100%")
    assert number(at(100)) == pytest.approx(2 * number(at(10)), abs=0.02)


def test_a_spread_has_its_number_at_the_side_with_more_room() -> None:
    quick, slow = spread((1, 2, 3, 4, 5)), spread((600, 3_600, 7_200, 20_000, 80_000))

    assert (quick.label, quick.is_label_before) == (quick.to_x, False)
    assert (slow.label, slow.is_label_before) == (slow.from_x, True)


def test_a_spread_of_one_value_is_still_seen() -> None:
    place = at(60)

    assert spread((60, 60, 60, 60, 60)) == Range(place, place, place, "0.4%", place, place, False)
