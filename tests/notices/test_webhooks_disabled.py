"""Admins are told when a webhook was disabled because it failed, and only then."""

import pytest

from tests.cast import Cast
from tests.notices.conftest import Post, reach, states
from tests.notices.receivers import Mailbox
from webhooks.claiming import SYSTEM
from webhooks.models import Endpoint
from webhooks.rules.kinds import DisabledBecause

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_webhook_that_was_disabled_is_told_to_the_admins(
    cast: Cast, post: Post, mailbox: Mailbox
) -> None:
    for user in (cast.ada, cast.rae, cast.otto):
        reach(user)
    failing, by_hand = (
        Endpoint.add(cast.tenant, url=f"https://{host}/in?token=x", by=cast.ada.as_actor())[0]
        for host in ("erp.example.com", "other.example.com")
    )
    failing.disable(DisabledBecause.GONE, by=SYSTEM)
    by_hand.disable(DisabledBecause.BY_HAND, by=cast.ada.as_actor())

    post.round()
    post.round()

    assert states() == [("ada", "webhook", "sent")]
    assert mailbox.subjects == ["A webhook was disabled: erp.example.com"]
    assert f"http://localhost:8000/settings/webhooks/{failing.pk}/" in mailbox.bodies[0]
    assert "token" not in mailbox.bodies[0]


def test_each_time_it_is_disabled_is_told(cast: Cast, post: Post, mailbox: Mailbox) -> None:
    reach(cast.ada)
    endpoint, _ = Endpoint.add(cast.tenant, url="https://erp.example.com/", by=SYSTEM)
    for _ in range(2):
        endpoint.disable(DisabledBecause.FAILING, by=SYSTEM)
        endpoint.enable(by=cast.ada.as_actor())
        post.round()

    assert states() == [("ada", "webhook", "sent")] * 2
    assert len(mailbox.mails) == 2
