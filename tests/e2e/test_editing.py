"""The form over the JSON of the arguments: exact, in step with the text, usable by keyboard."""

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from approvals.models import Decision, Interrupt
from placet.protocol.canonical import canonical
from placet.protocol.digest import canonical_asked, sha256_hex
from placet.protocol.reading import read_json
from tests.cast import Cast, question
from tests.e2e.conftest import SignIn

pytestmark = pytest.mark.django_db(transaction=True)

TYPES: dict[str, Any] = {
    "cents": 4900,
    "dry_run": False,
    "ids": [1, 2],
    "note": None,
    "zip": "01234",
}
ODD: dict[str, Any] = {
    "amount": 1250.5,
    "body": "one\r\ntwo\r\n",
    "mixed": "one\r\ntwo\nthree\r",
    "bidi": "/tmp/\u202egpj.exe\u200b",
    "blanks": "  two before, three after   ",
    "breaks": "a\u2028b\u0085c\u00a0d\te",
    "nfd": "e\u0301 \u00e9",
    "quotes": 'say "yes" \\ no \u0001 </textarea><b>',
    "big": 9007199254740991,
    "small": 1e-7,
    "emoji": "\U0001f44d\ufe0f",
    "empty": "",
    "a/b~c \u200b": "odd name",
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "cents": {"type": "integer", "minimum": 1, "title": "Amount", "description": "In cents"},
        "dry_run": {"type": "boolean"},
        "ids": {"type": "array", "items": {"type": "integer"}, "maxItems": 4},
        "note": {"type": ["string", "null"]},
        "zip": {"type": "string", "pattern": "^[0-9]{5}$"},
        "mode": {"enum": ["fast", "slow", 1]},
    },
    "required": ["cents", "zip"],
}


def open_form(page: Page, interrupt: Interrupt) -> Locator:
    """The form of a question's arguments."""
    page.goto(f"/interrupts/{interrupt.pk}/")
    page.get_by_text("Change the arguments").click()
    form = page.locator("#fields")
    expect(form.locator("[data-at]").first).to_be_visible()
    return form


def raw(page: Page) -> str:
    """The JSON that would be sent."""
    return page.locator("#args").input_value()


def approve_edit(page: Page) -> Decision:
    """Press Edit once the changes are there, and give the decision that this made."""
    expect(page.locator("#edit[data-current] #changes .digest")).to_be_visible()
    page.get_by_role("button", name="Edit", exact=True).click()
    expect(page.get_by_text("rae approved this with other arguments").first).to_be_visible()
    return Decision.objects.get()


def test_a_number_changed_in_the_form_stays_a_number_and_the_rest_every_byte(
    cast: Cast, sign_in: SignIn
) -> None:
    """H-33: the difference and the new digest are seen before anything is sent."""
    interrupt = cast.ask(cast.run(), question(args=TYPES, args_schema=SCHEMA))
    page = sign_in(cast.rae)
    form = open_form(page, interrupt)

    box = form.get_by_label("cents", exact=True)
    expect(box).to_have_attribute("inputmode", "numeric")
    box.fill("5000")

    edited = TYPES | {"cents": 5000}
    digest = sha256_hex(canonical_asked(tool="pay_vendor", args=edited, target=None))
    expect(page.locator("#changes ins")).to_have_text("5000")
    expect(page.locator("#changes .digest")).to_have_text(digest)
    expect(form.locator(".was:visible")).to_contain_text("Was 4900")
    decision = approve_edit(page)
    assert canonical(decision.args) == (
        '{"cents":5000,"dry_run":false,"ids":[1,2],"note":null,"zip":"01234"}'
    )
    assert decision.approved_sha256 == digest


def test_texts_that_nobody_touched_keep_every_byte(cast: Cast, sign_in: SignIn) -> None:
    interrupt = cast.ask(cast.run(), question(args=ODD, args_schema={"type": "object"}))
    page = sign_in(cast.rae, viewport={"width": 1280, "height": 2000})
    form = open_form(page, interrupt)

    form.get_by_label("amount", exact=True).fill("1250.75")

    expect(page.locator("#changes li")).to_have_count(1)
    assert canonical(approve_edit(page).args) == canonical(ODD | {"amount": 1250.75})


