"""A tenant's rules, and which of them a question falls under.

The list is ordered and the first match wins; without one the default rule holds: the owner, the
agent's responsible user, or anyone who is a reviewer when answering, one approval.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from approvals.rules.people import Clause
from approvals.rules.schema import is_valid
from placet.protocol import limits
from placet.protocol.reading import JSONValue
from placet.protocol.states import DecisionKind, InterruptKind


@dataclass(frozen=True, slots=True)
class Escalation:
    """The group that is told of a question only when it has waited `after_s` seconds."""

    after_s: int
    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule of a policy; `clauses` empty approves by policy."""

    id: str
    tools: tuple[str, ...] = ("*",)
    when: dict[str, JSONValue] | None = None
    clauses: tuple[Clause, ...] = ()
    owner_counts: bool = True
    deny: bool = False
    allowed_decisions: frozenset[DecisionKind] | None = None
    reason_required: bool = False
    expires_in_s: int | None = None
    approval_valid_s: int = limits.APPROVAL_VALID_DEFAULT_S
    idempotent: bool = False
    observation_max_age_s: int | None = None
    remind_before_s: int | None = None
    escalate: Escalation | None = None

    def for_kind(self, kind: InterruptKind) -> "Rule":
        """This rule as it holds for a kind: only an approval can be given by policy.

        A question or a handoff under a rule that asks nobody is put to whom the default asks.
        """
        if self.clauses or self.deny or kind is InterruptKind.APPROVAL:
            return self
        return replace(self, clauses=DEFAULT_RULE.clauses)

    def matches(self, asked: Mapping[str, JSONValue]) -> bool:
        """Whether this rule is about `{tool, args, target}`."""
        if not names_tool(self.tools, str(asked["tool"])):
            return False
        return self.when is None or is_valid(self.when, dict(asked))


DEFAULT_RULE = Rule(
    id="default",
    clauses=(Clause(count=1, roles=frozenset({"reviewer"}), owner=True, responsible=True),),
)


def is_default(rule: Rule) -> bool:
    """Whether no policy names anybody: then a handoff is its owner's to hand back."""
    return rule.clauses == DEFAULT_RULE.clauses


def names_tool(patterns: Sequence[str], tool: str) -> bool:
    """Whether a list of exact names and `prefix*` names this tool."""
    return any(
        tool.startswith(pattern[:-1]) if pattern.endswith("*") else tool == pattern
        for pattern in patterns
    )


def rule_for(rules: Sequence[Rule], asked: Mapping[str, JSONValue]) -> Rule:
    """The first rule that matches, else the default one."""
    return next((rule for rule in rules if rule.matches(asked)), DEFAULT_RULE)
