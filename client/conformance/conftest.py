"""One server for the whole kit."""

from collections.abc import Iterator

import pytest

from conformance.site import Site, served


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    with served() as site:
        yield site
