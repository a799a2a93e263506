"""The pages of webhooks: what admins do there, what others cannot, and what it costs."""

import html
import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from audit.models import Event
from identity.management.reporting import OPERATOR
from identity.models import User
from identity.roles import Role
from runs.clock import database_now
from runs.ids import new_id
from tests.cast import Cast
from tests.contract.test_default_deny import browser
from tests.web.test_languages import chinese, english
from tests.webhooks.conftest import Post, listen, states
from tests.webhooks.receiver import Receiver
from webhooks.models import Attempt, Delivery, Endpoint
from webhooks.rules.kinds import DisabledBecause, WebhookType

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = "/settings/webhooks/"
FORMS = ("change", "rotate", "test", "disable", "enable", "resend")


def recorded(kind: str) -> list[tuple[str, str]]:
    """Who did it and what the record tells."""
    rows = Event.objects.filter(type=kind).order_by("id")
    return [(row.actor_name, row.detail) for row in rows]


def text(response: Any) -> str:
    return html.unescape(response.content.decode())


def delivered(endpoint: Endpoint, n: int) -> Delivery:
    """A delivery that arrived, with an attempt whose answer is hostile."""
    now = database_now()
    made = Delivery.objects.create(
        tenant=endpoint.tenant,
        endpoint=endpoint,
        n=n,
        type="interrupt.asked",
        body=b'{"data":{"run_id":"' + new_id("run").encode() + b'"}}',
        state="delivered",
        ended_at=now,
        created_at=now,
    )
    Attempt.objects.create(
        tenant=endpoint.tenant,
        delivery=made,
        at=now,
        took_ms=7,
        status=200,
        answer=b"<script>alert(1)</script>\xff",
    )
    return made


def test_an_admin_makes_a_webhook_and_sees_its_secret_once(cast: Cast, hook: Receiver) -> None:
    client = browser(cast.ada)

    made = client.post(
        f"{PAGE}add/",
        {"url": hook.url, "which": "some", "type": ["interrupt.decided"], "description": "ERP"},
    )

    endpoint = Endpoint.objects.get()
    secret = re.findall(r"whsec_[A-Za-z0-9+/]+", text(made))
    assert (made.status_code, made["Cache-Control"], len(secret)) == (200, "no-store", 1)
    assert (endpoint.url, endpoint.types, endpoint.description) == (
        hook.url,
        ["interrupt.decided"],
        "ERP",
    )
    ((who, told),) = recorded("endpoint.created")
    assert who == "ada"
    assert hook.url not in told and secret[0] not in told and "127.0.0.1" in told
    for path in (PAGE, f"{PAGE}{endpoint.pk}/"):
        page = text(client.get(path))
        assert hook.url in page and secret[0] not in page


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("ftp://example.com/", "https://"),
        ("https://user:pass@example.com/", "user name"),
        ("https://example.com/#part", "after #"),
        ("nonsense", "no URL"),
        ("http://10.0.0.1/", "public address"),
        ("http://[::ffff:10.0.0.1]/", "public address"),
        ("http://0x7f.1/", "no URL"),
        ("https://localhost.invalid/", "public address"),
        (f"https://example.com/{'a' * 2_048}", "no URL"),
    ],
)
def test_a_url_that_cannot_be_used_is_told_at_its_field(cast: Cast, url: str, told: str) -> None:
    """H-22: checked when saved, and what is typed is not lost."""
    refused = browser(cast.ada).post(f"{PAGE}add/", {"url": url, "which": "all"})

    assert refused.status_code == 422
    fault = re.search(r'id="url-fault">([^<]*)', text(refused))
    assert fault is not None and told in fault[1]
    assert url in text(refused)
    assert not Endpoint.objects.exists()


def test_what_is_changed_is_checked_too(cast: Cast, hook: Receiver) -> None:
    endpoint, _ = listen(cast.tenant, hook.url)
    client, at = browser(cast.ada), f"{PAGE}{endpoint.pk}/change/"

    refused = client.post(at, {"url": "https://169.254.169.254/", "which": "all"})
    nothing = client.post(at, {"url": hook.url, "which": "some"})
    changed = client.post(
        at, {"url": f"{hook.url}?b", "which": "some", "type": ["run.state_changed", "made-up"]}
    )
    again = client.post(
        at, {"url": f"{hook.url}?b", "which": "some", "type": ["run.state_changed"]}
    )

    assert [one.status_code for one in (refused, nothing, changed, again)] == [422, 422, 303, 303]
    endpoint.refresh_from_db()
    assert (endpoint.url, endpoint.types) == (f"{hook.url}?b", ["run.state_changed"])
    assert len(recorded("endpoint.changed")) == 1


