"""The door: signing in and out, and what stands there when it stays shut."""

import pytest
from django.test import Client

from tests.cast import PASSWORD, Cast
from tests.web.browser import browser, codes, words

pytestmark = pytest.mark.django_db


def test_a_person_signs_in_and_comes_to_where_they_wanted(cast: Cast) -> None:
    client = Client()

    page = client.post("/login/", {"login": "rae", "password": PASSWORD, "next": "/runs/"})

    assert (page.status_code, page.headers["Location"]) == (302, "/runs/")
    assert "rae" in words(client.get("/"))


def test_a_wrong_password_and_an_unknown_name_look_alike(cast: Cast) -> None:
    wrong = Client().post("/login/", {"login": "rae", "password": "wrong password"})
    unknown = Client().post("/login/", {"login": "nobody", "password": "wrong password"})

    assert wrong.status_code == unknown.status_code == 200
    assert codes(wrong) == codes(unknown) == ["unauthenticated"]
    assert words(wrong) == words(unknown)


def test_a_deactivated_person_does_not_come_in(cast: Cast) -> None:
    cast.rae.deactivate(by=cast.ada.as_actor())

    client = Client()
    client.post("/login/", {"login": "rae", "password": PASSWORD})

    assert client.get("/").status_code == 302


def test_nobody_is_led_out_of_here_after_signing_in(cast: Cast) -> None:
    page = Client().post(
        "/login/", {"login": "rae", "password": PASSWORD, "next": "https://evil.example/"}
    )

    assert page.headers["Location"] == "/"


def test_signing_out_asks_and_is_a_post(cast: Cast) -> None:
    """H-24: a link to /logout/ signs nobody out."""
    rae = browser(cast.rae)

    asked = rae.get("/logout/")

    assert "Sign out?" in words(asked)
    assert rae.get("/").status_code == 200
    assert rae.post("/logout/").status_code == 302
    assert rae.get("/").status_code == 302


def test_a_missing_page_says_so_to_people_and_to_agents(cast: Cast) -> None:
    page = browser(cast.rae).get("/nowhere/")
    problem = Client().get("/api/v1/nowhere")

    assert (page.status_code, codes(page)) == (404, ["not_found"])
    assert problem.headers["Content-Type"] == "application/problem+json"


def test_an_error_page_for_htmx_goes_to_the_place_kept_for_it(cast: Cast) -> None:
    """H-37: no whole page inside a part."""
    page = browser(cast.rae).get("/nowhere/", headers={"HX-Request": "true"})

    assert (page.status_code, page.headers["HX-Retarget"]) == (404, "#notice")
    assert "<html" not in page.content.decode()


def test_a_failure_says_that_the_outcome_is_not_known(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H-38: nobody is told that all is well, nor that nothing happened."""

    def fail(_request: object) -> None:
        raise RuntimeError("the disk is on fire")

    monkeypatch.setattr("approvals.web.inbox.signed_in", fail)
    client = Client(raise_request_exception=False)
    client.force_login(cast.rae, backend="django.contrib.auth.backends.ModelBackend")

    page = client.get("/")

    assert page.status_code == 500
    assert "It is not known whether what you sent was recorded." in words(page)
    assert "fire" not in words(page)
