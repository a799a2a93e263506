"""A decision over HTTP, with session and CSRF, beside the same statements sent by pgbench.

Both in turns, over the same number of connections, on questions of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from urllib.parse import urlencode

from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.http import HttpRequest
from django.middleware.csrf import get_token
from django.test import Client

from approvals.models import Interrupt
from approvals.web.view_token import proof_of_showing
from bench.browsers import let_post
from bench.copies import copy_question, copy_run
from bench.people import People
from bench.pgbench import pgbench
from bench.recorded import computed_id, recorded
from bench.report import Report
from bench.server import Site, site_running, superuser
from bench.talk import post
from config.embedded import Cluster
from config.roles import DATABASE, RUNTIME
from identity.models import User
from identity.roles import Role

PORT = 8500
CONNECTIONS = 8
TARGET = 0.20


@dataclass(frozen=True, slots=True)
class Plan:
    """How often, and how many decisions each connection makes over HTTP and by pgbench."""

    rounds: int
    over_http: int
    by_pgbench: int


@dataclass(frozen=True, slots=True)
class Browser:
    """A signed-in person's cookies and the token of their forms."""

    user: User
    cookie: str
    token: str

    @classmethod
    def of(cls, user: User) -> Browser:
        """Sign a person in."""
        session = SessionStore()
        session[SESSION_KEY] = str(user.pk)
        session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
        session[HASH_SESSION_KEY] = user.get_session_auth_hash()
        session.create()
        request = HttpRequest()
        token = get_token(request)
        secret = request.META["CSRF_COOKIE"]
        return cls(user, f"sessionid={session.session_key}; csrftoken={secret}", token)

    def form(self, question: Interrupt) -> dict[str, str]:
        """The form of a question's page, its Approve button pressed."""
        return {
            "csrfmiddlewaretoken": self.token,
            "decision": "approve",
            "revision": str(question.round),
            "asked_sha256": question.asked_sha256,
            "view": proof_of_showing(question, self.user),
        }

    def approval(self, question: Interrupt) -> bytes:
        """The request that the form makes."""
        return post(_path(question), cookie=self.cookie, form=urlencode(self.form(question)))


def measure(cluster: Cluster, *, is_quick: bool) -> None:
    """Print the ratio of each round and of the rounds in the middle."""
    plan = Plan(1, 30, 100) if is_quick else Plan(5, 150, 500)
    report = Report("decision")
    people = People.make()
    browsers = [
        Browser.of(People.person(f"reviewer-{number}", Role.REVIEWER, people.tenant))
        for number in range(CONNECTIONS)
    ]
    waiting = _fill(cluster, people, CONNECTIONS * plan.rounds * (plan.over_http + plan.by_pgbench))
    whole = recorded(lambda: _approve(browsers[0], waiting[0]), cluster.data_dir / "whole.sql")
    alone = recorded(lambda: people.approve(waiting[1]), cluster.data_dir / "alone.sql")
    ratios, used = [], 0
    with site_running(PORT) as site:
        for number in range(plan.rounds):
            http, cpu_ms = _over_http(site, browsers, waiting[0], plan.over_http, first=used)
            used += CONNECTIONS * plan.over_http
            half = plan.by_pgbench // 2
            rates = []
            for script in (whole, alone):
                rates.append(_by_pgbench(cluster, script, half, first=used))
                used += CONNECTIONS * half
            ratios.append(http / rates[0])
            report.note(
                f"round {number + 1}: {http:.0f}/s over HTTP ({cpu_ms:.1f} ms of the server's"
                f" processor time each), {rates[0]:.0f}/s by pgbench: {ratios[-1]:.2f}"
                f" (the command's own statements alone: {rates[1]:.0f}/s, {http / rates[1]:.2f})"
            )
    report.at_least(
        f"over HTTP / by pgbench, {CONNECTIONS} connections, median", median(ratios), TARGET
    )
    report.close()


def _fill(cluster: Cluster, people: People, count: int) -> list[Interrupt]:
    """Questions enough; the first two are real ones, to be recorded, the others their copies."""
    waiting = [people.ask(people.run()) for _ in range(2)]
    with superuser(cluster) as database:
        database.execute("SET session_replication_role = replica")
        copy_run(database, waiting[0].run_id, first=0, count=count)
        copy_question(database, waiting[0].pk, first=0, count=count)
        database.execute("VACUUM ANALYZE")
    return waiting


def _approve(browser: Browser, question: Interrupt) -> None:
    client = Client(enforce_csrf_checks=True)
    for pair in browser.cookie.split("; "):
        name, value = pair.split("=", 1)
        client.cookies[name] = value
    answer = client.post(_path(question), browser.form(question), headers={"host": "localhost"})
    assert answer.status_code == 303, answer.content


def _path(question: Interrupt) -> str:
    return f"/interrupts/{question.pk}/decide/"


def _over_http(
    site: Site, browsers: Sequence[Browser], like: Interrupt, each: int, *, first: int
) -> tuple[float, float]:
    """Decisions a second, and the server's processor time for one in milliseconds."""
    requests = []
    for place, browser in enumerate(browsers):
        numbers = range(first + place * each, first + (place + 1) * each)
        requests.append([browser.approval(_copied(like, number)) for number in numbers])
    before_s = site.cpu_s()
    posted = let_post(site.port, requests)
    count = each * len(browsers)
    assert posted.by_status == {"303": count}, posted.by_status
    return count / posted.took_s, 1000 * (site.cpu_s() - before_s) / count


def _copied(like: Interrupt, number: int) -> Interrupt:
    return Interrupt(
        id=computed_id("int", number),
        round=like.round,
        asked_sha256=like.asked_sha256,
        handback=like.handback,
    )


def _by_pgbench(cluster: Cluster, script: Path, each: int, *, first: int) -> float:
    address = cluster.url(user=RUNTIME, dbname=DATABASE)
    ran = pgbench(cluster, script, address=address, clients=CONNECTIONS, each=each, first=first)
    return ran.per_s
