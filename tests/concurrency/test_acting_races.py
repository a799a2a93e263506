"""Executors, people and leases at one instant: one use of an approval, one outcome of an action."""

from collections import Counter
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from approvals.models import Interrupt, PolicyVersion
from approvals.models.asking import ask
from approvals.models.dispatching import Wanted, dispatch
from approvals.models.observing import Observed, observe_handback
from approvals.models.reconciling import Found, settle_outcome
from approvals.rules.observing import Seen
from audit.models import Event
from identity.management.reporting import OPERATOR
from placet.protocol.refusals import RefusalCode
from placet.protocol.states import ActionState, DecisionKind, InterruptKind
from runs.clock import database_now
from runs.models import Action, Run
from runs.models.lease import renew_lease, take_lease
from runs.models.reporting import report
from runs.rules.actions import Report
from runs.rules.evidence import Evidence, EvidenceKind, Finding
from runs.rules.lease import NewLease
from runs.rules.refusal import Refusal
from tests.cast import PAYMENT, Cast, question
from tests.concurrency.race import later, race, rounds
from tests.concurrency.test_decision_races import codes, posts

pytestmark = pytest.mark.django_db(transaction=True)

NO = RefusalCode
LEASE = NewLease("worker", 600)
TARGET = {"origin": "https://bank.example", "account": "alice@acme"}
EXECUTED = Found(Finding.EXECUTED, Evidence(EvidenceKind.TARGET_OBJECT, "receipt 77"))
SUCCEEDED = Report(state=ActionState.SUCCEEDED, fencing_token=1)
HANDOFF = question(kind=InterruptKind.HANDOFF, tool="login", args={}, target=TARGET)


def approved(cast: Cast, *, is_held: bool = True) -> Interrupt:
    """A question that Rae approved, in a run of its own, under the token 1 where it is held."""
    interrupt = cast.ask(cast.run())
    assert isinstance(cast.decide(interrupt, cast.rae), Interrupt)
    if is_held:
        assert isinstance(take_lease(interrupt.run, LEASE, agent=cast.agent), Run)
    return interrupt


def uses(cast: Cast, interrupt: Interrupt, **control: Any) -> Any:
    """The dispatch of it, ready for the barrier."""
    wanted = Wanted(interrupt_id=interrupt.pk, args=dict(PAYMENT), **control)
    return partial(dispatch, interrupt.run_id, wanted, agent=cast.agent)


def standing(run_id: str) -> tuple[str, int]:
    """The run's state and the last token given."""
    row = Run.objects.get(pk=run_id)
    return row.state, row.fencing_token


def types(run_id: str) -> Counter[str]:
    return Counter(Event.objects.filter(run_id=run_id).values_list("type", flat=True))


def test_of_two_dispatches_under_one_token_one_is_the_license(cast: Cast) -> None:
    for number in rounds():
        interrupt = approved(cast)
        dispatches = uses(cast, interrupt, fencing_token=1)

        results = race(dispatches, dispatches, first=number % 2)

        (action,) = [each for each in results if isinstance(each, Action)]
        assert codes(results) == [NO.ALREADY_DISPATCHED]
        assert list(Action.objects.filter(run_id=interrupt.run_id)) == [action]
        assert standing(interrupt.run_id) == ("IN_FLIGHT", 1)
        assert types(interrupt.run_id)["action.dispatched"] == 1


def test_of_two_dispatches_that_take_the_lease_one_controls_the_run(cast: Cast) -> None:
    for number in rounds():
        interrupt = approved(cast, is_held=False)
        dispatches = uses(cast, interrupt, lease=LEASE)

        results = race(dispatches, dispatches, first=number % 2)

        assert codes(results) == [NO.LEASE_HELD]
        assert Action.objects.filter(run_id=interrupt.run_id).count() == 1
        assert standing(interrupt.run_id) == ("IN_FLIGHT", 1)


