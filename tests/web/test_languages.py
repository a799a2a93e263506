"""Every page as a Chinese-speaking person sees it: no English is left, and no value is touched."""

import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client, RequestFactory

from approvals.models import Interrupt, PolicyVersion
from config import errors
from identity.languages import reading
from identity.management.reporting import OPERATOR
from identity.models import User
from placet.protocol.states import InterruptKind
from tests.cast import EDITABLE, PASSWORD, Cast, question
from tests.contract.routes import CONVERTER, PAGES
from tests.owner import fall_due
from tests.web.browser import answer, browser, hidden, look, send

pytestmark = pytest.mark.django_db

CHINESE = {"Accept-Language": "zh-CN"}
DATA = frozenset({"tool", "value", "words", "exact", "digest", "mark", "n", "esc"})
"""Classes of elements that hold what was sent, or a name of ours that has no translation."""
SPOKEN = frozenset({"aria-label", "title", "placeholder", "alt", "label", "summary"})
CODE = re.compile(r"[A-Z_]+")
"""A state as the API spells it, which a badge tells on top of its words."""
VOID = frozenset(
    {"meta", "link", "input", "br", "hr", "img", "path", "circle", "rect", "line", "use"}
)
PROPER = frozenset(
    {
        "Placet",
        "JSON",
        "Lines",
        "UTC",
        "UTF",
        "RFC",
        "CR",
        "LF",
        "English",
        "JavaScript",
        "Webhook",
        "URL",
        "HTTP",
        "https",
    }
    | {"true", "false", "null", "iPhone", "iPad"}
)
"""Proper names and terms that Chinese writes as English does."""
NAMES = re.compile(
    r"""{\w+}|"[^"]*"|\w+/Shanghai|(?<![A-Za-z])(?:alice|rae|rob|bob|ada|otto|mallory|nora|tom|clerk|payer|acme
    |finance|operator|pay_vendor|call-\d+|default|by-two|run_\w+|int_\w+|[0-9a-f]{4,64})(?![A-Za-z])
    """,
    re.VERBOSE,
)
"""Names of people, agents, tools and rules, ids, digests and quoted values in this test's data."""


