"""An endpoint that leads to a receiver of the test, and a courier that is driven by hand."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection

from audit.numbering import number_events
from config.embedded import Cluster
from config.roles import RUNTIME
from identity.management.reporting import OPERATOR
from identity.models import Tenant
from runs.clock import database_now
from tests.webhooks.receiver import Receiver, receiver
from webhooks import courier as courier_module
from webhooks.courier import Courier
from webhooks.fanout import fan_out
from webhooks.models import Attempt, Delivery, Endpoint
from webhooks.rules.kinds import DeliveryState, WebhookType

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def operator(settings: Any) -> None:
    """The operator lets webhooks go to the receivers of the tests."""
    settings.PLACET_WEBHOOK_ALLOW = (ip_network("127.0.0.0/8"),)
    settings.PLACET_WEBHOOK_ALLOW_HTTP = True


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with receiver() as hook:
        yield hook


@pytest.fixture
def other_hook() -> Iterator[Receiver]:
    with receiver() as hook:
        yield hook


@dataclass
class Post:
    """The courier, with what the worker does around it."""

    courier: Courier

    def round(self) -> None:
        """Number what happened, make deliveries of it, send what is due, and note it."""
        number_events()
        fan_out()
        self.send()

    def send(self) -> None:
        """Send everything that is due now, and note it."""
        self.until(lambda: not self.courier.is_at_work)

    def until(self, is_so: Callable[[], bool]) -> None:
        """Let the courier work until this is so."""
        pause, until = threading.Event(), time.monotonic() + 20
        self.courier.step()
        while not is_so():
            assert time.monotonic() < until
            pause.wait(0.002)
            self.courier.step()


@pytest.fixture
def post(db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Post]:
    monkeypatch.setattr(courier_module, "EVERY_S", 0.0)
    post = Post(Courier(senders=16, timeout_s=0.5))
    yield post
    post.courier.close()


def listen(
    tenant: Tenant, url: str, *types: WebhookType, description: str = ""
) -> tuple[Endpoint, str]:
    """An endpoint of this tenant and its secret."""
    return Endpoint.add(tenant, url=url, types=types, description=description, by=OPERATOR)


def environment(cluster: Cluster) -> dict[str, str]:
    """What a worker on the tests' database needs."""
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": f"{CHECKOUT}{os.pathsep}{CHECKOUT / 'client' / 'src'}",
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": cluster.url(user=RUNTIME, dbname=connection.settings_dict["NAME"]),
        "PLACET_SECRET_KEY": settings.SECRET_KEY,
        "PLACET_WEBHOOK_ALLOW": "127.0.0.0/8",
        "PLACET_WEBHOOK_ALLOW_HTTP": "true",
    }


def fall_due(**which: Any) -> None:
    """Let what waits for its next attempt be due, and every claim be over."""
    rows = Delivery.objects.filter(state=DeliveryState.WAITING.value, **which)
    past = database_now() - timedelta(seconds=1)
    rows.update(due_at=past, claimed_until=None)


def tried() -> list[tuple[int | None, str | None]]:
    """Every attempt: the status and why there was none."""
    return list(Attempt.objects.order_by("pk").values_list("status", "failure"))


def states() -> list[tuple[str, str, int]]:
    """Every delivery: its type, how far, tries."""
    return list(Delivery.objects.order_by("n", "pk").values_list("type", "state", "tries"))
