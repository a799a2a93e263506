"""How `wait_s` is read."""

import pytest

from runs.waiting.wait_s import read_after_seq, read_wait_s


@pytest.mark.parametrize(
    ("text", "wait_s"),
    [("0", 0), ("30", 30), ("55", 55), ("56", 55), ("100000", 55), ("9" * 5000, 55), ("007", 7)],
)
def test_seconds_are_cut_at_the_longest_wait(text: str, wait_s: int) -> None:
    """H-43: larger counts as 55."""
    assert read_wait_s(text) == wait_s


@pytest.mark.parametrize("text", ["", "-1", "+1", "abc", "1.5", " 1", "1\n", "²", "\u0661", "1e3"])
def test_what_is_no_number_of_seconds_is_none(text: str) -> None:
    """H-43: `-1` and `abc` are no waits."""
    assert read_wait_s(text) is None
    assert read_after_seq(text) is None


def test_a_sequence_number_fits_the_database_and_an_answer() -> None:
    assert read_after_seq("9" * 15) == 10**15 - 1
    assert read_after_seq("9" * 16) is None
