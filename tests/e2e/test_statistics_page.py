"""The plots in a browser: readable by all in both schemes, whole at every width."""

import pytest
from playwright.sync_api import expect

from tests.cast import Cast
from tests.e2e.conftest import SignIn
from tests.e2e.test_pages_for_everybody import faults, sideways
from tests.story import Story

pytestmark = pytest.mark.django_db(transaction=True)

PATH = "/statistics/?from=2026-06-10&to=2026-06-10"
OPEN_ALL = "document.querySelectorAll('details').forEach(each => { each.open = true })"


@pytest.fixture
def answered(cast: Cast) -> Cast:
    """Answers of every kind, with a name that is longer than any screen."""
    story = Story(cast)
    for number in range(12):
        kind = ("approve", "edit", "reject", "respond", "done")[number % 5]
        tool = f"tool.{'of_many_words_' * 8}" if number % 2 else "pay_vendor"
        person = cast.rob if number % 3 else cast.rae
        story.answered(person, kind=kind, looked_s=3**number / 9, waited_s=3**number, tool=tool)
    return cast


@pytest.mark.parametrize(("width", "scheme"), [(320, "dark"), (1280, "light")])
def test_axe_finds_nothing_in_long_names_and_letters_keep_their_size(
    sign_in: SignIn, answered: Cast, width: int, scheme: str
) -> None:
    page = sign_in(answered.otto, viewport={"width": width, "height": 800}, color_scheme=scheme)
    page.goto(PATH)

    page.evaluate(OPEN_ALL)

    assert faults(page) == []
    for other in (390, 768, width):
        page.set_viewport_size({"width": other, "height": 800})
        assert sideways(page) == 0, other
    heights = page.locator(".plot text.count").evaluate_all(
        "all => all.map(each => Math.round(each.getBoundingClientRect().height))"
    )
    assert heights and min(heights) >= 12


def test_a_name_in_a_plot_narrows_the_page(sign_in: SignIn, answered: Cast) -> None:
    page = sign_in(answered.otto)
    page.goto(PATH)

    page.locator("#persons").get_by_role("link", name="rob").click()

    expect(page.get_by_role("textbox", name="Person")).to_have_value("rob")
    expect(page.locator(".sums dd").first).to_have_text("8")


def test_each_pattern_of_the_legend_fills_its_box(sign_in: SignIn, answered: Cast) -> None:
    page = sign_in(answered.otto)
    page.goto(PATH)

    boxes = page.locator(".legend .swatch").evaluate_all(
        "all => all.map(each => [each, each.firstElementChild].map(part => {"
        " const box = part.getBoundingClientRect(); return [box.width, box.height] }))"
    )

    assert boxes and boxes == [[[22, 12], [22, 12]]] * len(boxes)
