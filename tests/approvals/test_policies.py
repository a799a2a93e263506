"""Policies at work: who is asked, how many, what an edit falls under."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from approvals.access import waiting_for
from approvals.models import Decision, Interrupt, PolicyVersion
from approvals.models.asking import Asked, ask
from approvals.rules.policy import Escalation
from approvals.rules.policy_file import read_policy
from audit.models import Event
from identity.management.reporting import OPERATOR
from placet.protocol.refusals import RefusalCode
from placet.protocol.states import DecisionKind, InterruptState, RunState
from runs.models import Run
from runs.rules.refusal import Refusal
from tests.cast import EDITABLE, PAYMENT, Cast, question

pytestmark = pytest.mark.django_db

FOUR_EYES = {
    "id": "four-eyes",
    "tools": ["pay_*"],
    "approvals": [
        {"from": {"groups": ["finance"]}, "count": 1},
        {"from": {"groups": ["ops"]}, "count": 1},
    ],
    "owner_counts": False,
}
SMALL = {
    "id": "small",
    "tools": ["pay_vendor"],
    "when": {
        "properties": {"args": {"properties": {"amount_paise": {"maximum": 1000}}}},
    },
    "approvals": [{"from": {"roles": ["reviewer"]}, "count": 1}],
}
FREE = {"id": "free", "tools": ["read_*"], "approvals": []}
NEVER = {"id": "never", "tools": ["drop_*"], "deny": True}


def save(cast: Cast, *rules: dict[str, Any]) -> PolicyVersion:
    saved = PolicyVersion.set(cast.tenant, list(rules), by=OPERATOR)
    assert isinstance(saved, PolicyVersion), saved
    return saved


def code(outcome: object) -> RefusalCode:
    assert isinstance(outcome, Refusal), outcome
    return outcome.code


def test_two_people_of_two_groups_decide_together(cast: Cast) -> None:
    save(cast, FOUR_EYES)
    interrupt = cast.ask(cast.run())

    first = cast.decide(interrupt, cast.rae)
    second = cast.decide(interrupt, cast.rob)

    assert isinstance(first, Interrupt)
    assert isinstance(second, Interrupt)
    assert (first.state, first.approvals_so_far, first.required) == (InterruptState.PENDING, 1, 2)
    assert second.state == InterruptState.DECIDED
    decision = Decision.objects.get()
    assert [person["name"] for person in json.loads(decision.approvals)] == ["rae", "rob"]
    assert Event.objects.filter(type="interrupt.partly_approved").count() == 1


def test_the_same_person_never_counts_twice(cast: Cast) -> None:
    save(cast, FOUR_EYES)
    interrupt = cast.ask(cast.run())
    cast.decide(interrupt, cast.rae)

    assert code(cast.decide(interrupt, cast.rae)) is RefusalCode.DUPLICATE_APPROVER


def test_one_rejection_ends_a_question_of_several_approvals(cast: Cast) -> None:
    save(cast, FOUR_EYES)
    interrupt = cast.ask(cast.run())
    cast.decide(interrupt, cast.rae)

    outcome = cast.decide(interrupt, cast.rob, decision=DecisionKind.REJECT, reason="No budget")

    assert isinstance(outcome, Interrupt)
    assert Decision.objects.get().kind == "reject"


def test_an_approval_of_somebody_who_lost_the_right_no_longer_counts(cast: Cast) -> None:
    save(cast, FOUR_EYES)
    interrupt = cast.ask(cast.run())
    cast.decide(interrupt, cast.rae)
    cast.rae.deactivate(by=OPERATOR)

    outcome = cast.decide(interrupt, cast.rob)

    assert isinstance(outcome, Interrupt)
    assert (outcome.state, outcome.approvals_so_far) == (InterruptState.PENDING, 1)
    assert not Decision.objects.exists()


@pytest.mark.parametrize("decision", [DecisionKind.APPROVE, DecisionKind.EDIT])
def test_the_owner_does_not_approve_where_the_policy_wants_others(
    cast: Cast, decision: DecisionKind
) -> None:
    """H-04: one rule for every path; the owner may always reject."""
    save(cast, {**FOUR_EYES, "approvals": [{"from": {"owner": True, "roles": ["reviewer"]}}]})
    interrupt = cast.ask(cast.run(), question(args_schema=EDITABLE))

    refused = cast.decide(interrupt, cast.alice, decision=decision, args={"amount_paise": 1})
    rejected = cast.decide(interrupt, cast.alice, decision=DecisionKind.REJECT, reason="Mistake")

    assert code(refused) is RefusalCode.SELF_APPROVAL
    assert isinstance(rejected, Interrupt)


def test_a_rule_that_asks_nobody_approves_by_policy(cast: Cast) -> None:
    version = save(cast, FREE)
    run = cast.run()

    interrupt = cast.ask(run, question(tool="read_file"))

    decision = Decision.objects.get(interrupt=interrupt)
    assert (interrupt.state, interrupt.round) == (InterruptState.DECIDED, 0)
    assert (decision.by_kind, decision.by_id) == ("policy", f"free@{version.version}")
    run.refresh_from_db()
    assert (run.state, run.revision) == (RunState.READY, 0)


def test_a_denied_tool_is_refused_when_asked(cast: Cast) -> None:
    save(cast, NEVER)

    outcome = ask(cast.run().pk, [question(tool="drop_table")], agent=cast.agent)

    assert code(outcome) is RefusalCode.TOOL_NOT_ALLOWED
    assert not Interrupt.objects.exists()


def test_the_version_in_force_at_asking_binds(cast: Cast) -> None:
    save(cast, FOUR_EYES)
    interrupt = cast.ask(cast.run())
    save(cast, NEVER)

    outcome = cast.decide(interrupt, cast.rae)

    assert isinstance(outcome, Interrupt)
    assert (interrupt.policy_rule, interrupt.policy_version) == ("four-eyes", 1)


def test_a_rule_that_nobody_can_satisfy_warns(cast: Cast) -> None:
    rule = {**FOUR_EYES, "approvals": [{"from": {"groups": ["finance"]}, "count": 2}]}
    save(cast, rule)

    interrupt = cast.ask(cast.run())

    assert interrupt.warnings == ["no_eligible_approver"]


def test_an_edit_under_the_same_rule_decides(cast: Cast) -> None:
    interrupt = cast.ask(cast.run(), question(args_schema=EDITABLE))

    outcome = cast.decide(
        interrupt,
        cast.rae,
        decision=DecisionKind.EDIT,
        args={**PAYMENT, "amount_paise": 5},
    )

    assert isinstance(outcome, Interrupt)
    decision = Decision.objects.get()
    assert decision.kind == "edit"
    assert decision.args == {**PAYMENT, "amount_paise": 5}
    assert decision.approved_sha256 != interrupt.asked_sha256


def test_an_edit_that_changes_nothing_is_an_approve(cast: Cast) -> None:
    interrupt = cast.ask(cast.run(), question(args_schema=EDITABLE))

    cast.decide(interrupt, cast.rae, decision=DecisionKind.EDIT, args=PAYMENT)

    assert Decision.objects.get().kind == "approve"


@pytest.mark.parametrize(
    "args", [{"amount_paise": "5"}, {"amount_paise": 0}, {"amount_paise": 1.5}]
)
def test_an_edit_outside_the_schema_is_refused_at_its_place(
    cast: Cast, args: dict[str, Any]
) -> None:
    interrupt = cast.ask(cast.run(), question(args_schema=EDITABLE))

    outcome = cast.decide(interrupt, cast.rae, decision=DecisionKind.EDIT, args=args)

    assert isinstance(outcome, Refusal)
    assert outcome.code is RefusalCode.INVALID_EDIT
    assert [fault.pointer for fault in outcome.faults] == ["/args/amount_paise"]


def test_an_edit_without_a_schema_is_not_offered(cast: Cast) -> None:
    """H-07: an edit is possible only where the interrupt allows edits."""
    interrupt = cast.ask(cast.run())

    outcome = cast.decide(interrupt, cast.rae, decision=DecisionKind.EDIT, args={})

    assert code(outcome) is RefusalCode.DECISION_NOT_ALLOWED


def test_an_edit_that_falls_under_another_rule_is_asked_anew(cast: Cast) -> None:
    save(cast, SMALL, FOUR_EYES)
    run = cast.run()
    small = {**PAYMENT, "amount_paise": 1000}
    interrupt = cast.ask(run, question(args=small, args_schema=EDITABLE))
    assert interrupt.policy_rule == "small"

    outcome = cast.decide(interrupt, cast.rae, decision=DecisionKind.EDIT, args=PAYMENT)

    assert isinstance(outcome, Interrupt)
    assert outcome.state == InterruptState.SUPERSEDED
    following = Interrupt.objects.get(pk=outcome.superseded_by_id)
    assert (following.attempt, following.policy_rule, following.state) == (
        2,
        "four-eyes",
        "PENDING",
    )
    assert (following.requested_sha256, following.approvals_so_far) == (interrupt.asked_sha256, 1)
    assert not Decision.objects.exists()
    run.refresh_from_db()
    assert (run.state, run.revision) == (RunState.WAIT_USER, 1)
    again = ask(run.pk, [question(args=small, args_schema=EDITABLE)], agent=cast.agent)
    assert isinstance(again, Asked)
    assert again.interrupts[0].pk == following.pk


ONLY_NO = {
    "id": "big",
    "when": {
        "properties": {
            "args": {
                "properties": {"amount_paise": {"minimum": 10**9}},
                "required": ["amount_paise"],
            }
        }
    },
    "approvals": [{"from": {"roles": ["reviewer"]}}],
    "allowed_decisions": ["reject"],
}


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({**ONLY_NO, "reason_required": True}, RefusalCode.REASON_REQUIRED),
        ({**ONLY_NO, "approvals": []}, RefusalCode.DECISION_NOT_ALLOWED),
    ],
)
def test_an_edit_is_held_to_the_rule_that_it_falls_under(
    cast: Cast, rule: dict[str, Any], expected: RefusalCode
) -> None:
    save(cast, rule)
    interrupt = cast.ask(cast.run(), question(args_schema=EDITABLE))

    outcome = cast.decide(
        interrupt, cast.rae, decision=DecisionKind.EDIT, args={"amount_paise": 10**9}
    )

    assert code(outcome) is expected
    assert not Decision.objects.exists()


def test_an_edit_counts_as_approval_only_where_its_rule_offers_approving(cast: Cast) -> None:
    save(cast, {**ONLY_NO, "expires_in_s": 60})
    interrupt = cast.ask(cast.run(), question(args_schema=EDITABLE))

    cast.decide(interrupt, cast.rae, decision=DecisionKind.EDIT, args={"amount_paise": 10**9})

    following = Interrupt.objects.get(attempt=2)
    assert (following.state, following.approvals_so_far) == (InterruptState.PENDING, 0)
    assert (following.expires_at - following.created_at).total_seconds() == 60
    assert not Decision.objects.exists()


def test_a_rule_that_asks_nobody_approves_only_where_approving_is_left(cast: Cast) -> None:
    save(cast, FREE)
    asked = question(tool="read_file", allowed_decisions=frozenset({DecisionKind.REJECT}))

    outcome = ask(cast.run().pk, [asked], agent=cast.agent)

    assert code(outcome) is RefusalCode.INVALID_REQUEST
    assert not Decision.objects.exists()


def test_an_edit_among_several_approvals_voids_the_earlier_ones(cast: Cast) -> None:
    save(cast, FOUR_EYES)
    interrupt = cast.ask(cast.run(), question(args_schema=EDITABLE))
    cast.decide(interrupt, cast.rae)

    cast.decide(interrupt, cast.rob, decision=DecisionKind.EDIT, args={"amount_paise": 7})

    following = Interrupt.objects.get(attempt=2)
    assert (following.approvals_so_far, following.required) == (1, 2)
    assert list(following.approvals.values_list("user__username", flat=True)) == ["rob"]


def test_an_edit_that_falls_under_a_denial_is_refused(cast: Cast) -> None:
    big = {
        "id": "big",
        "deny": True,
        "when": {"properties": {"args": {"properties": {"amount_paise": {"minimum": 10**9}}}}},
    }
    big["when"]["properties"]["args"]["required"] = ["amount_paise"]  # type: ignore[index]
    save(cast, big)
    interrupt = cast.ask(cast.run(), question(args_schema=EDITABLE))

    outcome = cast.decide(
        interrupt, cast.rae, decision=DecisionKind.EDIT, args={"amount_paise": 10**9}
    )

    assert code(outcome) is RefusalCode.TOOL_NOT_ALLOWED


def test_a_question_is_answered_and_held_to_its_schema(cast: Cast) -> None:
    from placet.protocol.states import InterruptKind

    schema: dict[str, Any] = {"enum": ["red", "blue"]}
    asked = question(kind=InterruptKind.QUESTION, response_schema=schema)
    interrupt = cast.ask(cast.run(), asked)

    wrong = cast.decide(interrupt, cast.rae, decision=DecisionKind.RESPOND, response="green")
    right = cast.decide(interrupt, cast.rae, decision=DecisionKind.RESPOND, response="blue")

    assert code(wrong) is RefusalCode.INVALID_EDIT
    assert isinstance(right, Interrupt)
    assert Decision.objects.get().response_value == "blue"


def test_what_waits_for_a_person_follows_the_rule(cast: Cast) -> None:
    save(cast, FOUR_EYES)
    interrupt = cast.ask(cast.run())

    waits = {
        user.username: list(waiting_for(user)) for user in (cast.rae, cast.alice, cast.mallory)
    }

    assert waits == {"rae": [interrupt], "alice": [], "mallory": []}


def test_a_run_that_expires_its_last_question_is_expired(cast: Cast) -> None:
    run = cast.run()
    first = cast.ask(run, question(call_id="a"), question(call_id="b"))
    cast.decide(first, cast.rae)

    assert Run.objects.get(pk=run.pk).state == RunState.WAIT_USER


def test_policy_set_saves_versions(cast: Cast, tmp_path: Path) -> None:
    file = tmp_path / "policy.json"
    file.write_text(json.dumps([FREE]))
    out = StringIO()

    for _ in range(2):
        call_command("policy_set", "--tenant", "acme", str(file), "--json", stdout=out)

    assert [json.loads(line)["version"] for line in out.getvalue().splitlines()] == [1, 2]
    assert Event.objects.filter(type="policy.saved").count() == 2


ESCALATED: dict[str, Any] = {"id": "x", "approvals": [{"from": {"groups": ["finance", "ops"]}}]}


@pytest.mark.parametrize(
    ("document", "pointer"),
    [
        ({"id": "x"}, "(the whole)"),
        ([{"id": "x", "surprise": 1}], "/0/surprise"),
        (
            [{"id": "x", "approvals": [{"from": {"owner": True}, "count": 0}]}],
            "/0/approvals/0/count",
        ),
        ([{"id": "x", "approvals": [{"from": {}, "count": 1}]}], "/0/approvals/0/from"),
        ([{"id": "x", "approvals": [{"from": {"groups": []}}]}], "/0/approvals/0/from/groups"),
        ([{"id": "x", "tools": ["a b"]}], "/0/tools/0"),
        ([{"id": "x", "when": {"$ref": "#/x"}}], "/0/when/$ref"),
        ([{"id": "x", "when": {"propertys": {"args": {}}}}], "/0/when/propertys"),
        ([{"id": "x"}, {"id": "x"}], "/1/id"),
        ([{"id": "default"}], "/0/id"),
        ([{"id": "x", "expires_in_s": 5}], "/0/expires_in_s"),
        ([{"id": "x", "allowed_decisions": ["maybe"]}], "/0/allowed_decisions/0"),
        ([{"id": "x", "deny": "yes"}], "/0/deny"),
        ([{"id": "x", "remind_before_s": 0}], "/0/remind_before_s"),
        ([ESCALATED | {"escalate": "ops"}], "/0/escalate"),
        ([ESCALATED | {"escalate": {"after_s": 60}}], "/0/escalate/group"),
        ([ESCALATED | {"escalate": {"group": "ops"}}], "/0/escalate/after_s"),
        ([ESCALATED | {"escalate": {"after_s": 0, "group": "ops"}}], "/0/escalate/after_s"),
        ([ESCALATED | {"escalate": {"after_s": 60, "group": "it"}}], "/0/escalate/group"),
        ([ESCALATED | {"escalate": {"after_s": 60, "group": "ops", "x": 1}}], "/0/escalate/x"),
        ([{"id": "x", "escalate": {"after_s": 60, "group": "ops"}}], "/0/escalate/group"),
        (
            [
                {
                    "id": "x",
                    "approvals": [{"from": {"groups": ["ops"]}}],
                    "escalate": {"after_s": 60, "group": "ops"},
                }
            ],
            "/0/escalate/group",
        ),
    ],
)
def test_a_faulty_policy_file_is_refused_at_its_place(
    cast: Cast, tmp_path: Path, document: Any, pointer: str
) -> None:
    file = tmp_path / "policy.json"
    file.write_text(json.dumps(document))

    with pytest.raises(CommandError) as refused:
        call_command("policy_set", "--tenant", "acme", str(file))

    assert f"{pointer}: " in str(refused.value)
    assert not PolicyVersion.objects.exists()


def test_a_rule_reminds_and_escalates() -> None:
    escalate: Any = {"escalate": {"after_s": 60, "group": "ops"}}

    (rule,), faults = read_policy([ESCALATED | escalate | {"remind_before_s": 30}])

    assert faults == ()
    assert (rule.remind_before_s, rule.escalate) == (30, Escalation(60, "ops"))


def test_a_condition_stored_under_older_rules_is_not_dropped() -> None:
    when: Any = {"propertys": {}, "required": ["args"]}

    (rule,), faults = read_policy([{"id": "x", "when": when}])

    assert [fault.pointer for fault in faults] == ["/0/when/propertys"]
    assert rule.when == when
