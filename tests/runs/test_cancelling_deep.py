"""Cancelling a run whose children have children, however deep."""

from copy import copy
from itertools import pairwise

import pytest

from approvals.models import Interrupt
from audit.chain import EMPTY_HEAD
from audit.models import Event
from placet.protocol.states import InterruptState, RunState
from runs.ids import new_id
from runs.models import Run
from tests.cast import Cast

pytestmark = pytest.mark.django_db

DEEP = 1100  # deeper than Python lets calls nest


def test_a_deep_chain_of_children_is_cancelled_from_its_root(cast: Cast) -> None:
    root = cast.run()
    rows = [copy(root) for _ in range(DEEP)]
    for above, row in pairwise([root, *rows]):
        row.pk, row.parent_id = new_id("run"), above.pk
        row.seq, row.event_seq, row.chain_hash = 0, EMPTY_HEAD.seq, EMPTY_HEAD.hash
    Run.objects.bulk_create(rows)
    question = cast.ask(rows[-1])

    root.cancel(by=cast.ada, reason="enough")

    assert set(Run.objects.values_list("state", flat=True)) == {RunState.CANCELLED}
    assert Interrupt.objects.get(pk=question.pk).state == InterruptState.CANCELLED
    ended = Event.objects.filter(type="run.state_changed", to_state=RunState.CANCELLED)
    assert ended.count() == DEEP + 1
