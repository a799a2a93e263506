"""The page on which a person says where and when to be told; all of it without JavaScript."""

import re
from datetime import time, timedelta
from typing import Any

import pytest
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext

from notices.models import Address, Browser, Choice, Notice
from notices.models.outbox import ASKED_FOR_MAX
from notices.rules.base64url import encoded
from notices.rules.kinds import Kind
from notices.senders.vapid import VapidKey, new_key
from tests.cast import Cast
from tests.notices.conftest import Post, code_in, reach
from tests.notices.receivers import Hook, Mailbox
from tests.web.browser import browser, codes, words

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = "/settings/notices/"
BOUNDS = {"quiet_from": "", "quiet_until": ""}


def give(client: Client, address: str = "rae@example.com", channel: str = "email") -> HttpResponse:
    return client.post(f"{PAGE}address/", {"channel": channel, "address": address})


def confirm(client: Client, code: str, channel: str = "email") -> HttpResponse:
    return client.post(f"{PAGE}confirm/", {"channel": channel, "code": code})


def test_an_address_is_used_after_its_code_came_back(
    cast: Cast, post: Post, mailbox: Mailbox
) -> None:
    client = browser(cast.rae)
    assert give(client)["Location"] == f"{PAGE}?said=code_sent#email"
    cast.ask(cast.run())
    post.round()
    assert mailbox.subjects == ["Your code for Placet"]

    code = code_in(mailbox.bodies[0])
    assert confirm(client, f"{code[:4]} {code[4:]}")["Location"] == f"{PAGE}?said=confirmed#email"
    cast.ask(cast.run())
    post.round()

    assert mailbox.subjects[1:] == ["pay_vendor waits for your answer"]
    assert "in use" in words(client.get(PAGE))


def test_a_code_goes_where_the_address_is_and_is_stored_nowhere(
    cast: Cast, post: Post, mailbox: Mailbox, hook: Hook
) -> None:
    give(browser(cast.rae), "room-1", "chat")
    post.round()

    code = code_in(hook.posts[0].body.decode())
    with connection.cursor() as cursor:
        cursor.execute("SELECT string_agg(t::text, '') FROM notices_address t")
        (stored,) = cursor.fetchone()
    assert code not in stored
    assert mailbox.mails == []


def test_five_wrong_codes_end_the_right_one(cast: Cast) -> None:
    client = browser(cast.rae)
    give(client)
    right = Address.objects.get().code()
    wrong = f"{(int(right) + 1) % 10**8:08}"
    for _ in range(5):
        response = confirm(client, wrong)
        assert response.status_code == 422
        assert "This is not the code that was sent." in words(response)

    response = confirm(client, right)

    assert response.status_code == 422
    assert "Ask for a new one" in words(response)
    assert Address.objects.get().confirmed_at is None


def test_a_code_ends_after_half_an_hour(cast: Cast) -> None:
    client = browser(cast.rae)
    give(client)
    row = Address.objects.get()
    Address.objects.update(code_at=row.code_at - timedelta(minutes=31))

    assert confirm(client, row.code()).status_code == 422
    assert Address.objects.get().confirmed_at is None


def test_a_code_is_for_one_address_of_one_person(cast: Cast) -> None:
    """Neither a changed address nor another person's code counts."""
    client, other = browser(cast.rae), browser(cast.mallory)
    give(client)
    first = Address.objects.get().code()
    give(client, "stranger@example.com")
    give(other, "stranger@example.com")

    assert confirm(client, first).status_code == 422
    assert confirm(client, Address.objects.get(user=cast.mallory).code()).status_code == 422


@pytest.mark.parametrize(
    "address",
    ["", "nobody", "a@b, c@d", "rae@example.com\r\nBcc: x@example.com", "a b@example.com"],
)
def test_what_is_no_address_is_told_at_its_field(cast: Cast, address: str) -> None:
    response = give(browser(cast.rae), address)

    assert response.status_code == 422
    assert 'aria-describedby="email-fault"' in response.content.decode()
    assert not Address.objects.exists()


def test_codes_and_tests_have_a_limit(cast: Cast) -> None:
    client = browser(cast.rae)
    for number in range(ASKED_FOR_MAX):
        assert give(client, f"stranger-{number}@example.com").status_code == 303

    response = give(client, "one-more@example.com")

    assert response.status_code == 429
    assert codes(response) == ["rate_limited"]
    assert Address.objects.get().address == f"stranger-{ASKED_FOR_MAX - 1}@example.com"


def test_a_test_goes_to_what_is_confirmed_and_nowhere_else(
    cast: Cast, post: Post, mailbox: Mailbox
) -> None:
    client = browser(cast.rae)
    give(client)
    assert client.post(f"{PAGE}test/", {"channel": "email"}).status_code == 404
    Notice.objects.all().delete()
    reach(cast.rae)

    assert client.post(f"{PAGE}test/", {"channel": "email"}).status_code == 303
    post.round()

    assert mailbox.subjects == ["A test message from Placet"]
    assert "The last message left on" in words(client.get(PAGE))