def test_an_admin_tests_rotates_disables_and_enables(
    cast: Cast, post: Post, hook: Receiver
) -> None:
    endpoint, first = listen(cast.tenant, hook.url)
    client, at = browser(cast.ada), f"{PAGE}{endpoint.pk}/"

    assert client.post(f"{at}test/")["Location"].endswith("?said=test_sent")
    post.round()
    rotated = text(client.post(f"{at}rotate/"))
    assert client.post(f"{at}disable/")["Location"].endswith("?said=disabled")
    assert client.post(f"{at}test/")["Location"].endswith("?said=is_disabled")
    off = text(client.get(at))
    assert client.post(f"{at}enable/").status_code == 303

    assert [webhook.headers["webhook-id"] for webhook in hook.got] == [
        delivery.pk for delivery in Delivery.objects.all()
    ]
    assert "Somebody disabled it" in off and "Send a test" not in off
    assert first not in rotated and "whsec_" in rotated
    kinds = ("test", "secret_rotated", "disabled", "enabled")
    assert [[who for who, _ in recorded(f"endpoint.{kind}")] for kind in kinds] == [["ada"]] * 4


def test_deliveries_are_seen_with_their_attempts_and_sent_again(
    cast: Cast, post: Post, hook: Receiver
) -> None:
    hook.status = lambda number: 410 if number == 1 else 200
    hook.answer = b"<b>\xe2\x80\xae gone" + b"x" * 2_000
    endpoint, _ = listen(cast.tenant, hook.url, WebhookType.ASKED)
    cast.ask(cast.run())
    post.round()
    (delivery,) = Delivery.objects.all()
    client, at = browser(cast.ada), f"{PAGE}{endpoint.pk}/"
    assert "answered 410" in text(client.get(at))

    assert client.post(f"{at}enable/").status_code == 303
    page = client.get(f"{at}deliveries/{delivery.pk}/")
    nothing = client.post(f"{at}resend/", {"hours": "5"})
    sent = client.post(f"{at}resend/", {"hours": "24"})
    post.round()
    once_more = client.post(f"{at}deliveries/{delivery.pk}/resend/")
    post.round()

    assert "<b>" not in page.content.decode().split("The answer")[1]
    assert bytes(delivery.body).decode() in text(page)
    assert len(bytes(Attempt.objects.earliest("pk").answer or b"")) == 1_024
    assert [nothing.status_code, sent.status_code, once_more.status_code] == [422, 303, 303]
    assert states() == [("interrupt.asked", "delivered", 1)]
    assert hook.ids == [delivery.pk] * 3
    assert [who for who, _ in recorded("endpoint.resent")] == ["ada", "ada"]


def test_only_admins_change_and_auditors_look(cast: Cast, hook: Receiver) -> None:
    endpoint, _ = listen(cast.tenant, hook.url)
    delivery = delivered(endpoint, 1)
    at = f"{PAGE}{endpoint.pk}/"
    reads = [PAGE, at, f"{at}deliveries/{delivery.pk}/"]
    posts = [f"{PAGE}add/", *(f"{at}{form}/" for form in FORMS)]
    posts += [f"{at}deliveries/{delivery.pk}/resend/"]
    before = Endpoint.objects.values().get(), Delivery.objects.values().get()

    def answers(user: User, method: str, paths: list[str]) -> list[int]:
        client = browser(user)
        return [getattr(client, method)(path).status_code for path in paths]

    for user in (cast.bob, cast.rae, cast.alice):
        assert answers(user, "get", reads) == [403, 404, 404]
        assert answers(user, "post", posts) == [403] + [404] * (len(posts) - 1)
    assert answers(cast.otto, "get", reads) == [200] * 3
    assert 'method="post"' not in browser(cast.otto).get(reads[2]).content.decode()
    assert answers(cast.otto, "post", posts) == [403] * len(posts)
    assert answers(cast.ada, "get", posts) == [405] * len(posts)

    assert (Endpoint.objects.values().get(), Delivery.objects.values().get()) == before
    refused = Event.objects.filter(type="command.refused", code__in=["not_permitted", "not_found"])
    assert refused.count() == 4 * len(posts)


