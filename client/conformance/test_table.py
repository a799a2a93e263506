"""The page of the adapters says what the drivers state."""

from conformance.table import PAGE, page


def test_the_table_is_the_one_of_the_drivers() -> None:
    assert PAGE.read_text() == page(), "write it anew: python -m conformance.table"
