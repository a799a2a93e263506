"""The panel of a refused answer: every code says what happened, and leads on by one way."""

import pytest

from approvals.models import Interrupt
from approvals.web.panel import REMEDIES, Panel, panel
from approvals.web.queue import Queue
from placet.protocol.refusals import Fault, RefusalCode
from placet.protocol.states import DecisionKind
from runs.rules.refusal import Refusal
from tests.cast import EDITABLE, PAYMENT, Cast, question
from tests.web.browser import browser, codes, hidden, look, onward, send, words

pytestmark = pytest.mark.django_db

NEVER_BY_AN_ANSWER = {
    RefusalCode.UNAUTHENTICATED,
    RefusalCode.RATE_LIMITED,
    RefusalCode.IDEMPOTENCY_KEY_REUSED,
    RefusalCode.NOT_FOUND,
    RefusalCode.LEASE_HELD,
    RefusalCode.LEASE_LOST,
    RefusalCode.EVIDENCE_REQUIRED,
    RefusalCode.NOT_APPROVED,
    RefusalCode.ALREADY_DISPATCHED,
    RefusalCode.APPROVAL_EXPIRED,
    RefusalCode.PAGE_NOT_VERIFIED,
}
"""What only agents get, or what has a page of its own."""

NOTHING = Queue(None, 0)


def told(code: RefusalCode, interrupt: Interrupt, cast: Cast, **members: object) -> Panel:
    """The panel of a refusal on the page of an open question."""
    refusal = Refusal(code=code, faults=(Fault("/x", "Wrong."),))
    return panel(refusal, interrupt, cast.rae, is_open=True, queue=NOTHING, **members)  # type: ignore[arg-type]


def test_every_code_that_an_answer_can_get_says_what_to_do_next() -> None:
    assert set(REMEDIES) == set(RefusalCode) - NEVER_BY_AN_ANSWER
    assert all(str(remedy).endswith(".") for remedy in REMEDIES.values())


@pytest.mark.parametrize("code", [code for code in RefusalCode if code not in NEVER_BY_AN_ANSWER])
def test_every_panel_has_a_title_a_text_and_one_way(cast: Cast, code: RefusalCode) -> None:
    interrupt = cast.ask(cast.run())

    shown = told(code, interrupt, cast, given_sha256=interrupt.asked_sha256)

    assert shown.title == code.sentence
    assert shown.remedy
    assert shown.way.href.startswith(("#", "/")) and shown.way.words


@pytest.mark.parametrize(
    ("code", "href", "words"),
    [
        (RefusalCode.REASON_REQUIRED, "#reason", "Write the reason"),
        (RefusalCode.INVALID_EDIT, "#your-answer", "Correct your answer"),
        (RefusalCode.INVALID_JSON, "#your-answer", "Correct your answer"),
        (RefusalCode.STALE_REVISION, "#your-answer", "Answer again"),
        (RefusalCode.NOT_SHOWN, "#asked", "Read what is asked now"),
    ],
)
def test_an_open_question_leads_to_what_has_to_be_mended(
    cast: Cast, code: RefusalCode, href: str, words: str
) -> None:
    interrupt = cast.ask(cast.run())

    way = told(code, interrupt, cast, given_sha256=interrupt.asked_sha256).way

    assert (way.href, way.words) == (href, words)


def test_a_question_that_is_over_leads_to_the_next_or_to_the_inbox(cast: Cast) -> None:
    over, following = cast.ask(cast.run()), cast.ask(cast.run())
    refusal = Refusal(code=RefusalCode.EXPIRED)

    more = panel(refusal, over, cast.rae, is_open=False, queue=Queue(following.pk, 1)).way
    none = panel(refusal, over, cast.rae, is_open=False, queue=NOTHING).way

    assert (more.href, more.words) == (f"/interrupts/{following.pk}/", "Next question")
    assert (none.href, none.words) == ("/", "Back to the inbox")


def test_the_form_of_an_earlier_attempt_is_told_by_its_difference(cast: Cast) -> None:
    """H-25: whichever of revision and digest is noticed first, the page says what differs."""
    run = cast.run()
    old = cast.ask(run)
    rae = browser(cast.rae)
    form = hidden(look(rae, old))
    new = cast.ask(run, question(args=PAYMENT | {"amount_paise": 1}))

    by_digest = send(rae, new, form, decision="approve")
    by_revision = send(rae, new, form | {"revision": "7"}, decision="approve")

    assert codes(by_digest) == ["digest_mismatch"] and codes(by_revision) == ["stale_revision"]
    for page in (by_digest, by_revision):
        assert "What is different now /args/amount_paise 40000000 → 1" in words(page)
        assert onward(page) == ["#asked"]


def test_a_late_answer_learns_what_another_changed_and_why(cast: Cast) -> None:
    interrupt = cast.ask(cast.run(), question(args_schema=EDITABLE))
    rae = browser(cast.rae)
    form = hidden(look(rae, interrupt))
    edited = PAYMENT | {"amount_paise": 5}
    cast.decide(interrupt, cast.rob, decision=DecisionKind.EDIT, args=edited, reason="Too much")

    page = send(rae, interrupt, form, decision="approve")

    said = words(page)
    assert "rob approved this with other arguments" in said and "Too much" in said
    assert "What is different now /args/amount_paise 40000000 → 5" in said


def test_values_that_are_masked_stay_so_in_the_difference(cast: Cast) -> None:
    """H-36: a refusal tells that a secret changed, and neither value."""
    run = cast.run()
    old = cast.ask(run, question(args={"k": "hunter2"}, sensitive=("/k",)))
    rae = browser(cast.rae)
    form = hidden(rae.post(f"/interrupts/{old.pk}/reveal/"))
    cast.ask(run, question(args={"k": "hunter3"}, sensitive=("/k",)))

    html = send(rae, old, form, decision="approve").content.decode()

    assert "differs; the value is masked" in html
    assert "hunter" not in html
