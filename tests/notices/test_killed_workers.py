"""A worker that is killed loses no message."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection

from config.embedded import Cluster
from config.roles import RUNTIME
from notices.models import Notice
from tests.cast import Cast
from tests.notices.conftest import Post, reach, states
from tests.notices.receivers import Mailbox
from tests.notices.test_sending import fall_due

pytestmark = pytest.mark.django_db(transaction=True)

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_killed_worker_loses_no_message(
    cast: Cast, post: Post, mailbox: Mailbox, cluster: Cluster, when: str
) -> None:
    """At least once: killed after the mail left and before it was noted, a copy follows."""
    reach(cast.rae)
    cast.ask(cast.run())

    died = subprocess.run(
        [sys.executable, "-m", "tests.notices.dying_worker", when],
        cwd=CHECKOUT,
        env=environment(cluster, mailbox),
        stderr=subprocess.DEVNULL,
        timeout=60,
        check=False,
    )
    assert died.returncode == -signal.SIGKILL
    assert states() == [("rae", "asked", "sending")]
    assert Notice.objects.get().attempts == 1
    post.round()  # the claim of the dead one holds
    assert states() == [("rae", "asked", "sending")]

    fall_due()
    post.round()

    assert states() == [("rae", "asked", "sent")]
    assert len(mailbox.mails) == (1 if when == "before" else 2)
    assert len({mail["Message-ID"] for _, mail in mailbox.mails}) == 1


def environment(cluster: Cluster, mailbox: Mailbox) -> dict[str, str]:
    """What a worker on the tests' database needs."""
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": f"{CHECKOUT}{os.pathsep}{CHECKOUT / 'client' / 'src'}",
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": cluster.url(user=RUNTIME, dbname=connection.settings_dict["NAME"]),
        "PLACET_SECRET_KEY": settings.SECRET_KEY,
        "PLACET_SMTP_URL": f"smtp://127.0.0.1:{mailbox.port}?tls=none&from=placet@example.com",
    }
