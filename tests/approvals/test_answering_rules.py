"""The order of refusals of an answer (contract §5), and every state of a question × answering."""

from dataclasses import replace
from typing import Any

import pytest

from approvals.rules.answering import Answer, Question, Right, Shown, judge
from approvals.rules.people import Clause, Stakes
from approvals.rules.policy import DEFAULT_RULE, Rule
from identity.person import Person
from placet.protocol.refusals import RefusalCode
from placet.protocol.states import DecisionKind, InterruptState, RunState
from runs.rules.facts import RunFacts

ALICE, RAE, BOB = 1, 2, 3
DIGEST = "a" * 64
STAKES = Stakes(owner_id=ALICE, responsible_id=None)
OTHERS = Rule(
    id="others",
    clauses=(Clause(count=1, roles=frozenset({"reviewer"})),),
    owner_counts=False,
)


def person(id_: int, role: str = "reviewer", *, is_active: bool = True) -> Person:
    return Person(id=id_, name=str(id_), role=role, groups=frozenset(), is_active=is_active)


def right(who: Person, *, has_permission: bool = True) -> Right:
    return Right(person=who, stakes=STAKES, has_permission=has_permission)


QUESTION = Question(
    id="int_1",
    state=InterruptState.PENDING,
    asked_sha256=DIGEST,
    handback=0,
    allowed_decisions=(DecisionKind.APPROVE, DecisionKind.REJECT),
    approved_by=frozenset(),
    ending={},
)
RUN = RunFacts(state=RunState.WAIT_USER, revision=3, outcome=None, cancel_requested=False)
SHOWN = Shown(user_id=RAE, interrupt_id="int_1", asked_sha256=DIGEST, handback=0)
ANSWER = Answer(decision=DecisionKind.APPROVE, revision=3, asked_sha256=DIGEST, shown=SHOWN)


def refusal(
    question: Question = QUESTION,
    run: RunFacts = RUN,
    answer: Answer = ANSWER,
    *,
    who: Right | None = None,
    rule: Rule = DEFAULT_RULE,
) -> RefusalCode | None:
    found = judge(question, run, answer, right=who or right(person(RAE)), rule=rule)
    return found.code if found else None


def test_a_right_answer_is_not_refused() -> None:
    assert refusal() is None


LADDER: list[tuple[RefusalCode, dict[str, Any]]] = [
    (RefusalCode.NOT_PERMITTED, {"who": right(person(BOB, "member"), has_permission=False)}),
    (RefusalCode.SUPERSEDED, {"question": {"state": InterruptState.SUPERSEDED}}),
    (RefusalCode.RUN_CLOSED, {"run": {"state": RunState.CANCELLED}}),
    (RefusalCode.STALE_REVISION, {"answer": {"revision": 2}}),
    (RefusalCode.DIGEST_MISMATCH, {"answer": {"asked_sha256": "b" * 64}}),
    (RefusalCode.NOT_SHOWN, {"answer": {"shown": None}}),
    (
        RefusalCode.DECISION_NOT_ALLOWED,
        {
            "answer": {"decision": DecisionKind.REJECT},
            "question": {"allowed_decisions": (DecisionKind.APPROVE,)},
        },
    ),
    (RefusalCode.REASON_REQUIRED, {"answer": {"decision": DecisionKind.REJECT}}),
]


def broken(*steps: dict[str, Any]) -> RefusalCode | None:
    """The code where all of these are wrong at once."""
    question, run, answer, who = QUESTION, RUN, ANSWER, None
    for step in reversed(steps):
        question = replace(question, **step.get("question", {}))
        run = replace(run, **step.get("run", {}))
        answer = replace(answer, **step.get("answer", {}))
        who = step.get("who", who)
    return refusal(question, run, answer, who=who)


@pytest.mark.parametrize("rung", range(len(LADDER)))
def test_of_several_reasons_the_first_of_the_contract_is_given(rung: int) -> None:
    expected = LADDER[rung][0]

    assert broken(*(step for _, step in LADDER[rung:])) is expected
    assert [code.order for code, _ in LADDER] == sorted(code.order for code, _ in LADDER)


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (InterruptState.PENDING, None),
        (InterruptState.HANDED_BACK, RefusalCode.WRONG_STATE),
        (InterruptState.DECIDED, RefusalCode.ALREADY_DECIDED),
        (InterruptState.SUPERSEDED, RefusalCode.SUPERSEDED),
        (InterruptState.EXPIRED, RefusalCode.EXPIRED),
        (InterruptState.CANCELLED, RefusalCode.CANCELLED),
    ],
)
def test_only_an_open_question_takes_an_approval(
    state: InterruptState, expected: RefusalCode | None
) -> None:
    assert refusal(replace(QUESTION, state=state)) is expected


@pytest.mark.parametrize(
    ("who", "decision", "rule", "expected"),
    [
        (person(ALICE, "member"), DecisionKind.APPROVE, DEFAULT_RULE, None),
        (person(ALICE, "member"), DecisionKind.APPROVE, OTHERS, RefusalCode.SELF_APPROVAL),
        (person(ALICE, "reviewer"), DecisionKind.APPROVE, OTHERS, RefusalCode.SELF_APPROVAL),
        (person(ALICE, "admin"), DecisionKind.APPROVE, OTHERS, RefusalCode.SELF_APPROVAL),
        (person(ALICE, "member"), DecisionKind.REJECT, OTHERS, RefusalCode.REASON_REQUIRED),
        (person(ALICE, "auditor"), DecisionKind.APPROVE, DEFAULT_RULE, RefusalCode.NOT_PERMITTED),
        (person(RAE, "admin"), DecisionKind.APPROVE, DEFAULT_RULE, RefusalCode.NOT_PERMITTED),
        (
            person(RAE, is_active=False),
            DecisionKind.APPROVE,
            DEFAULT_RULE,
            RefusalCode.NOT_PERMITTED,
        ),
    ],
)
def test_who_may_answer(
    who: Person, decision: DecisionKind, rule: Rule, expected: RefusalCode | None
) -> None:
    """H-04: one single rule for owner, reviewer and admin alike."""
    shown = replace(SHOWN, user_id=who.id)
    answer = replace(ANSWER, decision=decision, shown=shown)

    assert refusal(answer=answer, who=right(who), rule=rule) is expected


@pytest.mark.parametrize(
    "shown",
    [
        None,
        replace(SHOWN, user_id=BOB),
        replace(SHOWN, interrupt_id="int_2"),
        replace(SHOWN, asked_sha256="b" * 64),
        replace(SHOWN, handback=1),
    ],
)
def test_an_answer_needs_the_page_that_showed_this_question_to_this_person(
    shown: Shown | None,
) -> None:
    assert refusal(answer=replace(ANSWER, shown=shown)) is RefusalCode.NOT_SHOWN


def test_who_approved_before_is_a_duplicate() -> None:
    twice = replace(QUESTION, approved_by=frozenset({RAE}))

    assert refusal(twice) is RefusalCode.DUPLICATE_APPROVER


def test_a_blank_reason_is_no_reason() -> None:
    answer = replace(ANSWER, decision=DecisionKind.REJECT, reason=" \n")

    assert refusal(answer=answer) is RefusalCode.REASON_REQUIRED
    assert refusal(answer=replace(answer, reason="Too much")) is None


def test_a_rule_may_want_a_reason_for_an_approval_too() -> None:
    rule = replace(DEFAULT_RULE, reason_required=True)

    assert refusal(rule=rule) is RefusalCode.REASON_REQUIRED
