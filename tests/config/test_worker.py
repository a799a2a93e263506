"""The worker outlives its own faults."""

import threading
from typing import Any

import pytest

from config import worker
from notices.rules.channels import EMAIL_CHANNEL
from notices.rules.smtp import Smtp, Tls
from tests.cast import Cast
from tests.notices.conftest import reach, wait_for
from tests.notices.receivers import mail_server

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_unexpected_exception_does_not_end_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    ending = threading.Event()
    swept: list[int] = []

    def sweep() -> int:
        swept.append(1)
        if len(swept) == 1:
            raise KeyError("a fault of ours")
        ending.set()
        return 0

    monkeypatch.setattr(worker, "sweep", sweep)
    monkeypatch.setattr(worker, "SWEEP_EVERY_S", 0.0)

    worker.work(ending)

    assert len(swept) == 2


def test_the_worker_sends_what_waits_and_ends_with_its_courier(cast: Cast, settings: Any) -> None:
    ending = threading.Event()
    with mail_server() as box:
        settings.PLACET_SMTP = Smtp(
            host="127.0.0.1", port=box.port, user="", password="", tls=Tls.NONE, sender="p@x.org"
        )
        settings.PLACET_NOTICE_CHANNELS = {"email": EMAIL_CHANNEL}
        reach(cast.rae)
        cast.ask(cast.run())
        working = threading.Thread(target=worker.work, args=(ending,))
        working.start()
        try:
            assert wait_for(lambda: bool(box.mails))
        finally:
            ending.set()
            working.join(20)

    assert box.subjects == ["pay_vendor waits for your answer"]
    assert not working.is_alive()
    assert [one.name for one in threading.enumerate() if one.name in {"notices", "webhooks"}] == []