def test_a_dispatch_comes_before_the_stop_or_not_at_all(cast: Cast) -> None:
    for number in rounds():
        interrupt = approved(cast)

        used, stopped = race(
            uses(cast, interrupt, fencing_token=1),
            partial(interrupt.run.cancel, by=cast.alice),
            first=number % 2,
        )

        run = Run.objects.get(pk=interrupt.run_id)
        assert isinstance(stopped, Run)
        if isinstance(used, Refusal):
            assert used.code is NO.RUN_CLOSED
            assert (run.state, run.cancel_requested, run.lease) == ("CANCELLED", False, None)
        else:
            assert (run.state, run.cancel_requested) == ("IN_FLIGHT", True)
        assert run.fencing_token == 1


def test_a_dispatch_uses_the_approval_or_hears_of_the_newer_question(cast: Cast) -> None:
    other = question(args={**PAYMENT, "amount_paise": 1})
    for number in rounds():
        interrupt = approved(cast)

        used, asked = race(
            uses(cast, interrupt, fencing_token=1),
            partial(ask, interrupt.run_id, [other], agent=cast.agent, fencing_token=1),
            first=number % 2,
        )

        if isinstance(used, Refusal):
            assert used.code is NO.SUPERSEDED
            assert used.current == {"superseded_by": asked.interrupts[0].pk}
            assert standing(interrupt.run_id) == ("WAIT_USER", 1)
        else:
            assert asked.code is NO.WRONG_STATE
            assert asked.current["open_actions"] == [used.pk]
            assert standing(interrupt.run_id) == ("IN_FLIGHT", 1)


def test_a_result_comes_before_the_end_of_its_lease_or_is_kept(cast: Cast) -> None:
    """H-16: what is late is evidence; the run stays UNKNOWN."""
    for number in rounds():
        action = cast.act()
        end = database_now() + timedelta(milliseconds=number % 10)
        Run.objects.filter(pk=action.run_id).update(lease_expires_at=end)

        told, _ = race(
            later(number % 7 * 0.002, partial(report, action, SUCCEEDED, agent=cast.agent)),
            later(number % 5 * 0.002, action.run.settle),
            first=number % 2,
        )

        action.refresh_from_db()
        if isinstance(told, Refusal):
            assert (told.code, told.is_kept) == (NO.OUTCOME_UNKNOWN, True)
            assert (action.state, len(action.late_values)) == ("UNKNOWN", 1)
            assert standing(action.run_id) == ("UNKNOWN", 1)
            assert types(action.run_id)["action.unknown"] == 1
        else:
            assert (action.state, action.late_values) == ("SUCCEEDED", [])
            assert action.ended_at is not None and action.ended_at < end
            assert standing(action.run_id) == ("READY", 1)


def test_after_an_executor_is_gone_one_of_two_others_takes_over(cast: Cast) -> None:
    """H-15: the one that stalled is a third contender, under its old token."""
    for number in rounds():
        run = approved(cast).run
        Run.objects.filter(pk=run.pk).update(lease_expires_at=database_now())
        takes = partial(take_lease, run, LEASE, agent=cast.agent)

        first, second, stalled = race(
            takes, takes, partial(renew_lease, run, 1, ttl_s=None, agent=cast.agent),
            first=number % 3,
        )  # fmt: skip

        assert codes([first, second]) == [NO.LEASE_HELD]
        assert stalled.code is NO.LEASE_LOST
        assert standing(run.pk) == ("READY", 2)


def test_nobody_takes_over_what_may_have_been_done(cast: Cast) -> None:
    """H-14, H-16: with an action under way the end of the lease is no offer of work."""
    for number in rounds():
        run = cast.act().run
        Run.objects.filter(pk=run.pk).update(lease_expires_at=database_now())
        takes = partial(take_lease, run, LEASE, agent=cast.agent)

        results = race(takes, takes, run.settle, first=number % 3)

        assert codes(results) == [NO.OUTCOME_UNKNOWN, NO.OUTCOME_UNKNOWN]
        assert standing(run.pk) == ("UNKNOWN", 1)
        assert types(run.pk)["action.unknown"] == 1


def handed_back(cast: Cast) -> Interrupt:
    """A handoff that Alice has handed back once, in a run that is held."""
    interrupt = cast.ask(cast.run(), HANDOFF)
    assert isinstance(take_lease(interrupt.run, LEASE, agent=cast.agent), Run)
    done = cast.decide(interrupt, cast.alice, decision=DecisionKind.DONE)
    assert isinstance(done, Interrupt)
    return done


