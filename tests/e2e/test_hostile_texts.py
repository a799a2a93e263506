"""H-32: every hostile text in a real browser: read in the order of sending, copied exactly."""

import pytest
from playwright.sync_api import Page

from approvals.models import Interrupt
from tests.cast import Cast, question
from tests.e2e.conftest import SignIn
from tests.hostile import HOSTILE

pytestmark = pytest.mark.django_db(transaction=True)

COPY = """(value) => {
  const selection = window.getSelection();
  selection.removeAllRanges();
  const range = document.createRange();
  range.selectNodeContents(value);
  selection.addRange(range);
  const event = new ClipboardEvent("copy", {
    clipboardData: new DataTransfer(), bubbles: true, cancelable: true,
  });
  document.dispatchEvent(event);
  return event.defaultPrevented ? event.clipboardData.getData("text/plain") : String(selection);
}"""

OUT_OF_ORDER = """(value) => {
  const walker = document.createTreeWalker(value, NodeFilter.SHOW_TEXT);
  const wrong = [];
  let last = null;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    for (let at = 0; at < node.data.length; at += 1) {
      const range = document.createRange();
      range.setStart(node, at);
      range.setEnd(node, at + 1);
      const [rect] = range.getClientRects();
      if (!rect || !rect.width) continue;
      const isLower = last && rect.top > last.bottom - 2;
      if (last && !isLower && rect.left < last.left - 0.5) wrong.push(node.data.slice(at, at + 8));
      last = rect;
    }
  }
  return wrong;
}"""

TOO_WIDE = """() => [...document.querySelectorAll("main *")]
  .filter((one) => one.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5)
  .map((one) => `${one.tagName}.${one.className}: ${one.textContent.slice(0, 40)}`)"""


@pytest.fixture
def asked(cast: Cast) -> Interrupt:
    """One question with every hostile text, each under a name of its own."""
    args = {f"t{number:03}": one.text for number, one in enumerate(HOSTILE)}
    return cast.ask(
        cast.run(title="שלם 100 ל 200"), question(args=args, description="לשלם 100 ל 200")
    )


def open_it(page: Page, asked: Interrupt) -> Page:
    page.goto(f"/interrupts/{asked.pk}/")
    page.locator(".tree").first.wait_for()
    return page


def test_what_is_copied_is_the_text_itself(cast: Cast, sign_in: SignIn, asked: Interrupt) -> None:
    page = open_it(sign_in(cast.rae), asked)

    values = page.locator(".tree > li .value").element_handles()
    copied = [value.evaluate(COPY) for value in values]

    assert dict(zip((one.name for one in HOSTILE), copied, strict=True)) == {
        one.name: one.text for one in HOSTILE
    }


def test_the_order_of_reading_is_the_order_of_sending(
    cast: Cast, sign_in: SignIn, asked: Interrupt
) -> None:
    page = open_it(sign_in(cast.rae), asked)

    values = page.locator(".tree > li .value, h1, .words, pre.exact").element_handles()
    found = [value.evaluate(OUT_OF_ORDER) for value in values]

    assert [wrong for wrong in found if wrong] == []
    assert len(found) > len(HOSTILE)


@pytest.mark.parametrize("width", [320, 1280])
def test_nothing_of_them_is_wider_than_the_window(
    cast: Cast, sign_in: SignIn, asked: Interrupt, width: int
) -> None:
    page = open_it(sign_in(cast.rae, viewport={"width": width, "height": 720}), asked)
    page.locator("details").evaluate_all("(all) => all.forEach((one) => { one.open = true; })")

    assert page.evaluate(TOO_WIDE) == []
