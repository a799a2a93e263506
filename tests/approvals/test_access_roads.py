"""The road to one interrupt and the list of all that somebody sees say the same."""

import pytest
from django.db import connection

from approvals.access import visible_interrupt, visible_interrupts, waiting_for
from approvals.models import Interrupt, PolicyVersion
from approvals.models.grants import decidable_by, may_decide
from identity.management.reporting import OPERATOR
from identity.models import User
from placet.protocol.reading import JSONValue
from tests.cast import Cast, question

pytestmark = pytest.mark.django_db

POLICY: JSONValue = [
    {
        "id": "payments",
        "tools": ["pay_*"],
        "approvals": [{"from": {"users": ["bob"], "groups": ["finance"]}, "count": 1}],
    }
]


@pytest.fixture
def questions(cast: Cast) -> dict[str, Interrupt]:
    """One under the standing rule, one under a policy, one answered by somebody since moved."""
    standing = cast.ask(cast.run())
    answered = cast.ask(cast.run())
    cast.decide(answered, cast.rob)
    PolicyVersion.set(cast.tenant, POLICY, by=OPERATOR)
    named = cast.ask(cast.run(), question())
    cast.rob.groups.clear()
    foreign = cast.ask(cast.other_run())
    return {"standing": standing, "answered": answered, "named": named, "foreign": foreign}


def test_each_road_lets_the_same_people_see_the_same_questions(
    cast: Cast, questions: dict[str, Interrupt]
) -> None:
    listed = {user.username: _seen(user, questions, is_list=True) for user in _people(cast)}
    reached = {user.username: _seen(user, questions, is_list=False) for user in _people(cast)}

    assert reached == listed
    assert reached == {
        "alice": {"standing", "answered", "named"},
        "rae": {"standing", "answered", "named"},
        "rob": {"answered"},
        "bob": {"named"},
        "ada": {"standing", "answered", "named"},
        "otto": {"standing", "answered", "named"},
        "mallory": {"foreign"},
    }


def test_the_right_to_decide_one_question_is_the_right_by_which_they_are_listed(
    cast: Cast, questions: dict[str, Interrupt]
) -> None:
    for user in _people(cast):
        decidable = set(decidable_by(Interrupt.objects.all(), user.pk))
        assert {row for row in questions.values() if may_decide(row.pk, user.pk)} == decidable


def test_the_inbox_looks_rights_up_row_by_row(cast: Cast, questions: dict[str, Interrupt]) -> None:
    """A hash table of every grant there is would grow with all that was ever asked."""
    sql, params = waiting_for(cast.rae).order_by("expires_at", "pk")[:21].query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_indexscan = off; SET LOCAL enable_bitmapscan = off")
        cursor.execute(f"EXPLAIN {sql}", params)
        plan = "\n".join(line for (line,) in cursor.fetchall())

    assert "hashed SubPlan" not in plan


def _people(cast: Cast) -> list[User]:
    return [cast.alice, cast.rae, cast.rob, cast.bob, cast.ada, cast.otto, cast.mallory]


def _seen(user: User, questions: dict[str, Interrupt], *, is_list: bool) -> set[str]:
    if is_list:
        rows = set(visible_interrupts(user))
        return {name for name, row in questions.items() if row in rows}
    return {name for name, row in questions.items() if visible_interrupt(user, row.pk)}