def test_line_ends_of_a_text_stay_as_they_were(cast: Cast, sign_in: SignIn) -> None:
    """A box of text holds LF alone: CR LF comes back only where every line ended so."""
    args = {"crlf": "one\r\ntwo", "lf": "one\ntwo", "mixed": "one\r\ntwo\nthree"}
    interrupt = cast.ask(cast.run(), question(args=args, args_schema={"type": "object"}))
    page = sign_in(cast.rae)
    form = open_form(page, interrupt)

    form.get_by_label("crlf", exact=True).fill("one\nTWO\nthree")
    form.get_by_label("lf", exact=True).fill("one\nTWO\nthree")
    mixed = form.get_by_label("mixed", exact=True)
    mixed.fill(mixed.input_value().replace("two", "TWO"))

    expect(page.locator("#changes li")).to_have_count(3)
    assert approve_edit(page).args == {
        "crlf": "one\r\nTWO\r\nthree",
        "lf": "one\nTWO\nthree",
        "mixed": "one\r\nTWO\nthree",
    }


def test_empty_null_and_left_out_are_told_apart(cast: Cast, sign_in: SignIn) -> None:
    args = {"cents": 1, "zip": "01234", "note": "a", "memo": "b", "extra": "c"}
    interrupt = cast.ask(cast.run(), question(args=args, args_schema=SCHEMA))
    page = sign_in(cast.rae)
    form = open_form(page, interrupt)

    form.get_by_label("memo", exact=True).fill("")
    form.get_by_role("button", name="Leave out: extra").click()
    expect(form.get_by_role("button", name="Undo: extra")).to_be_focused()
    expect(form.locator('[data-at="/extra"]')).to_contain_text("left out")
    form.get_by_label("Kind of value: note").select_option(label="null")
    expect(form.locator('[data-at="/note"] .was')).to_contain_text('Was "a"')
    form.get_by_role("button", name="Add: mode").click()
    expect(form.get_by_label("mode", exact=True)).to_be_focused()
    form.get_by_label("mode", exact=True).select_option(label="1")

    expect(form.get_by_role("button", name="Leave out: zip")).to_have_count(0)
    expect(page.locator("#changes li")).to_have_count(4)
    assert approve_edit(page).args == {
        "cents": 1,
        "zip": "01234",
        "note": None,
        "memo": "",
        "mode": 1,
    }


def test_a_truth_a_choice_and_a_list_are_changed_in_the_form(cast: Cast, sign_in: SignIn) -> None:
    args = TYPES | {"mode": "fast", "ids": [1, 2, 3]}
    interrupt = cast.ask(cast.run(), question(args=args, args_schema=SCHEMA))
    page = sign_in(cast.rae)
    form = open_form(page, interrupt)

    form.get_by_role("radio", name="true").check(force=True)
    form.get_by_label("mode", exact=True).select_option(label="slow")
    form.get_by_role("button", name="Remove: ids 0").click()
    expect(form.locator('[data-at^="/ids/"]')).to_have_count(2)
    form.get_by_role("button", name="Add to the list: ids").click()
    expect(form.get_by_label("2", exact=True)).to_be_focused()
    page.keyboard.press("Control+a")
    page.keyboard.type("40")
    form.get_by_role("button", name="Move up: ids 2").click()
    expect(form.get_by_role("button", name="Move up: ids 1")).to_be_focused()

    expect(page.locator("#changes")).to_contain_text("/args/mode")
    assert read_json(raw(page).encode()) == args | {
        "dry_run": True,
        "mode": "slow",
        "ids": [2, 40, 3],
    }
    assert approve_edit(page).args == args | {"dry_run": True, "mode": "slow", "ids": [2, 40, 3]}


def test_every_change_can_be_undone_by_itself(cast: Cast, sign_in: SignIn) -> None:
    interrupt = cast.ask(cast.run(), question(args=TYPES, args_schema=SCHEMA))
    page = sign_in(cast.rae)
    form = open_form(page, interrupt)

    form.get_by_label("cents", exact=True).fill("1")
    form.get_by_role("button", name="Remove: ids 0").click()
    form.get_by_role("button", name="Leave out: dry_run").click()
    form.get_by_role("button", name="Add: mode").click()
    for name in ("cents", "dry_run", "ids", "mode"):
        form.get_by_role("button", name=f"Undo: {name}", exact=True).click()

    expect(form.locator(".was:visible")).to_have_count(0)
    expect(page.locator("#changes")).to_contain_text("Nothing:")
    expect(form.get_by_label("cents", exact=True)).to_have_value("4900")
    assert read_json(raw(page).encode()) == TYPES


