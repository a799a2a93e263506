"""Choosing a language and a zone in a browser, and what the page's clock then says."""

import re

import pytest
from playwright.sync_api import Browser, expect

from tests.cast import Cast, question
from tests.e2e.conftest import SignIn
from tests.e2e.test_pages_for_everybody import faults, sideways

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_person_chooses_chinese_and_the_zone_of_their_device(cast: Cast, sign_in: SignIn) -> None:
    interrupt = cast.ask(cast.run(), question(description="Pay"))
    page = sign_in(cast.rae, timezone_id="Asia/Shanghai")

    page.get_by_role("link", name="rae").click()
    page.get_by_label("Language").select_option("zh-hans")
    page.get_by_role("button", name="Use this device’s zone: Asia/Shanghai").click()
    expect(page.get_by_label("Time zone")).to_have_value("Asia/Shanghai")
    page.get_by_role("button", name="Save").click()

    expect(page.get_by_role("status").filter(has_text="已保存。")).to_be_visible()
    assert page.evaluate("document.documentElement.lang") == "zh-hans"
    page.goto(f"/interrupts/{interrupt.pk}/")
    clock = page.locator("[data-countdown]").first
    expect(clock).to_have_text(re.compile("^剩余 23 小时 59 分钟$"))
    clock.evaluate("place => { place.textContent = ''; }")
    expect(clock).to_have_text(re.compile("^剩余 23 小时 5[89] 分钟$"))


def test_a_stranger_whose_browser_asks_for_it_signs_in_in_chinese(
    cast: Cast, live: str, chromium: Browser
) -> None:
    context = chromium.new_context(base_url=live, locale="zh-CN")
    page = context.new_page()

    page.goto("/login/")

    assert page.evaluate("document.documentElement.lang") == "zh-hans"
    expect(page.get_by_role("button", name="登录")).to_be_visible()
    context.close()


def test_ones_settings_are_for_everybody(cast: Cast, sign_in: SignIn) -> None:
    page = sign_in(cast.rae, color_scheme="dark", timezone_id="Asia/Shanghai")
    page.set_viewport_size({"width": 320, "height": 720})

    page.goto("/settings/you/")
    page.get_by_role("button", name="Use this device’s zone").wait_for()

    assert faults(page) == []
    assert sideways(page) == 0


def test_without_scripts_the_settings_work_and_offer_nothing_that_does_not(
    cast: Cast, live: str, chromium: Browser
) -> None:
    context = chromium.new_context(base_url=live, java_script_enabled=False)
    page = context.new_page()
    page.goto("/settings/you/")
    page.get_by_label("Login name").fill("rae")
    page.get_by_label("Password").fill("correct horse battery")
    page.get_by_role("button", name="Sign in").click()

    expect(page.get_by_text("Use this device’s zone")).to_be_hidden()
    page.get_by_label("Language").select_option("zh-hans")
    page.get_by_role("button", name="Save").click()

    expect(page.get_by_text("已保存。")).to_be_visible()
    context.close()
