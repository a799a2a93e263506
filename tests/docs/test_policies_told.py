"""The policies that the documents show are taken, and do what is said of them."""

from approvals.rules.policy import Rule, rule_for
from approvals.rules.policy_file import read_policy
from placet.protocol.reading import JSONValue, read_json
from tests.docs.pages import all_blocks, text_of

TEXT = text_of("docs/howto/write-a-policy.md")


def policies() -> list[tuple[Rule, ...]]:
    """The rules of each file that the document shows."""
    texts = [block.text for block in all_blocks(TEXT) if block.how == "policy"]
    read = [read_policy(read_json(text.encode())) for text in texts]
    assert [faults for _, faults in read] == [()] * len(read)
    return [rules for rules, _ in read]


def payment(amount: JSONValue) -> dict[str, JSONValue]:
    return {"tool": "pay_vendor", "args": {"amount_paise": amount}, "target": None}


def call(tool: str, target: JSONValue = None) -> dict[str, JSONValue]:
    return {"tool": tool, "args": {}, "target": target}


def test_every_policy_shown_is_taken() -> None:
    assert len(policies()) == 5


def test_four_eyes_holds_for_large_payments_only() -> None:
    rules = policies()[0]

    assert rule_for(rules, payment(10_000_001)).id == "large-payments"
    assert rule_for(rules, payment(10_000_000)).id == "default"
    assert rule_for(rules, payment("10000001")).id == "default"


def test_the_last_rule_catches_what_has_an_unexpected_form() -> None:
    rules = policies()[1]

    assert rule_for(rules, payment(10_000_000)).id == "small-payments"
    assert rule_for(rules, payment(10_000_001)).id == "all-other-payments"
    assert rule_for(rules, payment("1")).id == "all-other-payments"


def test_an_empty_list_asks_nobody() -> None:
    rules = policies()[2]

    assert rule_for(rules, call("search.web")).clauses == ()
    assert rule_for(rules, call("calendar.write")).id == "default"


def test_denied_calls_are_those_named() -> None:
    rules = policies()[3]

    assert rule_for(rules, call("db.drop_table")).deny
    assert rule_for(rules, call("deploy", {"environment": "production"})).deny
    assert not rule_for(rules, call("deploy", {"environment": "test"})).deny
    assert not rule_for(rules, call("deploy")).deny


def test_only_yes_or_no_leaves_no_edit() -> None:
    (rule,) = policies()[4]

    assert rule.allowed_decisions == frozenset({"approve", "reject"})