def test_faults_stand_at_their_place_while_one_types(cast: Cast, sign_in: SignIn) -> None:
    interrupt = cast.ask(cast.run(), question(args=TYPES, args_schema=SCHEMA))
    page = sign_in(cast.rae)
    form = open_form(page, interrupt)
    cents, zip_code = (form.get_by_label(name, exact=True) for name in ("cents", "zip"))
    fault = form.locator('[data-at="/cents"] .fault')

    for wrong, said in (("9007199254740993", "2^53"), ("1.5", "integer"), ("0", "minimum")):
        cents.fill(wrong)
        expect(fault).to_contain_text(said)
        expect(cents).to_have_attribute("aria-invalid", "true")
    zip_code.fill("123")
    expect(form.locator('[data-at="/zip"] .fault')).to_be_visible()
    cents.fill("12")
    expect(fault).to_be_hidden()
    expect(cents).not_to_have_attribute("aria-invalid", "true")
    zip_code.fill("12345")
    expect(form.locator(".fault:visible")).to_have_count(0)
    assert approve_edit(page).args == TYPES | {"cents": 12, "zip": "12345"}


def test_an_unfinished_number_approves_nothing(cast: Cast, sign_in: SignIn) -> None:
    """What is half typed is neither made a text nor passed over."""
    interrupt = cast.ask(cast.run(), question(args=TYPES, args_schema=SCHEMA))
    page = sign_in(cast.rae)
    form = open_form(page, interrupt)
    cents = form.get_by_label("cents", exact=True)

    for wrong in ("", "4,900", "05", "12a", "1."):
        cents.fill(wrong)
        expect(form.locator('[data-at="/cents"] .fault')).to_contain_text("This is no number")
        for name in ("Edit", "Approve"):
            button = page.get_by_role("button", name=name, exact=True)
            expect(button).to_have_attribute("aria-disabled", "true")
            button.click(force=True)
            expect(cents).to_be_focused()
    cents.press("Enter")

    assert read_json(raw(page).encode()) == TYPES
    assert not Decision.objects.exists()


def test_what_was_half_typed_on_the_way_to_a_fault_stays_nowhere(
    cast: Cast, sign_in: SignIn
) -> None:
    """12500000 becomes 12, then "12,": the 12 is neither in the text nor among the changes."""
    asked = TYPES | {"cents": 12500000}
    interrupt = cast.ask(cast.run(), question(args=asked, args_schema=SCHEMA))
    page = sign_in(cast.rae)
    form = open_form(page, interrupt)
    cents = form.get_by_label("cents", exact=True)
    changes = page.locator("#changes")

    cents.fill("12")
    expect(changes.locator("ins")).to_have_text("12")
    cents.press_sequentially(",000,000")

    expect(changes).to_contain_text("This is no number")
    expect(changes.locator("ins, .digest")).to_have_count(0)
    assert read_json(raw(page).encode()) == asked
    page.get_by_role("radio", name="JSON").click(force=True)
    expect(cents).to_be_focused()
    expect(page.get_by_role("radio", name="Form")).to_be_checked()
    expect(page.get_by_label("Arguments as JSON")).to_be_hidden()
    form.get_by_role("button", name="Leave out: dry_run").click()
    expect(cents).to_be_focused()
    assert read_json(raw(page).encode()) == asked

    cents.fill("12")
    expect(changes.locator("ins")).to_have_text("12")
    cents.fill("12,")
    form.get_by_role("button", name="Undo: cents", exact=True).click()
    expect(changes).to_contain_text("Nothing:")
    expect(cents).to_have_value("12500000")
    expect(page.get_by_role("button", name="Edit", exact=True)).to_have_count(0)
    expect(page.get_by_role("button", name="Approve")).not_to_have_attribute(
        "aria-disabled", "true"
    )
    assert not Decision.objects.exists()


