"""Events reach endpoints: each at least once, under one id, with the bytes that are stored."""

import importlib.util
import json
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client

import placet.webhooks
from approvals.models import Interrupt
from audit.numbering import number_events
from identity.management.reporting import OPERATOR
from placet.errors import InvalidSignature
from runs.clock import database_now
from tests.cast import Cast, question
from tests.webhooks.conftest import Post, fall_due, listen, states, tried
from tests.webhooks.receiver import Receiver, Webhook
from webhooks.fanout import fan_out
from webhooks.forgetting import forget_old
from webhooks.lanes import PER_ENDPOINT
from webhooks.models import Attempt, Delivery, Endpoint
from webhooks.rules.kinds import DisabledBecause, Failure, WebhookType
from webhooks.rules.retrying import RETRY_S

pytestmark = pytest.mark.django_db(transaction=True)


def verified(webhook: Webhook, *secrets: str) -> placet.webhooks.Event:
    """The event, by the client's own check and by the official library where it is there."""
    event = placet.webhooks.verify(webhook.body, webhook.headers, secrets)
    for secret in secrets if importlib.util.find_spec("standardwebhooks") else ():
        official = importlib.import_module("standardwebhooks")
        official.Webhook(secret).verify(webhook.body, webhook.headers)
    return event


def test_what_happens_is_told_to_who_asked_for_it(
    cast: Cast, post: Post, hook: Receiver, other_hook: Receiver
) -> None:
    """H-21 (b): each endpoint gets its own one delivery of each event that it wants."""
    everything, secret = listen(cast.tenant, hook.url)
    _, other_secret = listen(cast.tenant, other_hook.url, WebhookType.DECIDED)
    asked = cast.ask(cast.run())
    cast.decide(asked, cast.rae, reason="Zürich €5 😀 </script> 1e-7")

    post.round()
    post.round()

    told = {event.type: event for event in (verified(webhook, secret) for webhook in hook.got)}
    assert sorted(told) == ["interrupt.asked", "interrupt.decided", "run.state_changed"]
    assert len(hook.got) == len(set(hook.ids)) == 5
    (only,) = (verified(webhook, other_secret) for webhook in other_hook.got)
    assert (
        only.data
        == told["interrupt.decided"].data
        == {
            "n": only.data["n"],
            "run_id": asked.run_id,
            "run_seq": 4,
            "interrupt_id": asked.pk,
            "action_id": None,
            "from": "PENDING",
            "to": "DECIDED",
            "revision": 1,
            "digest": asked.asked_sha256,
        }
    )
    assert only.id == other_hook.got[0].headers["webhook-id"]
    assert {state for _, state, _ in states()} == {"delivered"}
    assert tried() == [(200, None)] * 6
    stored = dict(Delivery.objects.filter(endpoint=everything).values_list("pk", "body"))
    assert {webhook.id: webhook.body for webhook in hook.got} == {
        id_: bytes(body) for id_, body in stored.items()
    }
    assert {webhook.headers["content-type"] for webhook in hook.got} == {"application/json"}
    with pytest.raises(InvalidSignature):
        verified(hook.got[0], other_secret)


def test_when_it_is_told_it_is_true(cast: Cast, post: Post, hook: Receiver) -> None:
    """H-21 (b): a receiver that asks at once already sees the decision."""
    seen: list[Any] = []

    def ask(webhook: Webhook) -> None:
        data = json.loads(webhook.body)["data"]
        client = Client(headers={"Authorization": f"Bearer {cast.key}"})
        seen.append(client.get(f"/api/v1/interrupts/{data['interrupt_id']}").json())
        connection.close()

    hook.on_request = ask
    listen(cast.tenant, hook.url, WebhookType.DECIDED)
    cast.decide(cast.ask(cast.run()), cast.rae)

    number_events()
    fan_out()
    post.until(lambda: bool(seen))

    assert {shown["decision"]["kind"] for shown in seen} == {"approve"}


