"""What the first look at a page costs: few requests before its content, few bytes on the wire."""

import gzip
import re
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client

from tests.cast import EDITABLE, Cast, question
from tests.web.browser import browser

pytestmark = pytest.mark.django_db

BLOCKING = 3
BYTES = 60_000
TAKES_GZIP = {"HTTP_ACCEPT_ENCODING": "gzip, deflate, br"}


def content(response: HttpResponse) -> bytes:
    """The body as it goes over the wire."""
    return b"".join(response) if response.streaming else response.content  # type: ignore[call-overload]


def weight(response: HttpResponse) -> int:
    """The bytes of an answer with its header."""
    header = "".join(f"{name}: {value}\r\n" for name, value in response.headers.items())
    return len(content(response)) + len(header.encode()) + len("HTTP/1.1 200 OK\r\n\r\n")


def assets(html: str) -> tuple[list[str], list[str]]:
    """The files that a page needs before it is drawn, and those that it loads besides."""
    styles = re.findall(r'<link rel="stylesheet" href="([^"]+)"', html)
    icons = re.findall(r'<link rel="(?:icon|manifest)"[^>]* href="([^"]+)"', html)
    icons += re.findall(r'<link rel="(?:icon|manifest)" href="([^"]+)"', html)
    scripts = re.findall(r'<script src="([^"]+)"( defer)?', html)
    late = [source for source, is_late in scripts if is_late]
    early = [source for source, is_late in scripts if not is_late]
    return [*styles, *early], [*late, *icons]


@pytest.fixture
def pages(cast: Cast) -> dict[str, str]:
    """The two pages that people look at all day, as full as they usually are."""
    asked = [
        cast.ask(cast.run(), question(call_id=f"c{n}", args_schema=EDITABLE)) for n in range(20)
    ]
    return {"inbox": "/", "question": f"/interrupts/{asked[0].pk}/"}


@pytest.mark.parametrize("name", ["inbox", "question"])
def test_the_first_look_is_light(cast: Cast, pages: dict[str, str], name: str) -> None:
    client = browser(cast.rae)
    page = client.get(pages[name], **TAKES_GZIP)
    assert page.status_code == 200
    blocking, late = assets(gzip.decompress(page.content).decode())

    weights = {path: weight(fetched(client, path)) for path in {*blocking, *late}}

    assert 1 + len(blocking) <= BLOCKING
    assert weight(page) + sum(weights.values()) <= BYTES, weights


def fetched(client: Client, path: str) -> Any:
    """A file as a browser gets it."""
    response = client.get(path, **TAKES_GZIP)
    assert response.status_code == 200, path
    return response


def test_a_static_file_is_sent_packed_and_kept_for_good_under_its_digest(client: Client) -> None:
    html = client.get("/login/").content.decode()
    path = assets(html)[0][-1]

    packed = fetched(client, path)
    plain = client.get(path)
    bare = client.get(path.partition("?")[0], **TAKES_GZIP)

    assert packed.headers["Content-Encoding"] == "gzip"
    assert packed.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert packed.headers["Vary"] == "Accept-Encoding"
    sent = content(packed)
    assert int(packed.headers["Content-Length"]) == len(sent)
    assert "Content-Encoding" not in plain.headers
    assert gzip.decompress(sent) == content(plain)
    assert bare.headers["Cache-Control"] == "max-age=3600, public"


@pytest.mark.parametrize("takes", ["", "br", "gzip;q=0", "gzip; q=0.0, br"])
def test_who_does_not_take_gzip_gets_the_file_as_it_is(client: Client, takes: str) -> None:
    response = client.get("/static/css/app.css", HTTP_ACCEPT_ENCODING=takes)

    assert "Content-Encoding" not in response.headers
    assert content(response).startswith(b"@layer")


def test_an_unchanged_file_is_not_sent_again(client: Client) -> None:
    first = fetched(client, "/static/js/app.js")

    again = client.get("/static/js/app.js", HTTP_IF_NONE_MATCH=first.headers["ETag"], **TAKES_GZIP)

    assert (again.status_code, content(again)) == (304, b"")


def test_pages_use_no_fonts_and_nothing_from_elsewhere(cast: Cast, pages: dict[str, str]) -> None:
    client = browser(cast.rae)
    html = client.get(pages["question"]).content.decode()
    styles = b"".join(content(fetched(client, path)) for path in assets(html)[0])

    assert not re.findall(r'(?:src|href)="(?:https?:)?//', html)
    assert b"@font-face" not in gzip.decompress(styles) and b"@import" not in styles
