"""H-32: no page sends a character that deceives as itself, and each one is told."""

import re
import unicodedata
from html import unescape

import pytest
from django.template.loader import render_to_string
from django.test import Client

from approvals.models import Interrupt
from approvals.rules.presentation import notice, tree
from approvals.templatetags.tree_words import sentences
from approvals.web.panel import content_changes
from placet.protocol.states import DecisionKind
from tests.cast import Cast, question
from tests.hostile import HOSTILE
from tests.web.browser import browser

pytestmark = pytest.mark.django_db

UNSEEN = ("Cc", "Cf", "Zl", "Zp", "Co", "Cn", "Cs")
PAGE_ITSELF = frozenset("\n")
"""What a page of ours has of such characters: the line ends of its own source."""


def deceiving(html: str) -> list[str]:
    """Characters that do not show, or show as another, as they are sent or as escaped for HTML."""
    text = html + unescape(html)
    return sorted(
        {
            f"U+{ord(char):04X}"
            for char in text
            if char not in PAGE_ITSELF
            and (unicodedata.category(char) in UNSEEN or char in "\u3164\u2800\u115f\u034f\ufe0f")
        }
    )


@pytest.fixture
def asked(cast: Cast) -> Interrupt:
    """A question that has every hostile text as a value, one as a name, and others around it."""
    args = {f"t{number:03}": one.text for number, one in enumerate(HOSTILE)}
    run = cast.run(title="Pay\u202e\u200b the\u00a0vendor", labels={"l\u200b": "x\u202e"})
    return cast.ask(
        run,
        question(
            call_id="c\u200b1",
            args=args | {"na\u200bme": 1},
            target={"origin": "https://b\u0430nk.example\u2060"},
            description="All \u202ewell\x1b[2K",
            args_schema={"type": "object"},
        ),
    )


def read(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return str(answer.content.decode())


def test_no_page_sends_a_deceiving_character_as_itself(cast: Cast, asked: Interrupt) -> None:
    cast.decide(asked, cast.rob, decision=DecisionKind.REJECT, reason="N\u200bo\u202e")
    again = cast.ask(
        cast.run(title="T\u202e"), question(args={"x\u200b": "a\u202eb"}, call_id="\u2067")
    )
    rae, ada = browser(cast.rae), browser(cast.ada)

    found = {
        path: deceiving(read(client, path))
        for client in (rae, ada)
        for path in (
            "/",
            f"/interrupts/{asked.pk}/",
            f"/interrupts/{again.pk}/",
            "/runs/",
            f"/runs/{asked.run_id}/",
        )
    } | {"/audit/": deceiving(read(ada, "/audit/"))}

    assert {path: chars for path, chars in found.items() if chars} == {}


def test_the_page_tells_every_one_of_them_where_it_is(cast: Cast, asked: Interrupt) -> None:
    html = read(browser(cast.rae), f"/interrupts/{asked.pk}/")

    told = dict(re.findall(r"<li><code>(/\w+/\w+)</code> (.*?)</li>", html))
    expected = {
        f"/args/t{number:03}": " ".join(sentences(found))
        for number, one in enumerate(HOSTILE)
        if (found := notice(one.text))
    }
    assert {place: unescape(told.get(place, "")) for place in expected} == expected
    assert "/args/naU+200Bme" in re.sub(r"<[^>]+>", "", html)
    assert "/target/origin" in told


def test_a_fault_names_its_place_with_what_hides_in_it(cast: Cast) -> None:
    schema = {"type": "object", "additionalProperties": {"type": "integer"}}
    asked = cast.ask(cast.run(), question(args={"n": 1}, args_schema=schema))

    answer = browser(cast.rae).post(
        f"/interrupts/{asked.pk}/preview/", {"args": '{"na\\u202eme": "a\\u200bb"}'}
    )

    html = answer.content.decode()
    assert answer.status_code == 422
    assert deceiving(html) == []
    assert "/args/naU+202Eme" in re.sub(r"<[^>]+>", "", html)


def test_markup_stays_text(cast: Cast, asked: Interrupt) -> None:
    html = read(browser(cast.rae), f"/interrupts/{asked.pk}/")

    for raw in ("<script>alert", "<img src=x", "<!-- approved", "<style>", 'hx-get="/logout/"'):
        assert raw not in html
    for href in re.findall(r'href="([^"]*)"', html):
        assert href.startswith(("/", "#")), href


def test_what_was_spelled_out_can_be_copied_back(asked: Interrupt) -> None:
    """Each mark of the page carries the character and how often it stands there."""
    args = asked.content["args"]
    html = render_to_string("_tree.html", {"tree": tree(args)})

    values = re.findall(r'<span class="value text[^"]*">(.*?)</span> <span class="kind">', html)
    copied = [_copied(value) for value in values]
    assert copied == [one.text for one in HOSTILE]


def _copied(html: str) -> str:
    part = re.compile(
        r'<span class="esc \w+" data-code="(?P<code>\d+)" data-count="(?P<count>\d+)".*?</span>'
        r"|<[^>]+>|(?P<plain>[^<]+)"
    )
    return "".join(
        chr(int(found["code"])) * int(found["count"])
        if found["code"]
        else unescape(found["plain"] or "")
        for found in part.finditer(html)
    )


def test_a_move_is_told_on_the_page(cast: Cast) -> None:
    run = cast.run()
    first = cast.ask(run, question(args={"to": "acct-1", "list": ["a", "b"]}))
    second = cast.ask(run, question(args={"from": "acct-1", "list": ["b", "a"]}))

    html = render_to_string("_changes.html", {"changes": content_changes(first, second)})

    said = re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", html))).strip()
    assert said == (
        '/args/from moved here from /args/to "acct-1" /args/list/1 moved here from /args/list/0 "a"'
    )
