"""Browsers that are woken: only they can read it, and only public addresses are reached."""

import json
from base64 import urlsafe_b64decode
from collections.abc import Iterator
from functools import partial
from ipaddress import ip_network
from typing import Any

import http_ece
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.conf import settings
from django.core.management import call_command

from notices.models import Browser, Notice
from notices.rules.base64url import decoded, encoded
from notices.senders import push
from notices.senders.vapid import VapidKey
from outward.sender import post as guarded
from tests.cast import Cast, question
from tests.notices.conftest import Post, states, wake
from tests.notices.receivers import Hook, Posted

pytestmark = pytest.mark.django_db(transaction=True)

LOOPBACK = ip_network("127.0.0.0/8")
AUTH = bytes(range(16))


@pytest.fixture
def device() -> ec.EllipticCurvePrivateKey:
    """The key that a browser keeps to itself."""
    return ec.generate_private_key(ec.SECP256R1())


@pytest.fixture
def browser(cast: Cast, hook: Hook, device: ec.EllipticCurvePrivateKey) -> Browser:
    """Rae's browser."""
    point = device.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    return wake(cast.rae, hook, encoded(point), encoded(AUTH))


@pytest.fixture
def near(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The operator of the tests lets the guarded sender reach this machine."""
    monkeypatch.setattr(push, "post", partial(guarded, allow=(LOOPBACK,), allow_http=True))
    yield


def opened(posted: Posted, device: ec.EllipticCurvePrivateKey) -> Any:
    """What the browser reads."""
    plain = http_ece.decrypt(posted.body, private_key=device, auth_secret=AUTH, version="aes128gcm")
    return json.loads(plain)


@pytest.mark.usefixtures("near")
def test_a_browser_alone_can_read_what_waits(
    cast: Cast, post: Post, hook: Hook, browser: Browser, device: Any
) -> None:
    interrupt = cast.ask(cast.run())

    post.round()

    (posted,) = hook.posts
    assert opened(posted, device) == {
        "title": "pay_vendor waits for your answer",
        "body": opened(posted, device)["body"],
        "path": f"/interrupts/{interrupt.pk}/",
        "tag": interrupt.pk,
        "waiting": 1,
    }
    assert opened(posted, device)["body"].startswith("The agent payer asks about pay_vendor, for")
    assert b"pay_vendor" not in posted.body
    assert states() == [("rae", "asked", "sent")]


@pytest.mark.usefixtures("near")
def test_the_number_for_the_icon_is_that_of_the_inbox(
    cast: Cast, post: Post, hook: Hook, browser: Browser, device: Any
) -> None:
    cast.ask(cast.run(), question(), question(call_id="call-2"))

    post.round()

    assert {opened(posted, device)["waiting"] for posted in hook.posts} == {2}


@pytest.mark.usefixtures("near")
def test_a_push_service_learns_who_sends_and_how_long_it_matters(
    cast: Cast, post: Post, hook: Hook, browser: Browser
) -> None:
    """RFC 8030 §5, RFC 8292."""
    cast.ask(cast.run(), question(expires_in_s=3600))

    post.round()

    headers = hook.posts[0].headers
    assert headers["Content-Encoding"] == "aes128gcm"
    assert 3590 <= int(headers["TTL"]) <= 3600
    assert len(urlsafe_b64decode(headers["Topic"])) == 24
    scheme, token, public = headers["Authorization"].replace(",", "").split()
    claims = jwt.decode(
        token.removeprefix("t="),
        settings.PLACET_WEBPUSH_KEY.private.public_key(),
        algorithms=["ES256"],
        audience=f"http://127.0.0.1:{hook.port}",
    )
    assert scheme == "vapid"
    assert public == f"k={settings.PLACET_WEBPUSH_KEY.public}"
    assert claims["aud"] == f"http://127.0.0.1:{hook.port}"
    assert claims["sub"] == "http://localhost:8000"


@pytest.mark.usefixtures("near")
@pytest.mark.parametrize("status", [404, 410])
def test_a_subscription_that_ended_is_forgotten(
    cast: Cast, post: Post, hook: Hook, browser: Browser, status: int
) -> None:
    hook.status = status
    cast.ask(cast.run())

    post.round()

    assert not Browser.objects.exists()
    assert states() == [("rae", "asked", "dropped")]


@pytest.mark.usefixtures("near")
def test_a_push_service_that_is_full_is_asked_again(
    cast: Cast, post: Post, hook: Hook, browser: Browser
) -> None:
    hook.status = 429
    cast.ask(cast.run())

    post.round()

    row = Notice.objects.get()
    assert (row.state, row.error) == ("waiting", "status_429")


def test_an_endpoint_inside_this_network_is_never_reached(
    cast: Cast, post: Post, hook: Hook, browser: Browser
) -> None:
    """H-38: the browser names the URL, so a stranger does."""
    cast.ask(cast.run())

    post.round()

    assert hook.posts == []
    row = Notice.objects.get()
    assert (row.state, row.error) == ("waiting", "blocked")


def test_who_subscribes_last_in_a_browser_has_it_alone(cast: Cast, browser: Browser) -> None:
    """Two people at one browser: what waits for the first is not shown to the second."""
    given = {"endpoint": browser.endpoint, "p256dh": browser.p256dh, "auth": browser.auth}

    Browser.put(cast.mallory, **given)

    rows = Browser.objects.values_list("user__username", "tenant_id")
    assert list(rows) == [("mallory", cast.other_tenant.pk)]


def test_the_oldest_of_too_many_browsers_goes(cast: Cast) -> None:
    for number in range(12):
        Browser.put(cast.rae, endpoint=f"https://push.example.com/{number}", p256dh="x", auth="x")

    kept = Browser.objects.order_by("pk").values_list("endpoint", flat=True)
    assert list(kept) == [f"https://push.example.com/{number}" for number in range(2, 12)]


def test_the_command_prints_a_key_that_is_read_again(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("webpush_key", json=True)

    told = json.loads(capsys.readouterr().out)
    assert VapidKey.read(told["key"]).public == told["public"]
    assert len(decoded(told["key"])) == 32
