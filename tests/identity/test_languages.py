"""Whose language a page speaks, and in whose time zone it tells times."""

from datetime import UTC, datetime

import pytest
from django.core.exceptions import ValidationError
from django.test import Client

from approvals.templatetags.texts import is_elsewhere, when, when_utc
from approvals.web.spans import about, left, span
from identity.languages import reading, zones_by_area
from identity.models import User
from tests.cast import Cast
from tests.web.browser import browser, words

pytestmark = pytest.mark.django_db

CHINESE = "zh-CN,zh;q=0.9,en;q=0.8"
MORNING = datetime(2026, 1, 31, 9, 5, 7, tzinfo=UTC)


def speaks(client: Client, path: str = "/settings/you/", **headers: str) -> tuple[str, str]:
    """The language that a page says it is in, in its head and in its header."""
    page = client.get(path, headers=headers)
    html = page.content.decode()
    return html.partition('<html lang="')[2].partition('"')[0], page.headers["Content-Language"]


@pytest.mark.parametrize(
    ("asked", "spoken"),
    [
        ("", "en"),
        ("en-US,en;q=0.9", "en"),
        (CHINESE, "zh-hans"),
        ("zh-SG", "zh-hans"),
        ("de-DE,zh-CN;q=0.5", "zh-hans"),
        ("de-DE", "en"),
        ("*", "en"),
        ("nonsense;;q=x", "en"),
    ],
)
def test_a_stranger_is_spoken_to_as_the_browser_asks(cast: Cast, asked: str, spoken: str) -> None:
    assert speaks(Client(), "/login/", accept_language=asked) == (spoken, spoken)


def test_what_a_person_chose_comes_before_what_their_browser_asks(cast: Cast) -> None:
    cast.rae.read_in(language="en", time_zone="")
    cast.alice.read_in(language="zh-hans", time_zone="")

    assert speaks(browser(cast.rae), accept_language=CHINESE) == ("en", "en")
    assert speaks(browser(cast.alice), accept_language="en") == ("zh-hans", "zh-hans")
    assert speaks(browser(cast.bob), accept_language=CHINESE) == ("zh-hans", "zh-hans")


def test_one_request_leaves_the_next_its_own_language(cast: Cast) -> None:
    """Threads serve one person after the other."""
    cast.alice.read_in(language="zh-hans", time_zone="Asia/Shanghai")

    speaks(browser(cast.alice))

    assert speaks(browser(cast.bob)) == ("en", "en")


def test_caches_are_told_what_a_page_depends_on(cast: Cast) -> None:
    for client, path in ((Client(), "/login/"), (browser(cast.rae), "/")):
        varied = client.get(path).headers["Vary"].split(", ")
        assert {"Accept-Language", "Cookie"} <= set(varied)


def test_error_pages_speak_the_language_too(cast: Cast) -> None:
    cast.rae.read_in(language="zh-hans", time_zone="")
    client = browser(cast.rae)

    missing = client.get("/nowhere/")
    not_text = client.get("/runs/?state=%ff")

    assert "这里没有你可以查看的内容" in words(missing)
    assert "提交的内容不是 UTF-8 文本" in words(not_text)


def test_the_settings_are_kept_and_shown(cast: Cast) -> None:
    rae = browser(cast.rae)

    saved = rae.post("/settings/you/", {"language": "zh-hans", "time_zone": "Asia/Shanghai"})

    assert (saved.status_code, saved.headers["Location"]) == (303, "/settings/you/?saved")
    kept = User.objects.get(pk=cast.rae.pk)
    assert (kept.language, kept.time_zone) == ("zh-hans", "Asia/Shanghai")
    html = rae.get("/settings/you/?saved").content.decode()
    assert '<option value="zh-hans" lang="zh-hans" selected>简体中文</option>' in html
    assert '<option value="Asia/Shanghai" selected>Asia/Shanghai (UTC+08:00)</option>' in html
    assert "已保存。" in html