def test_the_bar_offers_the_answer_that_fits(cast: Cast, sign_in: SignIn) -> None:
    """Approve is for what was asked; Edit, and what it approves, for anything else."""
    interrupt = cast.ask(cast.run(), question(args=TYPES, args_schema=SCHEMA))
    page = sign_in(cast.rae)
    page.goto(f"/interrupts/{interrupt.pk}/")
    bar = page.locator("[data-bar]")
    approve, edit = (
        bar.get_by_role("button", name=name, exact=True) for name in ("Approve", "Edit")
    )
    expect(edit).to_have_count(0)
    bar.get_by_role("link", name="Change…").click()
    cents = page.locator("#fields").get_by_label("cents", exact=True)

    cents.fill("5000")
    expect(bar).to_contain_text("Approves your change: /args/cents 4900 → 5000")
    expect(edit).to_have_class("primary")
    expect(approve).to_have_attribute("aria-disabled", "true")
    expect(approve).to_have_accessible_description("Undo your changes to approve what was asked.")
    expect(page.get_by_role("button", name="Edit", exact=True)).to_have_count(1)
    approve.click(force=True)
    expect(bar.get_by_role("button", name="Undo your changes")).to_be_focused()
    cents.fill("0")
    expect(bar).to_contain_text("Your changes are not right yet")
    expect(edit).not_to_have_class("primary")
    page.get_by_role("button", name="Undo your changes").click()
    expect(cents).to_have_value("4900")
    expect(edit).to_have_count(0)
    expect(approve).to_have_class("primary")
    assert raw(page).count("4900") == 1
    approve.click()

    expect(page.get_by_text("rae approved this").first).to_be_visible()
    assert Decision.objects.get().kind == "approve"


def test_enter_in_a_field_approves_nothing(cast: Cast, sign_in: SignIn) -> None:
    interrupt = cast.ask(cast.run(), question(args=TYPES, args_schema=SCHEMA))
    page = sign_in(cast.rae)
    requests: list[str] = []
    form = open_form(page, interrupt)
    page.on("request", lambda request: requests.append(request.url))

    form.get_by_label("zip", exact=True).press("Enter")
    form.get_by_label("cents", exact=True).press("Enter")
    page.keyboard.press("Tab")
    form.get_by_label("zip", exact=True).fill("54321")
    expect(page.locator("#changes")).to_contain_text("54321")

    assert [url for url in requests if url.endswith("/decide/")] == []
    assert not Decision.objects.exists()


def test_an_edit_goes_out_only_once_its_changes_have_been_seen(cast: Cast, sign_in: SignIn) -> None:
    interrupt = cast.ask(cast.run(), question(args=TYPES, args_schema=SCHEMA))
    page = sign_in(cast.rae)
    form = open_form(page, interrupt)
    expect(page.locator("#changes")).to_contain_text("Nothing:")

    form.get_by_label("cents", exact=True).fill("5000")
    page.get_by_role("button", name="Edit", exact=True).click()

    expect(page.locator("#changes ins")).to_have_text("5000")
    expect(page.locator("#edit")).to_contain_text("Press Edit again to approve it.")
    assert not Decision.objects.exists()
    assert approve_edit(page).args == TYPES | {"cents": 5000}


def test_form_and_json_stay_in_step(cast: Cast, sign_in: SignIn) -> None:
    """Spelling that one chose in the text outlives what is changed beside it in the form."""
    interrupt = cast.ask(cast.run(), question(args=TYPES, args_schema=SCHEMA))
    page = sign_in(cast.rae)
    form = open_form(page, interrupt)

    page.get_by_role("radio", name="JSON").check(force=True)
    expect(form).to_be_hidden()
    box = page.get_by_label("Arguments as JSON")
    box.fill(
        '{"zip": "\\u0030\\u00311", "cents": 1.0, "ids": [1e1,\n 2], "more": {"deep": [true]}}'
    )
    page.get_by_role("radio", name="Form").check(force=True)
    expect(form.get_by_label("zip", exact=True)).to_have_value("011")
    expect(form.get_by_label("cents", exact=True)).to_have_value("1")
    form.get_by_label("zip", exact=True).fill("12345")
    form.get_by_role("radio", name="false").check(force=True)

    assert raw(page) == (
        '{"zip": "12345", "cents": 1.0, "ids": [1e1,\n 2], "more": {"deep": [false]}}'
    )
    page.get_by_role("radio", name="JSON").check(force=True)
    box.fill('{"cents": 1,')
    page.get_by_role("radio", name="Form").check(force=True)
    expect(page.locator("#changes")).to_contain_text("the text ends")
    expect(box).to_be_visible()
    expect(page.get_by_role("radio", name="JSON")).to_be_checked()