def test_what_was_rolled_back_is_not_told(cast: Cast, post: Post, hook: Receiver) -> None:
    """H-21 (a)."""
    listen(cast.tenant, hook.url)
    asked = cast.ask(cast.run())
    post.round()
    before = len(hook.got)

    with pytest.raises(RuntimeError), transaction.atomic():
        cast.decide(asked, cast.rae)
        raise RuntimeError
    post.round()

    assert len(hook.got) == before
    assert Delivery.objects.count() == before


def test_every_attempt_has_one_id_and_one_body(cast: Cast, post: Post, hook: Receiver) -> None:
    """H-20, H-19: an error, an answer after the time-out, success, and a resend by hand."""
    endpoint, secret = listen(cast.tenant, hook.url, WebhookType.ASKED)

    def status(number: int) -> int:
        if number == 1:
            return 500
        if number == 2:
            # it was processed, and the answer comes too late
            hook.free.clear()
            hook.free.wait(1)
        return 200

    hook.status = status
    cast.ask(cast.run())
    post.round()
    assert states() == [("interrupt.asked", "waiting", 1)]
    fall_due()
    post.send()
    hook.free.set()
    fall_due()
    post.send()
    (delivery,) = Delivery.objects.all()
    assert endpoint.resend(by=OPERATOR, delivery_id=delivery.pk)
    post.send()

    assert tried() == [(500, None), (None, "unreachable"), (200, None), (200, None)]
    assert hook.ids == [delivery.pk] * 4
    assert {webhook.body for webhook in hook.got} == {bytes(delivery.body)}
    assert [verified(webhook, secret).id for webhook in hook.got] == [delivery.pk] * 4
    assert [
        bytes(answer)
        for answer in Attempt.objects.exclude(answer=None).values_list("answer", flat=True)
    ] == [b"thanks"] * 3


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_a_failed_attempt(
    cast: Cast, post: Post, hook: Receiver, other_hook: Receiver, status: int
) -> None:
    """H-23: nothing reaches where it points."""
    hook.status = lambda _number: status
    hook.headers = {"location": other_hook.url}
    listen(cast.tenant, hook.url, WebhookType.ASKED)
    cast.ask(cast.run())

    post.round()

    assert tried() == [(status, None)]
    assert states() == [("interrupt.asked", "waiting", 1)]
    assert other_hook.got == []


