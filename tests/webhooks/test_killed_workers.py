"""A worker that is killed loses no webhook, and two workers send none twice."""

import signal
import subprocess
import sys

import pytest

import placet.webhooks
from audit.numbering import number_events
from config.embedded import Cluster
from tests.cast import Cast
from tests.notices.conftest import in_threads
from tests.webhooks.conftest import CHECKOUT, Post, environment, fall_due, listen, states
from tests.webhooks.receiver import Receiver
from webhooks.claiming import claim
from webhooks.fanout import fan_out
from webhooks.models import Delivery
from webhooks.rules.kinds import WebhookType

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_killed_worker_loses_no_webhook(
    cast: Cast, post: Post, hook: Receiver, cluster: Cluster, when: str
) -> None:
    """H-20: killed after it was sent and before that was noted, a copy follows, under one id."""
    _, secret = listen(cast.tenant, hook.url, WebhookType.ASKED)
    cast.ask(cast.run())

    died = subprocess.run(
        [sys.executable, "-m", "tests.webhooks.dying_worker", when],
        cwd=CHECKOUT,
        env=environment(cluster),
        stderr=subprocess.DEVNULL,
        timeout=60,
        check=False,
    )
    assert died.returncode == -signal.SIGKILL
    assert states() == [("interrupt.asked", "waiting", 0)]
    sent_before = len(hook.got)
    post.round()  # the claim of the dead one holds
    assert len(hook.got) == sent_before == (0 if when == "before" else 1)

    fall_due()
    post.round()

    assert states() == [("interrupt.asked", "delivered", 1)]
    assert len(hook.got) == sent_before + 1
    assert {webhook.id for webhook in hook.got} == {Delivery.objects.get().pk}
    for webhook in hook.got:
        assert placet.webhooks.verify(webhook.body, webhook.headers, secret).id == webhook.id


def test_of_many_workers_each_delivery_is_made_and_claimed_by_one(
    cast: Cast, hook: Receiver
) -> None:
    listen(cast.tenant, hook.url, WebhookType.ASKED)
    for _ in range(30):
        cast.ask(cast.run())
    number_events()
    claimed: list[str] = []

    def work() -> None:
        fan_out()
        for _ in range(4):
            claimed.extend(parcel.id for parcel in claim(5))

    in_threads(work, 6)
    claimed.extend(parcel.id for parcel in claim())

    assert Delivery.objects.count() == 30
    assert len(claimed) == len(set(claimed)) == 30