class _Said(HTMLParser):
    """The words of a page that are its own, not those of people, agents and tools."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self._above: list[tuple[str, bool]] = []

    @property
    def _is_data(self) -> bool:
        return any(is_data for _tag, is_data in self._above)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        is_data = (
            tag in ("code", "kbd", "pre", "textarea", "script", "style")
            or bool(DATA & set(given.get("class", "").split()))
            or given.get("translate") == "no"
            or (tag != "html" and given.get("lang") == "en")
        )
        if not (is_data or self._is_data):
            spoken = [text for name, text in given.items() if name in SPOKEN]
            self.words += [text for text in spoken if not CODE.fullmatch(text)]
            self.words += [text for name, text in given.items() if _is_said(name, text)]
        if tag not in VOID:
            self._above.append((tag, is_data))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self._above.pop()

    def handle_endtag(self, tag: str) -> None:
        while self._above:
            if self._above.pop()[0] == tag:
                return

    def handle_data(self, data: str) -> None:
        if not self._is_data:
            self.words.append(data)


def _is_said(name: str, text: str) -> bool:
    """Whether an attribute of data holds words that a script will say."""
    return name.startswith("data-") and bool(re.search("[A-Za-z] [a-z]|[\u4e00-\u9fff]", text))


def english(page: HttpResponse) -> list[str]:
    """The English words that a page says by itself, with the text around each."""
    said = _Said()
    said.feed(page.content.decode())
    left = []
    for text in said.words:
        for word in re.findall(r"[A-Za-z]{2,}", NAMES.sub(" ", text)):
            if word not in PROPER:
                left.append(f"{word} in {' '.join(text.split())}")
    return left


def chinese(user: User) -> Client:
    """A browser of somebody who chose Chinese."""
    user.read_in(language="zh-hans", time_zone="Asia/Shanghai")
    return browser(user)


def by_two(cast: Cast) -> None:
    """A rule by which two people of different sources approve, and a reason is required."""
    PolicyVersion.set(
        cast.tenant,
        [
            {
                "id": "by-two",
                "approvals": [
                    {"from": {"groups": ["finance"], "users": ["ada"], "owner": True}, "count": 1},
                    {"from": {"roles": ["reviewer", "admin"]}, "count": 2},
                ],
                "owner_counts": False,
                "reason_required": True,
            }
        ],
        by=OPERATOR,
    )


def test_nothing_of_the_test_hides_english(cast: Cast) -> None:
    """What the walk below would find where somebody forgot a word."""
    cast.ask(cast.run())

    assert "Settings in Your settings" not in english(chinese(cast.rae).get("/settings/you/"))
    assert "settings in Your settings" in english(browser(cast.bob).get("/settings/you/"))


@pytest.mark.parametrize("path", sorted(PAGES))
def test_every_page_is_chinese_for_everybody(cast: Cast, path: str) -> None:
    run = cast.run(labels={"batch": "7"}, context={"note": "x"}, external_id="order-1")
    first = cast.ask(
        run, question(args_schema=EDITABLE, sensitive=("/invoice",), description="Pays")
    )
    answer(browser(cast.rob), first, decision="reject", reason="x")
    ids = {"run_id": run.pk, "interrupt_id": first.pk}
    at = CONVERTER.sub(lambda part: str(ids.get(part[1], "1")), path)

    for name in ("alice", "rae", "bob", "ada", "otto"):
        page = chinese(getattr(cast, name)).get(at, follow=True)
        if page.headers.get("Content-Type", "").startswith("text/html"):
            assert english(page) == [], name


Ask = Callable[[Cast], Interrupt]


def _again(cast: Cast) -> Interrupt:
    run = cast.run()
    cast.ask(run)
    return cast.ask(run, question(args={"amount_paise": 1, "extra": [], "invoice": "INV-88412"}))


def _masked(cast: Cast) -> Interrupt:
    return cast.ask(cast.run(), question(sensitive=("/invoice",), args_schema=EDITABLE))


def _hostile(cast: Cast) -> Interrupt:
    args = {
        "a": "x\u202ey\u200b  \u0007 раypal   \n\n\n\n\u05d0 \ue000 ⟨U+0041⟩ ",
        "b": {"c": {"d": {"e": {"f": {"g": {"h": {}}}}}}},
        "l": [1, {"m": [None, True]}],
        "long": "x" * 2000,
    }
    return cast.ask(cast.run(title="T\u202e"), question(args=args, target={}, description="\u200b"))


def _by_two(cast: Cast) -> Interrupt:
    by_two(cast)
    interrupt = cast.ask(cast.run())
    answer(browser(cast.rob), interrupt, decision="approve", reason="x")
    return interrupt


def _asked(**members: Any) -> Ask:
    return lambda cast: cast.ask(cast.run(), question(**members))


def _decided(decision: str, **fields: Any) -> Ask:
    def made(cast: Cast) -> Interrupt:
        kind = InterruptKind.QUESTION if decision == "respond" else InterruptKind.APPROVAL
        schema = None if decision == "respond" else EDITABLE
        interrupt = cast.ask(cast.run(), question(kind=kind, args_schema=schema))
        answer(browser(cast.rob), interrupt, decision=decision, **fields)
        return interrupt

    return made


def _superseded(cast: Cast) -> Interrupt:
    run = cast.run()
    first = cast.ask(run)
    cast.ask(run, question(args={"amount_paise": 2}))
    return first


def _cancelled(cast: Cast) -> Interrupt:
    run = cast.run()
    first = cast.ask(run)
    run.cancel(by=cast.alice, reason="x")
    return first


def _twins(cast: Cast) -> Interrupt:
    run = cast.run()
    cast.ask(run, question(call_id="call-2"))
    return cast.ask(run)


STANDINGS: dict[str, Ask] = {
    "plain": _asked(),
    "no arguments": _asked(args={}, target={"origin": "x"}),
    "editable": _asked(args_schema=EDITABLE, description="x"),
    "a question": _asked(kind=InterruptKind.QUESTION),
    "a question with a schema": _asked(
        kind=InterruptKind.QUESTION, response_schema={"type": "string"}
    ),
    "second attempt": _again,
    "masked": _masked,
    "hostile": _hostile,
    "two needed": _by_two,
    "approved": _decided("approve"),
    "edited": _decided("edit", args='{"amount_paise":1}'),
    "rejected": _decided("reject", reason="x"),
    "responded": _decided("respond", response="x"),
    "superseded": _superseded,
    "cancelled": _cancelled,
    "same elsewhere": _twins,
}


@pytest.mark.parametrize("standing", STANDINGS)
def test_the_page_of_every_question_is_chinese(cast: Cast, standing: str) -> None:
    interrupt = STANDINGS[standing](cast)

    for name in ("rae", "alice", "otto"):
        client = chinese(getattr(cast, name))
        for page in (
            look(client, interrupt),
            client.get(f"/runs/{interrupt.run_id}/"),
            client.get("/"),
            client.get("/runs/"),
        ):
            assert english(page) == [], name


REFUSED: dict[str, dict[str, Any]] = {
    "no decision": {"decision": "perhaps"},
    "no revision": {"decision": "approve", "revision": None},
    "stale": {"decision": "approve", "revision": "77"},
    "other digest": {"decision": "approve", "asked_sha256": "0" * 64},
    "not shown": {"decision": "approve", "view": ""},
    "no reason": {"decision": "reject", "reason": ""},
    "long reason": {"decision": "reject", "reason": "x" * 9000},
    "not offered": {"decision": "respond", "response": "x"},
    "no arguments": {"decision": "edit", "args": ""},
    "no object": {"decision": "edit", "args": "[]"},
    "not by the schema": {"decision": "edit", "args": '{"amount_paise":"x"}'},
    "too small": {"decision": "edit", "args": '{"amount_paise":0}'},
    "no json": {"decision": "edit", "args": "{"},
    "twice": {"decision": "edit", "args": '{"a":1,"a":2}'},
    "unheeded": {"decision": "approve", "args": '{"amount_paise":7}'},
    "too large": {"decision": "edit", "args": '{"a":"' + "x" * 300_000 + '"}'},
}


@pytest.mark.parametrize("case", REFUSED)
def test_every_refusal_is_chinese(cast: Cast, case: str) -> None:
    interrupt = cast.ask(cast.run(), question(args_schema=EDITABLE))

    page = answer(chinese(cast.rae), interrupt, **REFUSED[case])

    assert page.status_code >= 400
    assert english(page) == []


@pytest.mark.parametrize("case", ["no object", "no json", "not by the schema", "unheeded"])
def test_a_preview_is_chinese(cast: Cast, case: str) -> None:
    interrupt = cast.ask(cast.run(), question(args_schema=EDITABLE))
    rae = chinese(cast.rae)

    page = rae.post(
        f"/interrupts/{interrupt.pk}/preview/", hidden(look(rae, interrupt)) | REFUSED[case]
    )

    assert english(page) == []


@pytest.mark.parametrize("standing", ["approved", "edited", "rejected", "superseded", "cancelled"])
def test_an_answer_too_late_is_refused_in_chinese(cast: Cast, standing: str) -> None:
    form = hidden(look(browser(cast.rae), cast.ask(cast.run(), question(args_schema=EDITABLE))))
    interrupt = STANDINGS[standing](cast)

    for name in ("rae", "rob", "alice"):
        page = send(chinese(getattr(cast, name)), interrupt, form, decision="approve")
        assert page.status_code >= 400
        assert english(page) == [], name


def test_a_second_approval_by_the_same_person_is_refused_in_chinese(cast: Cast) -> None:
    interrupt = _by_two(cast)
    rob = chinese(cast.rob)

    page = send(rob, interrupt, hidden(look(rob, interrupt)), decision="approve", reason="x")

    assert page.status_code >= 400
    assert english(page) == []


def test_revealing_is_chinese(cast: Cast) -> None:
    interrupt = _masked(cast)
    rae = chinese(cast.rae)

    assert english(rae.post(f"/interrupts/{interrupt.pk}/reveal/")) == []
    assert english(look(rae, interrupt)) == []


def test_cancelling_a_run_is_refused_in_chinese(cast: Cast) -> None:
    run = cast.run()
    run.finish("succeeded", agent=cast.agent)  # type: ignore[arg-type]

    page = chinese(cast.alice).post(f"/runs/{run.pk}/cancel/")

    assert page.status_code == 409
    assert english(page) == []


@pytest.mark.parametrize(
    "query",
    [
        "",
        "?type=interrupt.decided",
        "?person=ghost&agent=ghost&since=x&until=x&tool=" + "x" * 300,
        "?digest=ffff",
    ],
)
def test_the_record_is_chinese(cast: Cast, query: str) -> None:
    _again(cast)
    answer(browser(cast.rae), _by_two(cast), decision="approve", reason="x")
    send(browser(cast.rae), _asked()(cast), {}, decision="perhaps")

    assert english(chinese(cast.otto).get(f"/audit/{query}")) == []


def test_signing_in_and_its_faults_are_chinese(cast: Cast) -> None:
    client = Client(headers=CHINESE)

    for page in (
        client.get("/login/"),
        client.post("/login/", {"login": "", "password": ""}),
        client.post("/login/", {"login": "rae", "password": "wrong password"}),
        client.post("/login/", {"login": "rae" * 99, "password": PASSWORD}),
    ):
        assert page.status_code == 200
        assert english(page) == []


def test_the_settings_and_their_faults_are_chinese(cast: Cast) -> None:
    rae = chinese(cast.rae)

    assert english(rae.get("/settings/you/?saved")) == []
    assert english(rae.post("/settings/you/", {"language": "x", "time_zone": "x"})) == []


def test_error_pages_are_chinese(cast: Cast) -> None:
    request = RequestFactory().get("/")
    with reading("zh-hans", ""):
        pages = [
            errors.csrf_failed(request),
            errors.bad_request(request),
            errors.not_text(request),
            errors.not_found(request),
            errors.broken(request),
        ]

    assert [english(page) for page in pages] == [[], [], [], [], []]


def test_what_was_sent_is_the_same_in_every_language(cast: Cast) -> None:
    """Values, numbers and digests are nobody's to translate, round or group."""
    args = {
        "amount": 1234567.891,
        "big": 9007199254740991,
        "small": 1e-7,
        "yes": True,
        "none": None,
        "Approve": "Reject",
        "date": "2026-01-31T09:00:00Z",
    }
    interrupt = cast.ask(cast.run(), question(args=args, args_schema={"type": "object"}))

    chinese_page = look(chinese(cast.rae), interrupt).content.decode()
    cast.rae.read_in(language="en", time_zone="America/New_York")
    english_page = look(browser(cast.rae), interrupt).content.decode()
    assert list(_sent(chinese_page)) == list(_sent(english_page))
    for spelled in ("1234567.891", "9007199254740991", "1e-7", "true", "null", "Approve", "Reject"):
        assert f">{spelled}<" in chinese_page, spelled
    assert interrupt.asked_sha256 in chinese_page


def _sent(html: str) -> Iterator[str]:
    """What stands in the places for names, values, exact texts and digests."""
    yield from re.findall(r'<span class="(?:name|value[^"]*)">(.*?)</span>', html, re.DOTALL)
    yield from re.findall(r"<pre[^>]*>.*?</pre>", html, re.DOTALL)
    yield from re.findall(r'<textarea[^>]*name="args"[^>]*>.*?</textarea>', html, re.DOTALL)
    yield from re.findall(r'<code class="digest">.*?</code>', html)


@pytest.mark.django_db(transaction=True)
def test_a_question_past_its_deadline_is_chinese(cast: Cast) -> None:
    interrupt = cast.ask(cast.run())
    rae = chinese(cast.rae)
    form = hidden(look(rae, interrupt))
    fall_due(interrupt.pk)

    late = look(rae, interrupt)
    refused = send(rae, interrupt, form, decision="approve")

    assert refused.status_code == 409
    assert english(late) == english(refused) == []