def test_a_tenant_cannot_tell_blocked_refused_and_timed_out_apart(
    cast: Cast, post: Post, hook: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    """H-22: the operator's log can; also the time until it is told is the same."""
    hook.free.clear()
    for url in (hook.url, "http://127.0.0.1:1/", "http://10.0.0.1/", "http://[::ffff:10.0.0.1]/"):
        listen(cast.tenant, url, WebhookType.ASKED)
    cast.ask(cast.run())

    post.round()

    assert tried() == [(None, "unreachable")] * 4
    rows = Attempt.objects.values_list("took_ms", "answer")
    assert set(rows) == {(None, None)}
    logged = " ".join(record.getMessage() for record in caplog.records)
    for reason in ("blocked", "refused", "timed_out"):
        assert reason in logged
    assert "127.0.0.1" not in logged


def test_a_receiver_that_hangs_does_not_hold_up_another(
    cast: Cast, post: Post, hook: Receiver, other_hook: Receiver
) -> None:
    """H-29: it has a few senders to itself and no more."""
    hanging, _ = listen(cast.tenant, hook.url)
    listen(cast.tenant, other_hook.url)
    hook.free.clear()
    for _ in range(8):
        cast.ask(cast.run())
    number_events()
    fan_out()

    post.until(lambda: len(other_hook.got) == 24)

    assert not Attempt.objects.filter(delivery__endpoint=hanging).exists()
    assert len(hook.got) <= PER_ENDPOINT
    hook.free.set()


def test_a_connection_that_breaks_off_is_tried_again(
    cast: Cast, post: Post, hook: Receiver
) -> None:
    hook.status = lambda number: 0 if number == 1 else 200
    listen(cast.tenant, hook.url, WebhookType.ASKED)
    cast.ask(cast.run())

    post.round()
    fall_due()
    post.send()

    assert tried()[1] == (200, None)
    assert tried()[0][0] is None
    assert len(set(hook.ids)) == 1


def test_410_disables_at_once_and_what_waits_can_be_sent_later(
    cast: Cast, post: Post, hook: Receiver
) -> None:
    hook.status = lambda _number: 410
    endpoint, _ = listen(cast.tenant, hook.url, WebhookType.ASKED)
    since = database_now()
    cast.ask(cast.run())

    post.round()
    cast.ask(cast.run())
    post.round()

    endpoint.refresh_from_db()
    assert (endpoint.is_active, endpoint.disabled_because) == (False, DisabledBecause.GONE)
    assert states() == [("interrupt.asked", "failed", 1)]
    assert not endpoint.test(by=OPERATOR)
    assert endpoint.resend_failed(since=since, by=OPERATOR) is None

    hook.status = lambda _number: 200
    assert endpoint.enable(by=OPERATOR)
    assert endpoint.resend_failed(since=since, by=OPERATOR) == 1
    post.round()

    assert states() == [("interrupt.asked", "delivered", 1)]
    assert len(hook.got) == 2


def test_a_delivery_is_given_up_in_the_end_and_its_endpoint_with_it(
    cast: Cast, post: Post, hook: Receiver
) -> None:
    hook.status = lambda _number: 500
    endpoint, _ = listen(cast.tenant, hook.url, WebhookType.ASKED)
    cast.ask(cast.run())
    post.round()
    for _ in RETRY_S[:-1]:
        fall_due()
        post.send()
    endpoint.refresh_from_db()
    assert (endpoint.is_active, endpoint.failures) == (True, 10)
    long_ago = database_now() - timedelta(hours=25)
    Endpoint.objects.update(failing_since=long_ago)

    fall_due()
    post.send()

    endpoint.refresh_from_db()
    assert endpoint.disabled_because == DisabledBecause.FAILING
    assert states() == [("interrupt.asked", "failed", 11)]


def test_success_ends_a_run_of_failures(cast: Cast, post: Post, hook: Receiver) -> None:
    hook.status = lambda number: 500 if number == 1 else 200
    endpoint, _ = listen(cast.tenant, hook.url, WebhookType.ASKED)
    cast.ask(cast.run())
    post.round()
    endpoint.refresh_from_db()
    assert endpoint.failures == 1
    assert endpoint.failing_since is not None

    fall_due()
    post.send()

    endpoint.refresh_from_db()
    assert (endpoint.failures, endpoint.failing_since) == (0, None)


def test_during_rotation_both_secrets_verify_and_later_only_the_new_one(
    cast: Cast, post: Post, hook: Receiver
) -> None:
    endpoint, old = listen(cast.tenant, hook.url, WebhookType.ASKED)
    new = endpoint.rotate(by=OPERATOR)
    cast.ask(cast.run())
    post.round()
    Endpoint.objects.update(before_until=database_now())
    cast.ask(cast.run())
    post.round()

    during, after = hook.got
    assert verified(during, old) == verified(during, new)
    assert verified(after, new).type == "interrupt.asked"
    with pytest.raises(InvalidSignature):
        verified(after, old)
    endpoint.refresh_from_db()
    assert new not in endpoint.sealed and new.removeprefix("whsec_") not in endpoint.sealed


def test_a_test_goes_to_its_endpoint_alone(
    cast: Cast, post: Post, hook: Receiver, other_hook: Receiver
) -> None:
    endpoint, secret = listen(cast.tenant, hook.url, WebhookType.DECIDED)
    listen(cast.tenant, other_hook.url)

    endpoint.test(by=cast.ada.as_actor())
    post.round()

    (webhook,) = hook.got
    event = verified(webhook, secret)
    assert (event.type, event.data) == ("endpoint.test", {"endpoint_id": endpoint.pk})
    assert other_hook.got == []


def test_nothing_of_another_tenant_and_nothing_from_before_is_told(
    cast: Cast, post: Post, hook: Receiver
) -> None:
    cast.ask(cast.run())  # not numbered yet when the endpoint is made
    endpoint, _ = listen(cast.tenant, hook.url)
    cast.ask(cast.other_run())
    post.round()
    endpoint.disable(DisabledBecause.BY_HAND, by=OPERATOR)
    cast.ask(cast.run())
    endpoint.enable(by=OPERATOR)

    post.round()

    assert hook.got == []
    assert not Delivery.objects.exists()


def test_a_fan_out_that_breaks_off_makes_each_delivery_once(
    cast: Cast, post: Post, hook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    listen(cast.tenant, hook.url, WebhookType.ASKED)
    for _ in range(3):
        cast.ask(cast.run())

    def broken(*_args: Any, **_named: Any) -> None:
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr("webhooks.fanout.Cursor.objects.filter", broken)
        with pytest.raises(RuntimeError):
            post.round()
    assert not Delivery.objects.exists()
    post.round()
    fan_out()

    assert len(hook.got) == Delivery.objects.count() == 3


def test_a_secret_that_cannot_be_read_disables_its_endpoint(
    cast: Cast, post: Post, hook: Receiver, settings: Any
) -> None:
    endpoint, _ = listen(cast.tenant, hook.url, WebhookType.ASKED)
    cast.ask(cast.run())
    settings.SECRET_KEY = "another secret of the server, long enough"

    post.round()

    endpoint.refresh_from_db()
    assert endpoint.disabled_because == DisabledBecause.UNREADABLE
    assert hook.got == []
    assert [row.state for row in Delivery.objects.all()] == ["failed"]


def test_what_ended_long_ago_is_forgotten(cast: Cast, post: Post, hook: Receiver) -> None:
    listen(cast.tenant, hook.url, WebhookType.ASKED)
    cast.ask(cast.run())
    cast.ask(cast.run())
    post.round()
    first = Delivery.objects.order_by("n")[0]
    Delivery.objects.filter(pk=first.pk).update(ended_at=database_now() - timedelta(days=91))

    assert forget_old() == 1
    assert Delivery.objects.count() == Attempt.objects.count() == 1


def test_what_became_of_a_batch_takes_as_many_statements_as_of_one(
    cast: Cast, post: Post, hook: Receiver, django_assert_num_queries: Any
) -> None:
    from webhooks.claiming import claim, finish
    from webhooks.sending import attempt

    listen(cast.tenant, hook.url, WebhookType.ASKED)
    for _ in range(12):
        cast.ask(cast.run())
    number_events()
    fan_out()

    with django_assert_num_queries(1):
        parcels = claim()
    answered = [attempt(parcel) for parcel in parcels]
    with django_assert_num_queries(1):
        finish(answered)

    assert len(parcels) == 12
    assert tried() == [(200, None)] * 12
    assert Failure.UNREACHABLE not in {one.failure for one in answered}


def test_a_receiver_that_hangs_delays_no_question_and_no_answer(
    cast: Cast, post: Post, hook: Receiver
) -> None:
    """H-29: what waits for a receiver holds no lock, and the deadline counts from storing."""
    listen(cast.tenant, hook.url)
    hook.free.clear()
    cast.ask(cast.run())
    number_events()
    fan_out()
    post.until(lambda: bool(hook.got))

    asked = cast.ask(cast.run(), question(expires_in_s=10))
    begun = database_now()
    answered = cast.decide(asked, cast.rae)

    assert isinstance(answered, Interrupt)
    assert asked.expires_at - asked.created_at == timedelta(seconds=10)
    assert begun - asked.created_at < timedelta(seconds=1)
    assert not Attempt.objects.exists()
    hook.free.set()