def test_wishes_are_kept(cast: Cast) -> None:
    client = browser(cast.rae)
    reach(cast.rae)
    reach(cast.rae, "chat", "room-1")

    response = client.post(
        f"{PAGE}choice/",
        {"asked": "on", "use": "chat", "quiet_from": "22:00", "quiet_until": "07:30"},
    )

    assert response["Location"] == f"{PAGE}?said=saved"
    choice = Choice.objects.get(user=cast.rae)
    assert (choice.asked, choice.reminder, choice.escalation) == (True, False, False)
    assert (choice.quiet_from, choice.quiet_until) == (time(22), time(7, 30))
    used = Address.objects.order_by("channel").values_list("channel", "is_on")
    assert list(used) == [("chat", True), ("email", False)]
    assert 'value="22:00"' in client.get(PAGE).content.decode()


@pytest.mark.parametrize(
    "bounds",
    [
        {},
        {"quiet_from": "22:00", "quiet_until": ""},
        {"quiet_from": "22:00", "quiet_until": "22:00"},
        {"quiet_from": "24:00", "quiet_until": "07:00"},
        {"quiet_from": "ten", "quiet_until": "07:00"},
    ],
)
def test_quiet_hours_that_cannot_be_meant_are_told_and_not_kept(
    cast: Cast, bounds: dict[str, str]
) -> None:
    response = browser(cast.rae).post(f"{PAGE}choice/", {"reminder": "on", **bounds})

    assert response.status_code == 422
    assert 'id="quiet-fault"' in response.content.decode()
    assert not Choice.objects.exists()


def test_an_address_can_be_taken_away(cast: Cast, post: Post, mailbox: Mailbox) -> None:
    client = browser(cast.rae)
    reach(cast.rae)

    assert client.post(f"{PAGE}remove/", {"channel": "email"}).status_code == 303
    cast.ask(cast.run())
    post.round()

    assert mailbox.mails == []


def subscription(**members: str) -> dict[str, str]:
    point = VapidKey.read(new_key()).public
    given = {"endpoint": "https://push.example.com/1", "p256dh": point, "auth": encoded(bytes(16))}
    return given | members


def test_a_browser_is_added_and_taken_away(cast: Cast) -> None:
    client = browser(cast.rae)

    assert client.post(f"{PAGE}browser/", subscription()).status_code == 303
    row = Browser.objects.get()
    assert "By push.example.com, since" in words(client.get(PAGE))
    client.post(f"{PAGE}remove/", {"channel": f"webpush:{row.pk}"})

    assert not Browser.objects.exists()


def test_a_browser_that_names_something_else_is_refused(cast: Cast) -> None:
    response = browser(cast.rae).post(
        f"{PAGE}browser/", subscription(endpoint="http://localhost:6379/")
    )

    assert response.status_code == 422
    assert not Browser.objects.exists()


def test_nobody_reaches_the_addresses_and_browsers_of_others(cast: Cast) -> None:
    """H-34: neither of another tenant nor of the same one."""
    reach(cast.rae)
    row = Browser.put(cast.rae, **subscription())
    for user in (cast.mallory, cast.alice):
        client = browser(user)
        for channel in ("email", f"webpush:{row.pk}"):
            client.post(f"{PAGE}remove/", {"channel": channel})
            assert client.post(f"{PAGE}test/", {"channel": channel}).status_code == 404
        assert "rae@example.com" not in client.get(PAGE).content.decode()

    assert Address.objects.count() == Browser.objects.count() == 1
    assert not Notice.objects.exists()


def test_the_number_for_the_icon_is_ones_own(cast: Cast) -> None:
    cast.ask(cast.run())

    told = {
        user.username: browser(user).get(f"{PAGE}waiting/").json()
        for user in (cast.rae, cast.alice, cast.bob, cast.otto, cast.mallory)
    }

    assert told == {
        "rae": {"waiting": 1},
        "alice": {"waiting": 1},
        "bob": {"waiting": 0},
        "otto": {"waiting": 0},
        "mallory": {"waiting": 0},
    }


def test_the_page_asks_the_same_of_the_database_however_much_there_is(cast: Cast) -> None:
    client = browser(cast.rae)
    few = queries(client)
    reach(cast.rae)
    reach(cast.rae, "chat", "room-1")
    for number in range(8):
        Browser.put(cast.rae, **subscription(endpoint=f"https://push.example.com/{number}"))
        Notice.ask_for(cast.rae, "email", Kind.TEST)

    assert queries(client) == few


def queries(client: Client) -> int:
    with CaptureQueriesContext(connection) as captured:
        client.get(PAGE)
    return len(captured)


def test_without_any_channel_the_page_says_so(cast: Cast, settings: Any) -> None:
    settings.PLACET_NOTICE_CHANNELS, settings.PLACET_WEBPUSH_KEY = {}, None

    assert "has not set up a way to send messages" in words(browser(cast.rae).get(PAGE))


def test_the_app_can_be_installed_and_its_worker_serves_all_pages(cast: Cast) -> None:
    client = browser(cast.rae)
    page = client.get("/").content.decode()
    manifest = re.search(r'rel="manifest" href="([^"]+)"', page)
    assert manifest is not None

    described, worker = client.get(manifest[1]), Client().get("/static/js/sw.js")
    content = b"".join(worker.streaming_content).decode()

    assert described["Content-Type"] == "application/manifest+json"
    assert worker["Service-Worker-Allowed"] == "/"
    assert worker["Cache-Control"] == "no-cache"
    assert "worker-src 'self'" in worker["Content-Security-Policy"]
    assert "caches" not in content and '"fetch"' not in content
    described.close()
    worker.close()
