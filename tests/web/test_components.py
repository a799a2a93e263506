"""The page of all parts: for people of the house, without a row of the database."""

import pytest
from django.test import Client

from placet.protocol.states import InterruptState, RunState
from tests.cast import Cast
from tests.web.browser import browser, words

pytestmark = pytest.mark.django_db


def test_every_state_has_a_badge_of_its_own(cast: Cast) -> None:
    html = browser(cast.bob).get("/components/").content.decode()

    states = {*InterruptState, *RunState} - {InterruptState.DECIDED}
    assert [state for state in states if f'class="state {state.lower()}"' not in html] == []
    for kind in ("approve", "edit", "reject", "respond", "done"):
        assert f'class="state {kind}"' in html


def test_samples_show_what_hides_and_keep_what_is_masked(cast: Cast) -> None:
    said = words(browser(cast.bob).get("/components/"))

    assert "U+202E" in said and "masked" in said
    assert "8461" not in said


def test_it_is_for_people_who_signed_in(client: Client) -> None:
    response = client.get("/components/")

    assert response.headers["Location"] == "/login/?next=/components/"