def test_choosing_nothing_leaves_it_to_the_browser_and_utc(cast: Cast) -> None:
    cast.rae.read_in(language="zh-hans", time_zone="Asia/Shanghai")

    browser(cast.rae).post("/settings/you/", {"language": "", "time_zone": ""})

    kept = User.objects.get(pk=cast.rae.pk)
    assert (kept.language, kept.time_zone) == ("", "")


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ({"language": "tlh"}, "The pages do not speak this language."),
        ({"time_zone": "Mars/Olympus"}, "There is no time zone of this name."),
        ({"time_zone": "../../etc/passwd"}, "There is no time zone of this name."),
        ({"time_zone": "x" * 5000}, "There is no time zone of this name."),
    ],
)
def test_what_is_no_language_or_zone_is_refused_whole(
    cast: Cast, chosen: dict[str, str], said: str
) -> None:
    page = browser(cast.rae).post("/settings/you/", {"language": "en"} | chosen)

    assert page.status_code == 422
    assert said in words(page)
    assert User.objects.get(pk=cast.rae.pk).language == ""


def test_a_choice_changes_nobody_else_and_nothing_else(cast: Cast) -> None:
    browser(cast.rae).post(
        "/settings/you/", {"language": "zh-hans", "username": "root", "role": "admin"}
    )

    rae, alice = User.objects.get(pk=cast.rae.pk), User.objects.get(pk=cast.alice.pk)
    assert (rae.username, rae.role, alice.language) == ("rae", "reviewer", "")
    with pytest.raises(ValidationError):
        cast.rae.read_in(language="en", time_zone="Nowhere")


def test_a_time_is_told_in_the_zone_and_form_of_the_reader() -> None:
    with reading("", ""):
        assert when(MORNING) == "Jan 31, 2026, 09:05:07 UTC"
        assert not is_elsewhere(MORNING)
    with reading("en", "America/New_York"):
        assert when(MORNING) == "Jan 31, 2026, 04:05:07 UTC-05:00"
    with reading("zh-hans", "Asia/Shanghai"):
        assert when(MORNING) == "2026年1月31日 17:05:07 UTC+08:00"
        assert when_utc(MORNING) == "2026年1月31日 09:05:07 UTC"
        assert is_elsewhere(MORNING)
    with reading("zh-hans", "Asia/Kathmandu"):
        assert when(MORNING) == "2026年1月31日 14:50:07 UTC+05:45"


def test_a_zone_follows_its_own_summer_time() -> None:
    with reading("en", "Europe/Berlin"):
        assert when(datetime(2026, 3, 29, 0, 59, tzinfo=UTC)).endswith("01:59:00 UTC+01:00")
        assert when(datetime(2026, 3, 29, 1, 0, tzinfo=UTC)).endswith("03:00:00 UTC+02:00")


def test_a_zone_that_this_machine_does_not_know_is_utc() -> None:
    with reading("", "Mars/Olympus"):
        assert when(MORNING) == "Jan 31, 2026, 09:05:07 UTC"


def test_a_span_is_told_in_words_of_the_reader() -> None:
    with reading("", ""):
        assert [span(s) for s in (0, 59, 3600, 7500, 90_000)] == [
            "0 s",
            "59 s",
            "1 h",
            "2 h 5 min",
            "1 d 1 h",
        ]
    with reading("zh-hans", ""):
        assert span(7500) == "2 小时 5 分钟"
        assert about(7500) == "2 小时"
        assert left(datetime(2026, 1, 31, 11, 10, 7, tzinfo=UTC), MORNING) == "剩余 2 小时 5 分钟"
        assert left(MORNING, MORNING) == "已到截止时间"


def test_zones_are_offered_by_part_of_the_world_and_each_can_be_chosen(cast: Cast) -> None:
    offered = zones_by_area()

    assert {"Asia/Shanghai", "Asia/Tokyo"} <= {zone.key for zone in offered["Asia"]}
    for zones in offered.values():
        cast.rae.read_in(language="", time_zone=zones[0].key)


@pytest.mark.parametrize("path", ["/api/v1/me", "/api/v1/nothing", "/api/v1/docs", "/healthz"])
def test_answers_for_programs_are_english_whoever_asks(cast: Cast, path: str) -> None:
    """Byte for byte the same, and caches may know it."""
    cast.rae.read_in(language="zh-hans", time_zone="Asia/Shanghai")
    client, key = browser(cast.rae), {"Authorization": f"Bearer {cast.key}"}

    plain = Client().get(path, headers=key)
    asked = client.get(path, headers=key | {"Accept-Language": CHINESE})

    assert (asked.status_code, asked.headers["Content-Type"]) == (
        plain.status_code,
        plain.headers["Content-Type"],
    )
    assert "Accept-Language" not in asked.headers.get("Vary", "")
    if path != "/api/v1/docs":  # the page has the name of whoever is signed in
        assert asked.content == plain.content
    else:
        assert '<html lang="en">' in asked.content.decode()
