"""Python's processor time for a page beside that for the same data as JSON, in one process.

Both requests pass through the whole application as a signed-in reviewer, in turns, and nothing
else runs; the database's own time is in its own processes and not counted.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from statistics import median

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.test import Client, override_settings
from django.urls import path

from approvals.access import equal_first, memberships, visible_interrupts, waiting_in_time
from approvals.api.shapes import interrupt_shape, run_shape, with_parts
from approvals.models import Showing
from approvals.web.inbox_filter import Filter, Overview
from approvals.web.keyset import PAGE_ROWS, by_deadline
from approvals.web.pages import signed_in
from approvals.web.question_page import QuestionPage
from bench.people import PAYMENT, People
from bench.report import Report
from config.embedded import Cluster
from config.urls import urlpatterns as real
from runs.clock import database_now

TARGET = 2.0
WARM_UP = 30
"""So many requests fill what a process keeps: templates, catalogs, connections."""

Request = Callable[[], int]
"""A request, which gives its status."""


def inbox_data(request: HttpRequest) -> HttpResponse:
    """What the inbox reads and counts, its rows in the shape of the API."""
    user, now, chosen = signed_in(request), database_now(), Filter.of(request.GET)
    mine, waiting = memberships(user), waiting_in_time(user)
    overview = Overview.of(waiting, user=user, mine=mine, now=now)
    wanted = chosen.applied(waiting, user=user, mine=mine, now=now)
    rows = with_parts(equal_first(wanted)).select_related("run__owner", "agent")
    cut = by_deadline(rows, request.GET)
    facets = [*overview.facets(chosen), overview.dues(chosen)]
    counts = {one.name: {each.value: each.count for each in one.choices} for one in facets}
    return JsonResponse(
        {
            "waiting": overview.total,
            "facets": counts,
            "previous": cut.previous,
            "next": cut.next,
            "interrupts": [
                interrupt_shape(row)
                | {
                    "owner": row.run.owner.username,
                    "agent": row.agent.name,
                    "title": row.run.title,
                    "left_s": int((row.expires_at - now).total_seconds()),
                }
                for row in cut.rows
            ],
        }
    )


def question_data(request: HttpRequest, interrupt_id: str) -> HttpResponse:
    """What the page of a question reads, in the shapes of the API; it goes on record as well."""
    interrupt = with_parts(visible_interrupts(signed_in(request))).get(pk=interrupt_id)
    shown = QuestionPage.of(interrupt, signed_in(request))
    Showing.note(interrupt, to=shown.user, is_revealed=False)
    return JsonResponse(
        {
            "run": run_shape(interrupt.run, [interrupt], []),
            "offered": shown.decisions,
            "proof": shown.proof,
            "why_me": shown.why_me,
            "who_approves": shown.who_approves,
            "left_s": shown.seconds_left,
            "approvals": [one.user.username for one in shown.approvals],
            "same": [one.interrupt.pk for one in shown.same_told],
            "history": [
                {"at": line.at.isoformat(), "who": line.who, "type": line.event.type}
                for line in shown.history
            ],
        }
    )


urlpatterns = [
    *real,
    path("bench/inbox/", inbox_data),
    path("bench/interrupts/<interrupt_id>/", question_data),
]


@dataclass(frozen=True, slots=True)
class Pair:
    """A page and the same data."""

    name: str
    page: str
    data: str


def measure(_cluster: Cluster, *, is_quick: bool) -> None:
    """Print the ratio of each pair."""
    times = 20 if is_quick else 300
    report = Report("pages")
    people = People.make()
    asked = [
        people.ask(people.run(), args=PAYMENT | {"invoice": f"INV-{number}"})
        for number in range(PAGE_ROWS)
    ]
    client = Client(headers={"host": "localhost"})
    client.force_login(people.reviewer, "django.contrib.auth.backends.ModelBackend")
    pairs = (
        Pair(f"inbox with {PAGE_ROWS} rows", "/", "/bench/inbox/"),
        Pair(
            "question with a payment",
            f"/interrupts/{asked[0].pk}/",
            f"/bench/interrupts/{asked[0].pk}/",
        ),
    )
    with override_settings(ROOT_URLCONF="bench.pages"):
        for pair in pairs:
            _compare(report, client, pair, times)
    report.close()


def _compare(report: Report, client: Client, pair: Pair, times: int) -> None:
    requests: list[Request] = [
        lambda: client.get(pair.page).status_code,
        lambda: client.get(pair.page, headers={"accept-encoding": "gzip"}).status_code,
        lambda: client.get(pair.data).status_code,
    ]
    taken = _in_turns(requests, times)
    page_ms, packed_ms, data_ms = (1000 * median(one) for one in taken)
    report.note(
        f"{pair.name}: {page_ms:.2f} ms a page ({packed_ms:.2f} ms packed for the wire),"
        f" {data_ms:.2f} ms the same data as JSON"
    )
    report.at_most(f"{pair.name}, page / JSON, medians of {times}", page_ms / data_ms, TARGET)


def _in_turns(requests: list[Request], times: int) -> list[list[float]]:
    """The processor seconds of each request, made in turns."""
    taken: list[list[float]] = [[] for _ in requests]
    for number in range(WARM_UP + times):
        if number == WARM_UP:
            gc.collect()
        for request, mine in zip(requests, taken, strict=True):
            began = time.process_time()
            status = request()
            took = time.process_time() - began
            assert status == HTTPStatus.OK, status
            if number >= WARM_UP:
                mine.append(took)
    return taken
