"""`webhook_add`: a webhook and its secret, once."""

import io
import json

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from tests.cast import Cast
from tests.webhooks.conftest import Post
from tests.webhooks.receiver import Receiver
from webhooks.models import Endpoint

pytestmark = pytest.mark.django_db(transaction=True)


def said(*arguments: str) -> str:
    out = io.StringIO()
    call_command("webhook_add", *arguments, stdout=out)
    return out.getvalue()


def test_it_prints_the_secret_once(cast: Cast, post: Post, hook: Receiver) -> None:
    types = ["--type", "interrupt.decided", "--type", "interrupt.asked"]

    told = json.loads(said(hook.url, "--tenant", "acme", *types, "--json"))
    plain = said(hook.url, "--tenant", "acme")

    rows = {row.pk: row for row in Endpoint.objects.all()}
    assert len(rows) == 2
    assert told == {
        "id": told["id"],
        "url": hook.url,
        "types": ["interrupt.asked", "interrupt.decided"],
        "secret": told["secret"],
    }
    assert rows[told["id"]].types == told["types"]
    assert told["secret"].startswith("whsec_") and "whsec_" in plain
    assert told["secret"] not in rows[told["id"]].sealed


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("https://10.0.0.1/", "--tenant", "acme"), "public address"),
        (("ftp://example.com/", "--tenant", "acme"), "scheme"),
        (("https://example.com/", "--tenant", "nobody"), "no tenant"),
        (("https://example.com/", "--tenant", "acme", "--type", "endpoint.test"), "invalid choice"),
    ],
)
def test_what_cannot_be_is_refused(cast: Cast, arguments: tuple[str, ...], told: str) -> None:
    with pytest.raises(CommandError, match=told):
        said(*arguments)

    assert not Endpoint.objects.exists()