def test_a_foreign_webhook_is_like_none(cast: Cast, hook: Receiver) -> None:
    """H-34: also for an admin, and a delivery of another webhook of the same tenant."""
    endpoint, _ = listen(cast.tenant, hook.url)
    other, _ = listen(cast.tenant, hook.url)
    delivery = delivered(endpoint, 1)
    admin = User.create(
        "mona",
        tenant=cast.other_tenant,
        role=Role.ADMIN,
        password="correct horse",
        by=OPERATOR,
    )
    client = browser(admin)

    def answers(of: Client, endpoint_id: str, delivery_id: str) -> list[tuple[int, int]]:
        at = f"{PAGE}{endpoint_id}/"
        paths = [at, *(f"{at}{form}/" for form in FORMS)]
        paths += [f"{at}deliveries/{delivery_id}/", f"{at}deliveries/{delivery_id}/resend/"]
        return [(of.get(path).status_code, of.post(path).status_code) for path in paths]

    missing = answers(client, new_id("ept"), new_id("dlv"))
    assert answers(client, endpoint.pk, delivery.pk) == missing
    assert answers(client, "ept_1", "%00") == missing
    assert {status for pair in missing for status in pair} == {404, 405}
    assert answers(browser(cast.ada), other.pk, delivery.pk)[-2:] == [(404, 405), (405, 404)]
    assert hook.url not in text(client.get(PAGE))


def test_lists_cost_the_same_however_long_they_are(cast: Cast, hook: Receiver) -> None:
    client = browser(cast.ada)
    endpoint, _ = listen(cast.tenant, hook.url)
    delivered(endpoint, 1)
    client.get(PAGE)

    def counted(path: str) -> int:
        with CaptureQueriesContext(connection) as queries:
            client.get(path)
        return len(queries)

    at = f"{PAGE}{endpoint.pk}/"
    few = counted(PAGE), counted(at)
    for _ in range(4):
        more, _ = listen(cast.tenant, hook.url)
        delivered(more, 1)
    for n in range(2, 48):
        delivered(endpoint, n)

    assert (counted(PAGE), counted(at)) == few


def test_deliveries_are_paged_by_key(cast: Cast, hook: Receiver) -> None:
    endpoint, _ = listen(cast.tenant, hook.url)
    for n in range(1, 46):
        delivered(endpoint, n)
    client, at = browser(cast.ada), f"{PAGE}{endpoint.pk}/"

    def ids(query: str) -> list[str]:
        return re.findall(r"deliveries/(dlv_\w+)/", client.get(f"{at}{query}").content.decode())

    newest = list(Delivery.objects.order_by("-n").values_list("pk", "n"))
    assert ids("") == [pk for pk, _ in newest[:20]]
    assert ids(f"?after={newest[19][1]}") == [pk for pk, _ in newest[20:40]]
    assert ids(f"?after={newest[39][1]}") == [pk for pk, _ in newest[40:]]
    assert ids(f"?before={newest[20][1]}") == [pk for pk, _ in newest[:20]]
    assert ids("?after=nonsense") == ids("")
    assert ids("?state=failed") == []


def test_why_a_webhook_is_disabled_is_told(cast: Cast, hook: Receiver) -> None:
    endpoint, _ = listen(cast.tenant, hook.url)
    client, at = browser(cast.otto), f"{PAGE}{endpoint.pk}/"
    told = {
        DisabledBecause.GONE: "410",
        DisabledBecause.FAILING: "more than a day",
        DisabledBecause.UNREADABLE: "server’s own secret",
        DisabledBecause.BY_HAND: "Somebody",
    }

    for because, words in told.items():
        endpoint.disable(because, by=OPERATOR)
        assert words in text(client.get(at))
        endpoint.enable(by=OPERATOR)


def test_every_page_is_chinese(cast: Cast, hook: Receiver) -> None:
    endpoint, _ = listen(cast.tenant, hook.url, WebhookType.DECIDED)
    delivery = delivered(endpoint, 1)
    client, at = chinese(cast.ada), f"{PAGE}{endpoint.pk}/"

    for path in (PAGE, at, f"{at}?said=saved", f"{at}deliveries/{delivery.pk}/"):
        assert english(client.get(path)) == [], path
    for form in ("rotate", "add", "resend", "change"):
        path = f"{PAGE}add/" if form == "add" else f"{at}{form}/"
        assert english(client.post(path, {"url": "http://10.0.0.1/"})) == [], path
