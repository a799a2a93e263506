"""What operators watch: figures of the whole installation, for those with the token."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client

from audit.models import Event
from audit.numbering import number_events
from audit.sealing import seal_events
from config import metrics
from tests.cast import Cast

pytestmark = pytest.mark.django_db

TOKEN = "scrape-with-this-token"


def figures(client: Client) -> dict[str, float]:
    answer = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    lines = [line for line in answer.content.decode().splitlines() if line[0] != "#"]
    return {name: float(figure) for name, figure in (line.split(" ") for line in lines)}


@pytest.fixture
def token(settings: Any) -> None:
    settings.PLACET_METRICS_TOKEN = TOKEN


def test_the_gauges_tell_what_is_open_and_how_far_the_record_is_behind(
    cast: Cast, token: None
) -> None:
    while number_events() or seal_events():
        pass
    cast.ask(cast.run())
    cast.act()

    told = figures(Client())
    new = Event.objects.filter(numbered=None)
    age_s = told.pop("placet_events_unnumbered_age_seconds")
    assert 0 <= age_s < timedelta(minutes=5).total_seconds()
    assert told == {
        "placet_agents_waiting": 0,
        "placet_database_up": 1,
        "placet_interrupts_open": 1,
        "placet_actions_in_flight": 1,
        "placet_actions_unknown": 0,
        "placet_events_unnumbered": new.count(),
        "placet_events_unsealed": 0,
        "placet_notices_waiting": 0,
        "placet_deliveries_waiting": 0,
    }
    number_events()
    assert figures(Client())["placet_events_unsealed"] > 0


def test_each_gauge_is_one_query(cast: Cast, token: None, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(7):
        figures(Client())


def test_without_a_database_the_process_still_tells_its_own(
    token: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable() -> None:
        raise OperationalError

    monkeypatch.setattr(metrics, "_of_database", unreachable)

    assert figures(Client()) == {"placet_agents_waiting": 0, "placet_database_up": 0}


@pytest.mark.parametrize(
    "given", ["", "Bearer", "Bearer wrong", TOKEN, f"bearer {TOKEN}", "Bearer é"]
)
def test_without_the_token_there_is_nothing_to_see(token: None, given: str) -> None:
    answer = Client().get("/metrics", headers={"Authorization": given})

    assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert b"placet_" not in answer.content


def test_where_no_token_is_set_there_is_no_such_page() -> None:
    answer = Client().get("/metrics", headers={"Authorization": "Bearer None"})

    assert answer.status_code == 404
