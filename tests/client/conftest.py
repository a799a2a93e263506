"""A real server for the client, and its cast."""

from collections.abc import Iterator

import pytest

import placet
from identity.management.reporting import OPERATOR
from identity.models import Agent
from identity.roles import Scope
from placet import jwks
from placet.jwks import Fetched
from tests.cast import Cast, Template
from tests.client.site import People, Site

SCOPES = (Scope.ASK, Scope.EXECUTE, Scope.OBSERVE, Scope.RECONCILE)


@pytest.fixture(scope="session")
def served(django_db_setup: None) -> Iterator[Site]:
    """The server of the whole run."""
    site = Site()
    site.start()
    yield site
    site.stop()


@pytest.fixture
def cast(template: Template, transactional_db: None) -> Cast:
    """The cast, committed, so that the server sees it."""
    return template.make()


@pytest.fixture
def people(cast: Cast) -> People:
    return People(cast)


@pytest.fixture
def key(cast: Cast) -> str:
    """The key of an agent with every scope."""
    _, key = Agent.create(
        "executor", tenant=cast.tenant, any_owner=True, scopes=SCOPES, by=OPERATOR
    )
    return key


@pytest.fixture
def client(served: Site, key: str) -> Iterator[placet.Client]:
    with placet.Client(served.url, key) as client:
        yield client


@pytest.fixture(autouse=True)
def fresh_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no test see the keys of another's server."""
    monkeypatch.setattr(jwks, "_FETCHED", Fetched(jwks._fetch))


@pytest.fixture
def run(client: placet.Client) -> placet.Run:
    """A run that Alice owns."""
    return client.create_run(title="Pay the vendor", owner="alice")
