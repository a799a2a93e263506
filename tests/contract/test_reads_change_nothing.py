"""No GET, HEAD or OPTIONS changes anything but the record that something was shown (§8)."""

import pytest
from django.test import Client

from runs.models import Run
from tests.cast import Cast, question
from tests.contract.routes import AGENTS, OPERATORS, OUTSIDE_DJANGO, PAGES, PUBLIC, filled
from tests.contract.snapshot import SHOWN, snapshot
from tests.contract.test_default_deny import browser, send

pytestmark = pytest.mark.django_db

READS = ("GET", "HEAD", "OPTIONS")
PEOPLE = ("alice", "rae", "bob", "ada", "otto", "mallory")
QUESTION = "/interrupts/<interrupt_id>/"
EVERYTHING = sorted((PUBLIC | PAGES | AGENTS.keys() | OPERATORS) - OUTSIDE_DJANGO)


@pytest.mark.parametrize("path", [path for path in EVERYTHING if path != QUESTION])
def test_a_read_changes_nothing(cast: Cast, path: str) -> None:
    """H-24: whoever opens a link, a robot or a person with every right, decides nothing."""
    run = cast.run()
    at = filled(
        path,
        run_id=run.pk,
        interrupt_id=cast.ask(run, question(sensitive=("/invoice",))).pk,
        action_id=cast.act().pk,
    )
    browsers = [Client(), *(browser(getattr(cast, name)) for name in PEOPLE)]
    before = snapshot()

    for method in READS:
        for client in browsers:
            assert send(client, method, at).status_code < 500
        assert send(Client(), method, at, cast.key).status_code < 500

    assert snapshot() == before


def test_the_page_of_a_question_records_that_it_was_shown_and_nothing_else(cast: Cast) -> None:
    """H-24: the same for the one page whose showing goes on record."""
    run = cast.run()
    at = filled(QUESTION, interrupt_id=cast.ask(run).pk)
    standing = _standing(run)
    browsers = [Client(), *(browser(getattr(cast, name)) for name in PEOPLE)]
    before = snapshot(without=SHOWN | {"runs_run"})

    for method in READS:
        for client in browsers:
            assert send(client, method, at).status_code < 500

    assert snapshot(without=SHOWN | {"runs_run"}) == before
    assert _standing(run) == standing


def test_only_a_get_of_the_question_is_a_showing(cast: Cast) -> None:
    """H-24: HEAD and OPTIONS show nothing to anybody."""
    at = filled(QUESTION, interrupt_id=cast.ask(cast.run()).pk)
    client = browser(cast.rae)
    before = snapshot()

    for method in ("HEAD", "OPTIONS"):
        send(client, method, at)

    assert snapshot() == before


def _standing(run: Run) -> tuple[str, int, int]:
    row = Run.objects.get(pk=run.pk)
    return row.state, row.revision, row.seq
