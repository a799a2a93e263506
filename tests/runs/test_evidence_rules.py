"""Reconciling: every state of an action × every finding, kind of evidence and who gives it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from placet.protocol.refusals import RefusalCode
from placet.protocol.states import ActionState, RunOutcome, RunState
from runs.rules.evidence import Evidence, EvidenceKind, Finding, Reconciling, reconcile
from runs.rules.facts import RunFacts
from runs.rules.refusal import Refusal

NO = RefusalCode
NOON = datetime(2031, 5, 4, 12, 0, tzinfo=UTC)
KINDS = list(EvidenceKind)
STATED = EvidenceKind.HUMAN_STATEMENT
OBJECT = EvidenceKind.TARGET_OBJECT


def facts(state: RunState = RunState.UNKNOWN, *, cancel_requested: bool = False) -> RunFacts:
    outcome = RunOutcome.FAILED if state is RunState.DONE else None
    return RunFacts(state, 3, outcome, cancel_requested)


def found(finding: Finding, kind: EvidenceKind | None = None, **members: Any) -> Reconciling:
    return Reconciling(
        **{
            "finding": finding,
            "evidence": Evidence(kind, "receipt 77") if kind else None,
            "is_person": True,
            "may_resend": True,
            "is_idempotent": True,
            "grant_ends_at": NOON,
            "now": NOON,
            **members,
        }
    )


def code(asked: Reconciling, action: ActionState = ActionState.UNKNOWN, **run: Any) -> object:
    refusal = reconcile(facts(**run), action, asked)
    return refusal.code if isinstance(refusal, Refusal) else None


@pytest.mark.parametrize("finding", list(Finding))
@pytest.mark.parametrize("state", [each for each in ActionState if each is not ActionState.UNKNOWN])
def test_only_what_is_unknown_is_reconciled(finding: Finding, state: ActionState) -> None:
    run_state = RunState.IN_FLIGHT if state is ActionState.IN_FLIGHT else RunState.READY

    assert (
        code(found(finding, EvidenceKind.STATUS_RECORD), state, state=run_state) is NO.WRONG_STATE
    )


@pytest.mark.parametrize("finding", list(Finding))
@pytest.mark.parametrize("state", [RunState.DONE, RunState.CANCELLED])
def test_a_run_that_ended_takes_no_finding(finding: Finding, state: RunState) -> None:
    asked = found(finding, EvidenceKind.STATUS_RECORD)

    assert code(asked, ActionState.SUCCEEDED, state=state) is NO.RUN_CLOSED


@pytest.mark.parametrize("is_person", [False, True])
@pytest.mark.parametrize("kind", [None, *KINDS])
@pytest.mark.parametrize("finding", list(Finding))
def test_every_finding_by_its_evidence_and_who_gives_it(
    finding: Finding, kind: EvidenceKind | None, is_person: bool
) -> None:
    """H-14: a person's recorded word or typed evidence, and nothing else, ends not knowing."""
    if not is_person and (kind is STATED or finding is Finding.RESEND):
        expected: RefusalCode | None = NO.NOT_PERMITTED
    elif finding in (Finding.STILL_UNKNOWN, Finding.RESEND):
        expected = None
    elif kind is None or (finding is Finding.NOT_EXECUTED and kind is OBJECT):
        expected = NO.EVIDENCE_REQUIRED
    else:
        expected = None

    assert code(found(finding, kind, is_person=is_person)) is expected


@pytest.mark.parametrize("finding", list(Finding))
@pytest.mark.parametrize("kind", [None, *KINDS])
def test_only_not_executed_waits_for_the_end_of_the_grant(
    finding: Finding, kind: EvidenceKind | None
) -> None:
    before = found(finding, kind, now=NOON - timedelta(milliseconds=1))
    refusal = reconcile(facts(), ActionState.UNKNOWN, before)

    if finding is Finding.NOT_EXECUTED:
        assert refusal is not None
        assert (refusal.code, refusal.retry_after_s) == (NO.WRONG_STATE, 1)
    else:
        assert code(before) is code(found(finding, kind))


@pytest.mark.parametrize("finding", [Finding.EXECUTED, Finding.NOT_EXECUTED])
@pytest.mark.parametrize("reference", ["", "  \n"])
def test_evidence_names_what_it_is(finding: Finding, reference: str) -> None:
    asked = found(finding, evidence=Evidence(EvidenceKind.STATUS_RECORD, reference))
    refusal = reconcile(facts(), ActionState.UNKNOWN, asked)

    assert refusal is not None and refusal.code is NO.EVIDENCE_REQUIRED
    assert [fault.pointer for fault in refusal.faults] == ["/evidence/reference"]


@pytest.mark.parametrize(
    ("members", "run", "expected"),
    [
        ({}, {}, None),
        ({"may_resend": False}, {}, NO.NOT_PERMITTED),
        ({"may_resend": False, "is_idempotent": False}, {}, NO.NOT_PERMITTED),
        ({"is_idempotent": False}, {}, NO.DECISION_NOT_ALLOWED),
        ({"is_idempotent": False}, {"cancel_requested": True}, NO.CANCELLED),
        ({}, {"cancel_requested": True}, NO.CANCELLED),
        ({}, {"state": RunState.IN_FLIGHT}, None),
    ],
)
def test_what_an_order_to_send_again_needs(
    members: dict[str, Any], run: dict[str, Any], expected: RefusalCode | None
) -> None:
    assert code(found(Finding.RESEND, **members), **run) is expected


@pytest.mark.parametrize("finding", [Finding.EXECUTED, Finding.NOT_EXECUTED, Finding.STILL_UNKNOWN])
def test_a_run_that_is_asked_to_stop_still_learns_what_happened(finding: Finding) -> None:
    assert code(found(finding, EvidenceKind.STATUS_RECORD), cancel_requested=True) is None