def test_only_the_touched_place_of_the_text_changes(cast: Cast, sign_in: SignIn) -> None:
    """Blanks, escapes and spellings of numbers around it stay as they were typed."""
    interrupt = cast.ask(
        cast.run(), question(args={"a": 1, "z": {"n": 1}}, args_schema={"type": "object"})
    )
    page = sign_in(cast.rae)
    form = open_form(page, interrupt)
    page.get_by_role("radio", name="JSON").check(force=True)
    page.get_by_label("Arguments as JSON").fill(
        '{ "l" : [ 1.0 ,2e0,\n\t3 ],\n\n "\\u0061":"\\u0041",\n "z":{}, "o" : {"p":[true]} }'
    )
    page.get_by_role("radio", name="Form").check(force=True)
    expect(form.get_by_label("a", exact=True)).to_have_value("A")

    def press(name: str, text: str) -> None:
        form.get_by_role("button", name=name, exact=True).click()
        expect(page.locator("#args")).to_have_value(text)
        expect(form).not_to_have_attribute("inert", "")

    press(
        "Move down: l 0",
        '{ "l" : [ 2e0 ,1.0,\n\t3 ],\n\n "\\u0061":"\\u0041",\n "z":{}, "o" : {"p":[true]} }',
    )
    press(
        "Remove: l 2",
        '{ "l" : [ 2e0 ,1.0 ],\n\n "\\u0061":"\\u0041",\n "z":{}, "o" : {"p":[true]} }',
    )
    press(
        "Remove: l 0",
        '{ "l" : [ 1.0 ],\n\n "\\u0061":"\\u0041",\n "z":{}, "o" : {"p":[true]} }',
    )
    press(
        "Add to the list: l",
        '{ "l" : [ 1.0, 0 ],\n\n "\\u0061":"\\u0041",\n "z":{}, "o" : {"p":[true]} }',
    )
    press(
        "Leave out: a",
        '{ "l" : [ 1.0, 0 ],\n\n "z":{}, "o" : {"p":[true]} }',
    )
    press(
        "Undo: a",
        '{ "l" : [ 1.0, 0 ],\n\n "z":{}, "o" : {"p":[true]}, "a": 1 }',
    )
    press(
        "Undo: n",
        '{ "l" : [ 1.0, 0 ],\n\n "z":{"n": 1}, "o" : {"p":[true]}, "a": 1 }',
    )
    press("Remove: p 0", '{ "l" : [ 1.0, 0 ],\n\n "z":{"n": 1}, "o" : {"p":[]}, "a": 1 }')
    press("Leave out: l", '{ "z":{"n": 1}, "o" : {"p":[]}, "a": 1 }')
    press("Leave out: o", '{ "z":{"n": 1}, "a": 1 }')
    expect(page.locator("#changes")).to_contain_text("Nothing:")


def test_everything_is_done_by_keyboard(cast: Cast, sign_in: SignIn) -> None:
    interrupt = cast.ask(cast.run(), question(args=TYPES, args_schema=SCHEMA))
    page = sign_in(cast.rae)
    page.goto(f"/interrupts/{interrupt.pk}/")
    page.get_by_text("Change the arguments").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_label("cents", exact=True)).to_be_visible()

    def tab_to(name: str) -> None:
        for _ in range(40):
            page.keyboard.press("Tab")
            found = page.evaluate(
                """() => {
                    const now = document.activeElement;
                    return now.getAttribute("aria-label") || now.labels?.[0]?.textContent.trim()
                        || now.textContent.trim();
                }"""
            )
            if found == name:
                return
        raise AssertionError(f"{name} cannot be reached")

    tab_to("cents")
    page.keyboard.press("Control+a")
    page.keyboard.type("77")
    tab_to("false")
    page.keyboard.press("ArrowLeft")
    tab_to("Remove: ids 0")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Remove: ids 0")).to_be_focused()
    expect(page.locator("#edit[data-current] #changes")).to_contain_text("77")
    tab_to("Edit")
    page.keyboard.press("Enter")

    expect(page.get_by_text("rae approved this with other arguments").first).to_be_visible()
    assert Decision.objects.get().args == TYPES | {"cents": 77, "dry_run": True, "ids": [2]}


def test_a_lost_connection_while_typing_keeps_the_form(cast: Cast, sign_in: SignIn) -> None:
    interrupt = cast.ask(cast.run(), question(args=TYPES, args_schema=SCHEMA))
    page = sign_in(cast.rae)
    form = open_form(page, interrupt)
    page.route("**/preview/", lambda route: route.abort("connectionreset"))

    form.get_by_label("cents", exact=True).fill("5000")

    expect(page.locator("#changes")).to_contain_text("the connection was lost")
    expect(page.locator("#notice")).to_be_empty()
    page.unroute("**/preview/")
    form.get_by_label("cents", exact=True).fill("5001")
    assert approve_edit(page).args == TYPES | {"cents": 5001}


