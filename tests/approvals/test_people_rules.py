"""Who counts: clauses, places and the people who may fill them."""

from approvals.rules.people import Clause, Stakes, is_admitted, places, places_filled
from identity.person import Person

ALICE, RAE, ROB, RITA = 1, 2, 3, 4
STAKES = Stakes(owner_id=ALICE, responsible_id=None)
FINANCE = Clause(count=1, groups=frozenset({"finance"}))
OPS = Clause(count=1, groups=frozenset({"ops"}))


def person(
    id_: int, *groups: str, role: str = "reviewer", name: str = "x", is_active: bool = True
) -> Person:
    return Person(id=id_, name=name, role=role, groups=frozenset(groups), is_active=is_active)


def filled(clauses: tuple[Clause, ...], *people: Person, owner_counts: bool = True) -> int:
    return places_filled(clauses, people, stakes=STAKES, owner_counts=owner_counts)


def test_required_is_the_sum_of_the_counts() -> None:
    assert places((FINANCE, Clause(count=2, roles=frozenset({"reviewer"})))) == 3


def test_one_person_fills_one_place() -> None:
    both = person(RAE, "finance", "ops")

    assert filled((FINANCE, OPS), both) == 1


def test_an_assignment_is_found_whatever_the_order() -> None:
    both, only_finance = person(RAE, "finance", "ops"), person(ROB, "finance")

    assert filled((FINANCE, OPS), both, only_finance) == 2
    assert filled((FINANCE, OPS), only_finance, both) == 2


def test_two_of_one_group_do_not_stand_for_another() -> None:
    assert filled((FINANCE, OPS), person(RAE, "finance"), person(ROB, "finance")) == 1


def test_inactive_people_and_auditors_fill_nothing() -> None:
    gone = person(RAE, "finance", is_active=False)
    auditor = person(ROB, "finance", role="auditor")

    assert filled((FINANCE,), gone, auditor) == 0


def test_who_has_a_stake_is_left_out_where_the_rule_wants_others() -> None:
    """H-04: one single rule for the owner and the responsible person."""
    clause = Clause(count=1, roles=frozenset({"reviewer"}), owner=True)
    owner, responsible = person(ALICE), person(RITA)
    stakes = Stakes(owner_id=ALICE, responsible_id=RITA)

    for somebody in (owner, responsible):
        assert is_admitted((clause,), somebody, stakes=stakes, owner_counts=True)
        assert not is_admitted((clause,), somebody, stakes=stakes, owner_counts=False)


def test_a_name_a_role_or_a_group_admits() -> None:
    clause = Clause(
        count=1,
        users=frozenset({"rae"}),
        roles=frozenset({"admin"}),
        groups=frozenset({"finance"}),
    )

    assert clause.admits(person(RAE, role="member", name="rae"), STAKES)
    assert clause.admits(person(RAE, role="admin"), STAKES)
    assert clause.admits(person(RAE, "finance", role="member"), STAKES)
    assert not clause.admits(person(RAE, role="reviewer"), STAKES)