def sees(cast: Cast, interrupt: Interrupt, handback: int, **members: str) -> Any:
    """A look at the page after a hand-back, ready for the barrier."""
    seen = Seen(
        fencing_token=1,
        snapshot_sha256="a" * 64,
        observed_at=database_now(),
        **{**TARGET, **members},
    )
    return partial(observe_handback, interrupt, seen, handback=handback, agent=cast.agent)


def test_a_look_of_the_first_hand_back_never_settles_the_second(cast: Cast) -> None:
    for number in rounds():
        interrupt = handed_back(cast)
        assert isinstance(sees(cast, interrupt, 1, account="bob@acme")(), Observed)

        again, stale = race(
            posts(interrupt, cast.alice, decision=DecisionKind.DONE),
            sees(cast, interrupt, 1),
            first=number % 2,
        )

        interrupt.refresh_from_db()
        assert isinstance(again, Interrupt)
        assert stale.code in (NO.WRONG_STATE, NO.PAGE_NOT_VERIFIED)
        assert (interrupt.state, interrupt.handback) == ("HANDED_BACK", 2)
        assert standing(interrupt.run_id) == ("WAIT_USER", 1)


def test_handing_back_again_counts_from_when_the_first_was_looked_at(cast: Cast) -> None:
    for number in rounds():
        interrupt = handed_back(cast)

        again, looked = race(
            posts(interrupt, cast.alice, decision=DecisionKind.DONE),
            sees(cast, interrupt, 1, account="bob@acme"),
            first=number % 2,
        )

        interrupt.refresh_from_db()
        assert looked.observation.differs == ["account"]
        if isinstance(again, Refusal):
            assert again.code is NO.WRONG_STATE
            assert (interrupt.state, interrupt.handback) == ("PENDING", 1)
        else:
            assert (interrupt.state, interrupt.handback) == ("HANDED_BACK", 2)


def unknown(cast: Cast) -> Action:
    """An action of which nobody knows what became of it."""
    action = cast.act()
    told = report(action, Report(state=ActionState.UNKNOWN, fencing_token=1), agent=cast.agent)
    assert isinstance(told, Action)
    return told


def test_evidence_settles_an_outcome_and_the_late_result_is_kept(cast: Cast) -> None:
    """H-16: also the result that says the same is no second outcome."""
    for number in rounds():
        action = unknown(cast)

        found, late = race(
            partial(settle_outcome, action, EXECUTED, by=cast.alice),
            partial(report, action, SUCCEEDED, agent=cast.agent),
            first=number % 2,
        )

        action.refresh_from_db()
        assert isinstance(found, Action)
        assert late.code in (NO.OUTCOME_UNKNOWN, NO.LEASE_LOST) and late.is_kept
        assert (action.state, action.result) == ("SUCCEEDED", None)
        assert len(action.late_values) == 1
        assert standing(action.run_id) == ("READY", 1)
        assert types(action.run_id)["action.reconciled"] == 1
        assert types(action.run_id)["action.known"] == 0


def test_of_evidence_and_an_order_to_send_again_one_holds(cast: Cast) -> None:
    rule = {"id": "pay", "idempotent": True, "approvals": [{"from": {"roles": ["reviewer"]}}]}
    assert isinstance(PolicyVersion.set(cast.tenant, [rule], by=OPERATOR), PolicyVersion)
    for number in rounds():
        action = unknown(cast)

        results = race(
            partial(settle_outcome, action, EXECUTED, by=cast.alice),
            partial(settle_outcome, action, Found(Finding.RESEND), by=cast.rae),
            first=number % 2,
        )

        action.refresh_from_db()
        assert codes(results) == [NO.WRONG_STATE]
        attempts = Interrupt.objects.filter(run_id=action.run_id).count()
        assert (action.state, attempts) in (("SUCCEEDED", 1), ("RESENT", 2))
        assert types(action.run_id)["action.reconciled"] == 1
