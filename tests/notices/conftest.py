"""People with addresses that are confirmed, the operator's channels, and a courier."""

import re
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from approvals.models import PolicyVersion
from audit.numbering import number_events
from identity.management.reporting import OPERATOR
from identity.models import Tenant, User
from notices.courier import Courier
from notices.fanout import fan_out, read_events
from notices.models import Address, Browser, Due, Notice
from notices.rules.channels import EMAIL_CHANNEL, read_channels
from notices.rules.smtp import Smtp, Tls
from notices.senders.vapid import VapidKey, new_key
from placet.protocol.reading import JSONValue
from runs.clock import database_now
from tests.notices.receivers import Hook, Mailbox, http_server, mail_server


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    with mail_server() as box:
        yield box


@pytest.fixture
def hook() -> Iterator[Hook]:
    with http_server() as hook:
        yield hook


@pytest.fixture(autouse=True)
def operator(settings: Any, mailbox: Mailbox, hook: Hook) -> None:
    """The channels e-mail and chat, and Web Push."""
    settings.PLACET_SMTP = Smtp(
        host="127.0.0.1",
        port=mailbox.port,
        user="",
        password="",
        tls=Tls.NONE,
        sender="Placet <placet@example.com>",
    )
    chat = read_channels(
        f'{{"chat": {{"url": "json://127.0.0.1:{hook.port}/send/{{address}}", "label": "Chat",'
        ' "address": {"hint": "room-1", "pattern": "[a-z@#.-]{1,40}[0-9]*"}}}'
    )
    settings.PLACET_NOTICE_CHANNELS = {"email": EMAIL_CHANNEL, **chat}
    settings.PLACET_WEBPUSH_KEY = VapidKey.read(new_key())


@dataclass
class Post:
    """The courier, with what the worker does around it."""

    courier: Courier

    def round(self) -> None:
        """Number what happened, then read, send and note it."""
        self.number()
        self.courier.step()
        self.courier.settle()

    def number(self) -> None:
        number_events()

    def fan_out(self) -> None:
        """Do all that comes before sending."""
        read_events()
        fan_out()

    def round_without_sending(self) -> None:
        self.number()
        self.fan_out()


@pytest.fixture
def post(db: None) -> Iterator[Post]:
    post = Post(Courier())
    yield post
    post.courier.close()


def reach(user: User, channel: str = "email", address: str = "") -> Address:
    """Let this person have a confirmed address."""
    row = Address.put(user, channel, address or f"{user.username}@example.com")
    row.confirmed_at = database_now()
    row.save()
    return row


def wake(user: User, hook: Hook, p256dh: str, auth: str) -> Browser:
    """Let this person have a browser whose push service is the hook."""
    endpoint = f"http://127.0.0.1:{hook.port}/push/{user.username}"
    return Browser.put(user, endpoint=endpoint, p256dh=p256dh, auth=auth)


def set_policy(tenant: Tenant, *rules: JSONValue) -> None:
    saved = PolicyVersion.set(tenant, list(rules), by=OPERATOR)
    assert isinstance(saved, PolicyVersion), saved


def bring_forward(kind: str) -> None:
    """Let what is planned of this kind be due now."""
    Due.objects.filter(kind=kind).update(due_at=database_now() - timedelta(seconds=1))


def in_threads(work: Callable[[], None], count: int) -> None:
    """Do this so many times at once, each in a thread with a connection of its own."""

    def whole() -> None:
        try:
            work()
        finally:
            connection.close()

    with ThreadPoolExecutor(count) as pool:
        for future in [pool.submit(whole) for _ in range(count)]:
            future.result(20)


def wait_for(is_so: Callable[[], bool]) -> bool:
    """Whether this becomes so within ten seconds."""
    pause, until = threading.Event(), time.monotonic() + 10
    while not is_so() and time.monotonic() < until:
        pause.wait(0.01)
    return is_so()


def states() -> list[tuple[str, str, str]]:
    """Every message: whose, of which kind, how far."""
    rows = Notice.objects.select_related("user").order_by("pk")
    return [(row.user.username, row.kind, row.state) for row in rows]


def code_in(body: str) -> str:
    """The code that a message carries."""
    found = re.search(r"\b[0-9]{8}\b", body)
    assert found is not None
    return found[0]