def test_a_question_that_ended_while_one_types_says_so(cast: Cast, sign_in: SignIn) -> None:
    run = cast.run()
    interrupt = cast.ask(run, question(args=TYPES, args_schema=SCHEMA))
    page = sign_in(cast.rae)
    form = open_form(page, interrupt)
    cast.ask(run, question(args=TYPES | {"cents": 1}, args_schema=SCHEMA))

    form.get_by_label("cents", exact=True).fill("5000")

    expect(page.locator('main [data-code="superseded"]')).to_be_visible()
    expect(page.locator("button[name=decision]")).to_have_count(0)


def test_an_ended_session_leaves_the_form_as_it_was(cast: Cast, sign_in: SignIn) -> None:
    interrupt = cast.ask(cast.run(), question(args=TYPES, args_schema=SCHEMA))
    page = sign_in(cast.rae)
    form = open_form(page, interrupt)
    cookies = [cookie for cookie in page.context.cookies() if cookie["name"] == "csrftoken"]
    page.context.clear_cookies()
    page.context.add_cookies(cookies)  # type: ignore[arg-type]

    form.get_by_role("button", name="Leave out: dry_run").click()

    expect(page.locator("#notice")).to_contain_text("You are no longer signed in")
    expect(form).not_to_have_attribute("inert", "")
    assert "dry_run" not in read_json(raw(page).encode())  # type: ignore[operator]
    expect(page.locator("#edit")).not_to_have_attribute("data-current", "")


def test_masked_values_come_into_the_form_only_once_revealed(cast: Cast, sign_in: SignIn) -> None:
    """H-36: an edit keeps the revealed value to the byte."""
    args = {"k": "hunter2\u200b", "n": 1}
    interrupt = cast.ask(
        cast.run(), question(args=args, args_schema={"type": "object"}, sensitive=("/k",))
    )
    page = sign_in(cast.rae)
    page.goto(f"/interrupts/{interrupt.pk}/")
    expect(page.get_by_text("Change the arguments")).to_have_count(0)

    page.get_by_role("button", name="Reveal the masked values").click()
    page.get_by_text("Change the arguments").click()
    page.locator("#fields").get_by_label("n", exact=True).fill("2")

    assert approve_edit(page).args == args | {"n": 2}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_the_form_and_nothing_is_beside_the_screen(
    cast: Cast, sign_in: SignIn, scheme: str
) -> None:
    args = TYPES | {"text": "one\r\ntwo", "path": "\u202egpj" + "x" * 400, "mode": "fast"}
    args["vendor"] = {"lines": [{"qty": 1, "sku": {"a": {"b": {"c": {"d": [[1]]}}}}}]}
    interrupt = cast.ask(cast.run(), question(args=args, args_schema=SCHEMA))
    page = sign_in(cast.rae, color_scheme=scheme, viewport={"width": 320, "height": 640})
    form = open_form(page, interrupt)

    form.get_by_role("button", name="Leave out: text").click()
    expect(form.get_by_role("button", name="Undo: text")).to_be_visible()
    form.get_by_label("cents", exact=True).fill("0")
    expect(form.locator('[data-at="/cents"] .fault')).to_be_visible()
    found = Axe().run(page).response["violations"]

    assert [f"{one['id']}: {node['target']}" for one in found for node in one["nodes"]] == []
    assert page.evaluate("document.documentElement.scrollWidth") == 320
    page.get_by_role("radio", name="JSON").check(force=True)
    assert Axe().run(page).response["violations"] == []
    assert page.evaluate("document.documentElement.scrollWidth") == 320


def test_the_agents_titles_and_names_are_text(cast: Cast, sign_in: SignIn) -> None:
    """What a schema says is the agent's word too: no markup, nothing hidden."""
    bad = "<img src=x onerror=alert(1)>\u202e"
    schema = {"properties": {bad: {"title": bad, "description": bad, "enum": [bad, "b"]}}}
    interrupt = cast.ask(cast.run(), question(args={bad: "b"}, args_schema=schema))
    page = sign_in(cast.rae)
    form = open_form(page, interrupt)

    assert form.locator("img").count() == 0
    assert "\u202e" not in form.inner_html()
    expect(form).to_contain_text("<img src=x onerror=alert(1)>U+202E")
    form.locator("select").select_option(index=0)

    assert approve_edit(page).args == {bad: bad}
